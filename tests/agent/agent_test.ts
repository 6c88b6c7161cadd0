import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions, RunResult } from "../../src/agent/options.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { isPawlError, type PartialRun, PawlError } from "../../src/model/error.ts";
import type { AgentEvent } from "../../src/model/event.ts";
import type { Receiver } from "../../src/provider/receiver.ts";
import { assertAnswered, calls, FakeProvider, type Reply, resultsOf, says, tool, use } from "./fake_provider.ts";

function asks(text = "go"): Conversation {
  const conversation = new Conversation();
  conversation.addUserMessage(text);
  return conversation;
}

async function step(replies: Reply[], options: AgentOptions = {}, conversation = asks()) {
  const provider = new FakeProvider(replies);
  const result = await new Agent(provider, options).runStep(conversation);
  assertAnswered(conversation);
  assertEquals(provider.open, 0);
  return { result, provider, conversation };
}

async function stepFails(replies: Reply[], options: AgentOptions = {}, conversation = asks()) {
  const provider = new FakeProvider(replies);
  const error = await assertRejects(() => new Agent(provider, options).runStep(conversation), PawlError);
  assertAnswered(conversation);
  assertEquals(provider.open, 0);
  return { error, partial: error.partial as PartialRun, provider, conversation };
}

async function collect(provider: FakeProvider, options: AgentOptions = {}, conversation = asks()) {
  const events: AgentEvent[] = [];
  const run = new Agent(provider, options).stream(conversation);
  for (;;) {
    const { value, done } = await run.next();
    if (done) return { events, result: value, conversation };
    events.push(value);
  }
}

const echo = tool("echo", (input) => JSON.stringify(input));

// rig's loop tests

Deno.test("Agent answers without tools", async () => {
  const { result, conversation, provider } = await step([
    says(" Hello ", { usage: { inputTokens: 3, outputTokens: 2 } }),
  ]);
  assertEquals(result, {
    text: "Hello",
    iterations: 1,
    toolCalls: 0,
    usage: { inputTokens: 3, outputTokens: 2 },
    stopReason: "end_turn",
    message: {
      role: "assistant",
      content: [{ type: "text", text: " Hello " }],
      origin: { dialect: "fake", model: "fake-1" },
    },
    conversation,
  });
  assertEquals(conversation.messages.length, 2);
  assertEquals(provider.requests.length, 1);
});

Deno.test("Agent makes a tool round trip and sends the whole transcript", async () => {
  const { result, provider, conversation } = await step(
    [calls(["echo", { a: 1 }]), calls(["echo", { a: 2 }], ["echo", { a: 3 }, "c2"]), says("done")],
    { tools: [echo] },
  );
  assertEquals([result.text, result.iterations, result.toolCalls], ["done", 3, 3]);
  assertEquals(provider.requests[2]!.messages.map(({ role }) => role), [
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
  ]);
  assertEquals(resultsOf(conversation).map(({ content, isError }) => [content, isError]), [
    ['{"a":1}', undefined],
    ['{"a":2}', undefined],
    ['{"a":3}', undefined],
  ]);
  assertEquals(provider.requests[0]!.options.tools as unknown, ["echo"]);
});

Deno.test("Agent feeds a tool error back and goes on", async () => {
  const { result, conversation } = await step([calls(["bad"]), says("sorry")], {
    tools: [tool("bad", () => Promise.reject(new Error("no such card")))],
  });
  assertEquals([result.text, result.toolCalls], ["sorry", 1]);
  assertEquals(resultsOf(conversation)[0], {
    type: "tool_result",
    toolUseId: "c1",
    content: "error: no such card",
    isError: true,
  });
});

Deno.test("Agent ends with iteration_limit, the last calls run and answered", async () => {
  const replies = Array.from({ length: 9 }, () => calls(["echo"]));
  const { error, partial, provider, conversation } = await stepFails(replies, { tools: [echo] });
  assertEquals([error.code, error.retryable], ["iteration_limit", false]);
  assertStringIncludes(error.message, "maxIterations (8)");
  assertEquals(provider.requests.length, 8);
  assertEquals([partial.iterations, partial.toolCalls, partial.message], [8, 8, undefined]);
  assertStrictEquals(partial.conversation, conversation);
  assertEquals(conversation.messages.length, 17);
  const again = await new Agent(new FakeProvider([says("ok")])).runStep(conversation);
  assertEquals(again.text, "ok");
});

