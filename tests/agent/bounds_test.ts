import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { type PartialRun, PawlError } from "../../src/model/error.ts";
import { assertAnswered, calls, FakeProvider, type Reply, resultsOf, says, tool } from "./fake_provider.ts";

const echo = tool("echo", (input) => JSON.stringify(input));

async function run(replies: Reply[], options: AgentOptions) {
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  const provider = new FakeProvider(replies);
  try {
    const result = await new Agent(provider, options).runStep(conversation);
    return { code: "", message: "", result, provider, conversation, partial: undefined };
  } catch (error) {
    assert(error instanceof PawlError);
    assertAnswered(conversation);
    assertEquals(provider.open, 0);
    return {
      ...error,
      code: error.code,
      message: error.message,
      provider,
      conversation,
      partial: error.partial as PartialRun,
    };
  }
}

function forever(n: number, reply: (i: number) => Reply): Reply[] {
  return Array.from({ length: n }, (_, i) => reply(i));
}

Deno.test("maxRepeats ends a run whose rounds have the same names, inputs and results", async () => {
  const same = await run(forever(8, () => calls(["echo", { a: 1 }])), { tools: [echo], maxRepeats: 3 });
  assertEquals([same.code, same.provider.requests.length], ["no_progress", 3]);
  assertStringIncludes(same.message, "maxRepeats (3)");
  assertEquals([same.partial?.toolCalls, same.conversation.messages.length], [3, 7]);
});

Deno.test("maxRepeats counts consecutive rounds only, whatever the ids are", async () => {
  const other = await run(forever(8, (i) => calls(["echo", { a: i % 2 }])), { tools: [echo], maxRepeats: 2 });
  assertEquals(other.code, "iteration_limit");
  let n = 0;
  const results = await run(forever(8, () => calls(["count"])), {
    tools: [tool("count", () => String(n++))],
    maxRepeats: 2,
  });
  assertEquals(results.code, "iteration_limit");
  const ids = await run(forever(8, (i) => calls(["echo", {}, `id${i}`])), { tools: [echo], maxRepeats: 2 });
  assertEquals([ids.code, ids.provider.requests.length], ["no_progress", 2]);
  const off = await run(forever(8, () => calls(["echo"])), { tools: [echo] });
  assertEquals(off.code, "iteration_limit");
});

Deno.test("maxTotalTokens is checked before each request, against reported usage", async () => {
  const usage = { inputTokens: 60, outputTokens: 40 };
  const over = await run(forever(8, () => ({ ...calls(["echo"]), usage })), { tools: [echo], maxTotalTokens: 200 });
  assertEquals([over.code, over.provider.requests.length], ["budget", 2]);
  assertStringIncludes(over.message, "maxTotalTokens (200) is reached");
  assertEquals(over.partial?.usage, { inputTokens: 120, outputTokens: 80 });
  const last = await run([says("long", { usage: { inputTokens: 900, outputTokens: 900 } })], { maxTotalTokens: 1 });
  assertEquals(last.result?.text, "long");
});

Deno.test("maxTotalTokens counts four characters as a token where usage is missing", async () => {
  const text = "x".repeat(400);
  const script = forever(8, () => says(text, { stopReason: "pause_turn" }));
  // "go" is half a token; the reply is 100, and from then on it is part of the prompt.
  const none = await run(script, { maxTotalTokens: 300 });
  assertEquals([none.code, none.provider.requests.length, none.partial?.usage], ["budget", 2, {}]);
  const half = await run(script.map((reply) => ({ ...reply, usage: { inputTokens: 1 } })), { maxTotalTokens: 300 });
  assertEquals([half.code, half.provider.requests.length, half.partial?.usage], ["budget", 3, { inputTokens: 3 }]);
});

Deno.test("usage is summed field by field, and what nobody reported stays absent", async () => {
  const { result } = await run([
    { ...calls(["echo"]), usage: { inputTokens: 1, cachedInputTokens: 0 } },
    calls(["echo"]),
    says("ok", { usage: { inputTokens: 2, outputTokens: 3 } }),
  ], { tools: [echo] });
  assertEquals(result?.usage, { inputTokens: 3, cachedInputTokens: 0, outputTokens: 3 });
});

Deno.test("deadlineMs ends a request", async () => {
  const { code, message, partial, provider } = await run([says("abcd", { hangAt: 3 })], { deadlineMs: 5 });
  assertEquals([code, provider.requests.length, partial?.iterations], ["budget", 1, 0]);
  assertStringIncludes(message, "deadlineMs (5)");
});

Deno.test("deadlineMs ends a tool, which is answered as interrupted", async () => {
  let aborted = false;
  const { code, conversation, partial } = await run([calls(["hang"], ["echo", {}, "c2"])], {
    tools: [
      echo,
      tool("hang", (_, { signal }) => {
        signal.addEventListener("abort", () => aborted = true);
        return new Promise(() => {});
      }),
    ],
    deadlineMs: 100,
  });
  assertEquals([code, aborted, partial?.toolCalls], ["budget", true, 1]);
  assertEquals(resultsOf(conversation).map(({ content }) => content), [
    "error: interrupted while running, it may have taken effect",
    "error: not run: interrupted",
  ]);
});

Deno.test("deadlineMs is looked at before a request, since a tool that blocks the thread holds up the timer", async () => {
  const { code, provider, conversation } = await run([calls(["block"]), says("never")], {
    tools: [tool("block", () => {
      const end = performance.now() + 101;
      while (performance.now() < end);
      return "blocked";
    })],
    deadlineMs: 100,
  });
  assertEquals([code, provider.requests.length], ["budget", 1]);
  assertEquals(resultsOf(conversation)[0]?.content, "blocked");
});

Deno.test("deadlineMs ends a decide that never answers", async () => {
  const { code } = await run([calls(["echo"])], { tools: [echo], decide: () => new Promise(() => {}), deadlineMs: 5 });
  assertEquals(code, "budget");
});

Deno.test("a deadline that is far away, and beyond what a timer can hold, fires never", async () => {
  assertEquals((await run([says("ok")], { deadlineMs: 2 ** 40 })).result?.text, "ok");
});

Deno.test("a run leaves no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<AbortSignal["addEventListener"]>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<AbortSignal["removeEventListener"]>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  for (const script of [[calls(["echo"]), says("ok")], [{ content: [] }]]) {
    const conversation = new Conversation();
    conversation.addUserMessage("go");
    const agent = new Agent(new FakeProvider(script), { tools: [echo] });
    await agent.runStep(conversation, {}, { signal }).catch(() => {});
  }
  assertEquals(listeners, 0);
});

Deno.test("a signal that is aborted already: nothing is sent, and its reason is thrown", async () => {
  const provider = new FakeProvider([]);
  const conversation = new Conversation();
  const told: unknown[] = [];
  const reason = await new Agent(provider)
    .runStep(conversation, { onError: (error) => void told.push(error) }, { signal: AbortSignal.abort("gone") })
    .catch((error: unknown) => error);
  assertEquals([reason, told], ["gone", ["gone"]]);
  assertEquals([provider.requests.length, conversation.messages.length], [0, 0]);
  await new Agent(new FakeProvider([says("free")])).runStep(conversation);
});
