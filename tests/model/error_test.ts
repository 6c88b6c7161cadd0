import { assert, assertEquals, assertFalse } from "@std/assert";
import { isPawlError, PawlError } from "../../src/model/error.ts";
import { Conversation } from "../../src/model/conversation.ts";

Deno.test("PawlError is one well-formed line of at most 300 characters", () => {
  const error = new PawlError("backend", "a\r\nb\u2028c\x1b[31m\x85" + "\ud83d" + "x".repeat(400));
  assert(error.message.startsWith("a b c [31m "), error.message);
  assert(error.message.length <= 300);
  assert(error.message.isWellFormed());
  assertFalse(/[\r\n\x1b\u2028]/.test(error.message));
  assert(new PawlError("backend", "x".repeat(298) + "🚀🚀").message.isWellFormed());
});

Deno.test("PawlError shows its code, not the conversation, when inspected", () => {
  const error = new PawlError("truncated", "The reply broke off", { retryable: true, status: 200, retryAfterMs: 5 });
  const conversation = new Conversation();
  conversation.addUserMessage("private words");
  error.partial = { text: "private words", conversation, usage: {}, iterations: 1, toolCalls: 0 };
  const shown = Deno.inspect(error) + JSON.stringify(error);
  assert(shown.includes("truncated"));
  assertFalse(shown.includes("private words"));
  assertEquals([error.status, error.retryAfterMs, error.retryable], [200, 5, true]);
  assertFalse("cause" in error);
});

Deno.test("PawlError has no status or wait unless one is known", () => {
  const error = new PawlError("timeout", "x");
  assertFalse("status" in error || "retryAfterMs" in error);
});

Deno.test("isPawlError knows errors of another copy of the package, and nothing else", async () => {
  const copy = await import("../../src/model/error.ts?copy" as string).catch(() => undefined) as
    | typeof import("../../src/model/error.ts")
    | undefined;
  assert(copy !== undefined && copy.PawlError !== PawlError, "the second copy did not load");
  const error = new copy.PawlError("budget", "x");
  assertFalse(error instanceof PawlError);
  assert(isPawlError(error) && isPawlError(error, "budget"));
  assertFalse(isPawlError(error, "timeout"));
  for (const other of [undefined, null, "budget", { code: "budget" }, new Error("x"), new TypeError("x")]) {
    assertFalse(isPawlError(other));
  }
});