Deno.test("Agent reports a cut reply as output_limit and runs nothing of it", async () => {
  const { error, partial, conversation } = await stepFails(
    [{ content: [{ type: "text", text: "I will" }, use("echo", '{"a":')], stopReason: "max_tokens" }],
    { tools: [tool("echo", () => assert(false) as never)] },
  );
  assertEquals(error.code, "output_limit");
  assertStringIncludes(error.message, "maxTokens (1000)");
  assertEquals([partial.text, partial.iterations, partial.toolCalls], ["I will", 1, 0]);
  assertEquals(partial.message?.content.length, 2);
  assertEquals(conversation.messages.length, 1);
});

Deno.test("Agent strips leaked reasoning with thinkTags off, and only then", async () => {
  for (const [mode, text] of [["off", "b"], ["auto", "<think>a</think>b"]] as const) {
    const provider = new FakeProvider([says("<think>a</think>b")], "event", mode);
    assertEquals((await new Agent(provider).runStep(asks())).text, text);
  }
});

Deno.test("Agent refuses more than 32 calls in one reply whole", async () => {
  const many = calls(...Array.from({ length: 33 }, (_, i) => ["echo", {}, `c${i}`] as [string, unknown, string]));
  const { error, partial, conversation } = await stepFails([many], { tools: [echo] });
  assertEquals(error.code, "iteration_limit");
  assertStringIncludes(error.message, "33");
  assertEquals([partial.toolCalls, partial.message?.content.length, conversation.messages.length], [0, 33, 1]);
  const most = calls(...Array.from({ length: 32 }, (_, i) => ["echo", {}, `c${i}`] as [string, unknown, string]));
  assertEquals((await step([most, says("ok")], { tools: [echo] })).result.toolCalls, 32);
});

// the order of the checks

Deno.test("Agent runs the calls of a reply whatever its finish word says", async () => {
  for (const stopReason of ["end_turn", "pause_turn", "stop_sequence", "other"] as const) {
    const { result } = await step([{ ...calls(["echo"]), stopReason }, says("ok")], { tools: [echo] });
    assertEquals(result.toolCalls, 1);
  }
});

Deno.test("Agent runs no call of a refusal, and answers each", async () => {
  const { result, conversation } = await step(
    [{ content: [{ type: "text", text: "I must not" }, use("echo")], stopReason: "refusal" }],
    { tools: [echo] },
  );
  assertEquals([result.text, result.stopReason, result.toolCalls], ["I must not", "refusal", 0]);
  assertEquals(resultsOf(conversation).map(({ content }) => content), ["error: not run: the reply is a refusal"]);
  assertEquals((await step([{ content: [], stopReason: "refusal" }])).result.text, "");
});

Deno.test("Agent resends after a pause without a user turn, and joins the text", async () => {
  const { result, provider, conversation } = await step([
    says(" one, ", { stopReason: "pause_turn", usage: { outputTokens: 1 } }),
    says("two, ", { stopReason: "pause_turn" }),
    says("three ", { usage: { outputTokens: 2, inputTokens: 9 } }),
  ]);
  assertEquals([result.text, result.iterations], ["one, two, three", 3]);
  assertEquals(result.usage, { outputTokens: 3, inputTokens: 9 });
  assertEquals(provider.requests[2]!.messages.map(({ role }) => role), ["user", "assistant", "assistant"]);
  assertEquals(conversation.messages.length, 4);
});

Deno.test("Agent bounds pauses by maxIterations, and forgets their text behind calls", async () => {
  const pause = says("p", { stopReason: "pause_turn" });
  const { error, partial } = await stepFails([pause, pause], { maxIterations: 2 });
  assertEquals([error.code, partial.text], ["iteration_limit", "pp"]);
  assertEquals((await step([pause, calls(["echo"]), says("x")], { tools: [echo] })).result.text, "x");
});

Deno.test("Agent ends with empty_reply on neither text nor calls before any tool has run", async () => {
  for (const content of [[], [{ type: "thinking" as const, text: "hm" }], [{ type: "opaque" as const, value: {} }]]) {
    const { error, partial, conversation } = await stepFails([{ content }]);
    assertEquals([error.code, error.retryable, partial.text], ["empty_reply", true, ""]);
    assertEquals(conversation.messages.length, 1);
  }
  const { error } = await stepFails([calls(["nope"]), { content: [] }], { tools: [echo] });
  assertEquals(error.code, "empty_reply");
});

Deno.test("Agent accepts an empty reply once a tool has run", async () => {
  const { result, conversation } = await step([calls(["echo"]), { content: [] }], { tools: [echo] });
  assertEquals([result.text, result.message.content], ["", []]);
  assertEquals(conversation.messages.length, 4);
});

