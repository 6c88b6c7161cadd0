import { assertEquals } from "@std/assert";
import { probe } from "../../src/agent/probe.ts";
import { hintOf } from "../../src/cli/probe_hint.ts";
import { PawlError } from "../../src/model/error.ts";
import { calls, FakeProvider, type Reply, says } from "../agent/fake_provider.ts";

const once = calls(["ping", { message: "a" }]);

/** @param deltas How many of each reply arrive. */
async function hintsOf(replies: Reply[], deltas = 2): Promise<Record<string, string>> {
  const provider = new FakeProvider(replies);
  const { batches } = provider;
  provider.batches = async function* (...args) {
    let left = deltas;
    for await (const batch of batches.apply(provider, args)) {
      if (batch[0]?.type !== "content_delta" || left-- > 0) yield batch;
    }
  };
  const { checks } = await probe(provider, { context: 10 });
  return Object.fromEntries(
    checks.map((check) => [check.name, hintOf(check)]).filter(([, hint]) => hint !== undefined),
  );
}

Deno.test("hintOf says what each failed check means, in the names of flags", async () => {
  const leak = says("<think>hm</think> a long text of one piece");
  const hints = {
    streaming: "the server or a proxy holds replies back",
    usage: "check --compat streamUsage",
    parallel_calls: "calls one at a time work",
    reasoning: "set --compat thinkTags to auto",
    token_field: "set --compat maxTokensField",
    system_role: "put instructions into the prompt",
    context: "raise the context size of the server",
  };
  assertEquals(await hintsOf([leak, once, once, says("1, ".repeat(200)), says("No")], 1), hints);
  const { tool_call } = await hintsOf([leak, says("I would call it"), says("1"), says("No")]);
  assertEquals(tool_call, "the model or its template knows no tools");
});

Deno.test("hintOf prefers the library's hint, and lets an error of the endpoint speak for itself", async () => {
  const spent = says("", { stopReason: "max_tokens" });
  assertEquals((await hintsOf([says("PAWL"), spent, spent, spent])).tool_call, "raise --max-tokens");
  const reply: Reply = { error: new PawlError("http_status", "HTTP 503", { status: 503 }) };
  assertEquals(await hintsOf([reply]), {});
  assertEquals(
    await hintsOf([says("PAWL", { usage: { inputTokens: 1, outputTokens: 1 } }), once, reply, reply, reply]),
    {},
  );
});