Deno.test("Agent tells context_overflow from output_limit and from an empty reply", async () => {
  const rows: [Reply, string][] = [
    [says("x", { stopReason: "max_tokens", rawStopReason: "model_context_window_exceeded" }), "context_overflow"],
    [{ content: [], stopReason: "max_tokens", usage: { inputTokens: 4096, outputTokens: 0 } }, "context_overflow"],
    [{ content: [], usage: { inputTokens: 36_000, outputTokens: 0 } }, "context_overflow"],
    [{ content: [], stopReason: "max_tokens", usage: { inputTokens: 20, outputTokens: 256 } }, "output_limit"],
    [{ content: [], stopReason: "max_tokens" }, "output_limit"],
    [{ content: [], usage: { inputTokens: 20, outputTokens: 0 } }, "empty_reply"],
    [{ content: [], usage: { inputTokens: 36_000, outputTokens: 1 } }, "empty_reply"],
  ];
  for (const [reply, code] of rows) assertEquals((await stepFails([reply])).error.code, code);
  const { error } = await stepFails([calls(["echo"]), { content: [], usage: { inputTokens: 8192, outputTokens: 0 } }], {
    tools: [echo],
  });
  assertEquals(error.code, "context_overflow");
});

// errors of the provider, and partial work

Deno.test("Agent replaces the partial of a provider's error by the whole run's", async () => {
  const error = new PawlError("truncated", "The reply broke off", { retryable: true });
  const { partial, conversation } = await stepFails(
    [{ ...calls(["echo"]), usage: { inputTokens: 5 } }, says("half", { error })],
    { tools: [echo] },
  );
  assertEquals(partial, {
    text: "half",
    message: {
      role: "assistant",
      content: [{ type: "text", text: "half" }],
      origin: { dialect: "fake", model: "fake-1" },
    },
    conversation,
    usage: { inputTokens: 5 },
    iterations: 1,
    toolCalls: 1,
  });
  assertEquals(Object.keys(error), ["name", "code", "retryable"]);
  assertEquals(conversation.messages.length, 3);
});

Deno.test("Agent has the text of the last message in partial when the next request never began", async () => {
  const { partial } = await stepFails([
    { content: [{ type: "text", text: "Let me look" }, use("echo")] },
    { error: new PawlError("unreachable", "refused", { retryable: true }) },
  ], { tools: [echo] });
  assertEquals([partial.text, partial.message], ["Let me look", undefined]);
});

Deno.test("Agent passes other exceptions of the provider on as they are", async () => {
  const error = new TypeError("Cannot encode");
  const thrown = await assertRejects(() => new Agent(new FakeProvider([{ error }])).runStep(asks()));
  assertStrictEquals(thrown, error);
});

// events

Deno.test("Agent.stream yields the provider's own events, and tool events between replies", async () => {
  const script = [calls(["echo", { a: 1 }], ["nope", {}, "c2"]), says("done")];
  const provider = new FakeProvider(script, "reply");
  const { events, result } = await collect(provider, { tools: [echo] });
  assertEquals(
    events.map((event) => "index" in event ? `${event.type} ${event.index}` : event.type),
    [
      "message_start",
      "block_start 0",
      "content_delta 0",
      "content_delta 0",
      "block_complete 0",
      "block_start 1",
      "content_delta 1",
      "content_delta 1",
      "block_complete 1",
      "message_complete",
      "tool_start",
      "tool_result",
      "tool_result",
      "message_start",
      "block_start 0",
      "content_delta 0",
      "content_delta 0",
      "block_complete 0",
      "message_complete",
    ],
  );
  assertEquals((result as RunResult).text, "done");
  const direct = await Array.fromAsync(new FakeProvider(script).stream(asks()));
  assertEquals(events.slice(0, direct.length), direct);
});

Deno.test("Agent.stream sends nothing before the first pull", async () => {
  const provider = new FakeProvider([says("x")]);
  const run = new Agent(provider).stream(asks());
  await Promise.resolve();
  assertEquals(provider.requests.length, 0);
  await run.return(undefined as never);
  assertEquals(provider.requests.length, 0);
});

Deno.test("Agent.stream has a message in the conversation when it tells of it, and runs no tool before the next pull", async () => {
  let ran = 0;
  const conversation = asks();
  const run = new Agent(new FakeProvider([calls(["count"])]), { tools: [tool("count", () => String(++ran))] })
    .stream(conversation);
  for await (const event of run) {
    if (event.type === "message_complete") {
      assertEquals(conversation.messages.length, 2);
      break;
    }
    assertEquals(conversation.messages.length, 1);
  }
  assertEquals(ran, 0);
  assertEquals(resultsOf(conversation).map(({ content }) => content), ["error: not run: interrupted"]);
});

Deno.test("Agent.stream, left at any event, leaves a conversation that can go on", async () => {
  const script = [calls(["echo"], ["echo", {}, "c2"]), says("done")];
  for (const grouping of ["event", "reply"] as const) {
    for (let at = 0;; at++) {
      const conversation = asks();
      const provider = new FakeProvider(script, grouping);
      let seen = 0;
      for await (const _ of new Agent(provider, { tools: [echo] }).stream(conversation)) if (seen++ === at) break;
      assertAnswered(conversation);
      assertEquals(provider.open, 0);
      await new Agent(new FakeProvider([says("again")])).runStep(conversation);
      if (seen <= at) break;
    }
  }
});

Deno.test("Agent.runStep calls a receiver in the order of the events", async () => {
  const seen: string[] = [];
  const receiver: Receiver = {
    onMessageStart: (role) => void seen.push(`start ${role}`),
    onBlockStart: (type, index, meta) => void seen.push(`block ${type} ${index} ${meta?.toolName ?? "-"}`),
    onContentDelta: (index, delta) => void seen.push(`delta ${index} ${delta}`),
    onBlockComplete: (index, { type }) => void seen.push(`complete ${index} ${type}`),
    onMessageComplete: (_, { stopReason, id }) => void seen.push(`message ${stopReason} ${id}`),
    onToolStart: ({ name }) => void seen.push(`tool ${name}`),
    onToolResult: ({ name }, { content }) => void seen.push(`result ${name} ${content}`),
    onRetry: ({ attempt }) => void seen.push(`retry ${attempt}`),
    onError: () => void seen.push("error"),
  };
  const retry = { type: "retry" as const, attempt: 1, delayMs: 5, code: "unreachable" };
  await new Agent(new FakeProvider([{ ...calls(["echo"]), retries: [retry] }, says("ok")], "reply"), { tools: [echo] })
    .runStep(asks(), receiver);
  assertEquals(seen, [
    "retry 1",
    "start assistant",
    "block tool_use 0 echo",
    "delta 0 {",
    "delta 0 }",
    "complete 0 tool_use",
    "message tool_use reply-1",
    "tool echo",
    "result echo {}",
    "start assistant",
    "block text 0 -",
    "delta 0 o",
    "delta 0 k",
    "complete 0 text",
    "message end_turn reply-2",
  ]);
});

Deno.test("Agent.runStep waits for a promise that a callback returns", async () => {
  let busy = false;
  const receiver: Receiver = {
    async onContentDelta() {
      assert(!busy);
      busy = true;
      await new Promise((resolve) => setTimeout(resolve, 1));
      busy = false;
    },
    onBlockComplete: () => assert(!busy),
  };
  await new Agent(new FakeProvider([says("abcd")], "reply")).runStep(asks(), receiver);
});

Deno.test("Agent.runStep ends with a receiver's own exception, closes the reply, and does not tell onError", async () => {
  const names = [
    "onMessageStart",
    "onBlockStart",
    "onContentDelta",
    "onBlockComplete",
    "onMessageComplete",
    "onToolStart",
    "onToolResult",
  ];
  for (const name of names) {
    for (const late of [false, true]) {
      const own = new PawlError("backend", "the receiver's");
      const provider = new FakeProvider([calls(["echo"]), says("ok")]);
      const conversation = asks();
      let told = 0;
      const receiver = {
        [name]: () => {
          if (late) return Promise.reject(own);
          throw own;
        },
        onError: () => void told++,
      };
      const thrown = await assertRejects(() =>
        new Agent(provider, { tools: [echo] }).runStep(conversation, receiver as Receiver)
      );
      assertStrictEquals(thrown, own);
      assertEquals([told, own.partial, provider.open], [0, undefined, 0]);
      assertAnswered(conversation);
    }
  }
});

Deno.test("Agent.runStep tells onError once, with the conversation in order already", async () => {
  const told: unknown[] = [];
  const conversation = asks();
  const receiver: Receiver = {
    onError(error) {
      told.push(error);
      assertAnswered(conversation);
      assert(isPawlError(error) && (error.partial as PartialRun).iterations === 1);
    },
  };
  const agent = new Agent(new FakeProvider([calls(["echo"])]), { tools: [echo], maxIterations: 1 });
  const thrown = await assertRejects(() => agent.runStep(conversation, receiver));
  assertEquals(told, [thrown]);
});

// who may use a conversation

Deno.test("Agent refuses a conversation that another run uses, until that one ends", async () => {
  const conversation = asks();
  const first = new Agent(new FakeProvider([says("one")])).stream(conversation);
  await first.next();
  const agent = new Agent(new FakeProvider([says("two")]));
  const told: unknown[] = [];
  const error = await assertRejects(
    () => agent.runStep(conversation, { onError: (error) => void told.push(error) }),
    TypeError,
    "another run is using it",
  );
  assertEquals(told, [error]);
  await assertRejects(() => agent.stream(conversation).next(), TypeError);
  await first.return(undefined as never);
  assertEquals((await agent.runStep(conversation)).text, "two");
});

// options

Deno.test("Agent checks its numbers and tools", () => {
  const provider = new FakeProvider([]);
  for (
    const options of [
      { maxIterations: 0 },
      { maxIterations: 33 },
      { maxIterations: 1.5 },
      { maxIterations: NaN },
      { maxRepeats: 1 },
      { maxTotalTokens: 0 },
      { deadlineMs: -1 },
      { toolTimeoutMs: Infinity },
      { maxToolResultChars: 0 },
      { tools: [tool("slow", () => "", { timeoutMs: 0 })] },
    ]
  ) assertThrows(() => new Agent(provider, options), RangeError, "Cannot use ");
  assertThrows(() => new Agent(provider, { maxIterations: 33 }), RangeError, "from 1 to 32: current value is 33");
  assertThrows(() => new Agent(provider, { tools: [echo, echo] }), TypeError);
  new Agent(provider, { maxIterations: 32 });
});

Deno.test("Agent sends the options of a call with every request, a forced choice only with the first", async () => {
  const options = { tools: [echo], maxTokens: 5, temperature: 0, maxRetries: 1 };
  const forced = await step([calls(["echo"]), says("ok")], { ...options, toolChoice: "required" });
  assertEquals(forced.provider.requests.map(({ options }) => options as unknown), [
    { maxTokens: 5, temperature: 0, maxRetries: 1, tools: ["echo"], toolChoice: "required" },
    { maxTokens: 5, temperature: 0, maxRetries: 1, tools: ["echo"] },
  ]);
  const none = await step([calls(["echo"]), says("ok")], { tools: [echo], toolChoice: "none" });
  assertEquals(none.provider.requests.map(({ options }) => options.toolChoice), ["none", "none"]);
  assertEquals((await step([says("ok")])).provider.requests[0]!.options, { tools: [] });
});

Deno.test("Agent takes a snapshot of its tools", async () => {
  const tools = [echo];
  const agent = new Agent(new FakeProvider([calls(["echo"]), says("ok")]), { tools });
  tools.pop();
  assertEquals((await agent.runStep(asks())).toolCalls, 1);
});

Deno.test("Agent sends what prepare returns this once", async () => {
  const conversation = asks("long");
  const short = asks("short");
  let round = 0;
  const { provider } = await step([calls(["echo"]), says("ok")], {
    tools: [echo],
    prepare: (given, { signal }) => {
      assertStrictEquals(given, conversation);
      assert(!signal.aborted);
      return round++ === 0 ? Promise.resolve(short) : undefined;
    },
  }, conversation);
  assertEquals(provider.requests.map(({ messages }) => messages[0]!.content), [
    [{ type: "text", text: "short" }],
    [{ type: "text", text: "long" }],
  ]);
  assertEquals([short.messages.length, conversation.messages.length], [1, 4]);
});

Deno.test("Agent ends with what prepare and decide throw", async () => {
  for (const name of ["prepare", "decide"]) {
    const own = new Error("mine");
    const conversation = asks();
    const agent = new Agent(new FakeProvider([calls(["echo"], ["echo", {}, "c2"])]), {
      tools: [echo],
      [name]: () => {
        throw own;
      },
    });
    assertStrictEquals(await assertRejects(() => agent.runStep(conversation)), own);
    assertAnswered(conversation);
  }
});

Deno.test("Agent ends with truncated if a provider breaks its own contract", async () => {
  const provider = new FakeProvider([]);
  provider.batches = async function* () {
    yield [{ type: "message_start", role: "assistant" }];
  };
  const error = await assertRejects(() => new Agent(provider).runStep(asks()), PawlError);
  assertEquals(error.code, "truncated");
});

Deno.test("Agent: what a nested run had done when a hook failed with its error is none of its own work", async () => {
  const spoiled = says("nested", { stopReason: "max_tokens", usage: { inputTokens: 7, outputTokens: 3 } });
  for (const name of ["prepare", "decide"]) {
    const { partial, conversation } = await stepFails([calls(["echo"])], {
      tools: [echo],
      [name]: () => new Agent(new FakeProvider([spoiled])).runStep(asks()),
    });
    assertEquals([partial.text, partial.message, partial.usage], ["", undefined, {}]);
    assertStrictEquals(partial.conversation, conversation);
  }
});
