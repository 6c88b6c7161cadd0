import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import { probe } from "../../src/agent/probe.ts";
import { probeToolCalling } from "../../src/agent/probe_tool_calling.ts";
import { run, type RunOptions } from "../../src/agent/run.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { type PartialRun, PawlError } from "../../src/model/error.ts";
import { assertAnswered, calls, FakeProvider, type Reply, says, tool } from "./fake_provider.ts";

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const echo = tool("echo", (input) => JSON.stringify(input));

async function runs(replies: Reply[], options: Omit<RunOptions, "prompt"> = {}) {
  const provider = new FakeProvider(replies);
  return { provider, result: await run(provider, { prompt: "go", ...options }) };
}

async function fails(replies: Reply[], options: Omit<RunOptions, "prompt"> = {}) {
  const provider = new FakeProvider(replies);
  const error = await assertRejects(() => run(provider, { prompt: "go", ...options }), PawlError);
  const partial = error.partial as PartialRun;
  assertAnswered(partial.conversation);
  return { provider, error, partial };
}

Deno.test("run sends system and prompt and returns the answer", async () => {
  const { provider, result } = await runs([calls(["echo"]), says("done")], { system: "Be brief.", tools: [echo] });
  assertEquals([result.text, result.toolCalls, result.value], ["done", 1, undefined]);
  assertEquals(provider.requests[0]!.messages, [
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
    { role: "user", content: [{ type: "text", text: "go" }] },
  ]);
});

Deno.test("run takes a prompt of blocks, and no system text where it is blank", async () => {
  const provider = new FakeProvider([says("a cat")]);
  const prompt = [{ type: "text", text: "What is it?" }, {
    type: "image",
    mediaType: "image/png",
    data: "AAAA",
  }] as const;
  await run(provider, { prompt, system: " " });
  assertEquals(provider.requests[0]!.messages, [{ role: "user", content: [...prompt] }]);
});

Deno.test("run tells a receiver, and stops on a signal", async () => {
  const stop = new AbortController();
  const told: unknown[] = [];
  const provider = new FakeProvider([says("abcd")]);
  const reason = await run(provider, {
    prompt: "go",
    signal: stop.signal,
    receiver: {
      onContentDelta: () => stop.abort("enough"),
      onError: (error) => void told.push(error),
    },
  }).catch((error: unknown) => error);
  assertEquals([reason, told, provider.open], ["enough", ["enough"], 0]);
});

Deno.test("run refuses what it cannot use before anything is sent", async () => {
  const provider = new FakeProvider([]);
  await assertRejects(() => run(provider, { prompt: "" }), TypeError, "without a prompt");
  await assertRejects(() => run(provider, {} as RunOptions), TypeError);
  await assertRejects(() => run(provider, { prompt: "go", maxIterations: 99 }), RangeError);
  assertEquals(provider.requests.length, 0);
});

Deno.test("run with a schema tells the model, and parses the answer", async () => {
  const { provider, result } = await runs([says('Here: {"city":"Oslo"}')], { system: "Be brief.", schema });
  assertEquals(result.value, { city: "Oslo" });
  assertEquals(result.text, 'Here: {"city":"Oslo"}');
  const [brief, told] = provider.requests[0]!.messages;
  assertEquals([brief?.role, told?.role], ["system", "system"]);
  assertStringIncludes(JSON.stringify(told), JSON.stringify(JSON.stringify(schema)).slice(1, -1));
});

Deno.test("run asks once more with what is wrong, in the same run", async () => {
  const seen: string[] = [];
  const usage = { outputTokens: 1 };
  const { provider, result } = await runs([
    { ...calls(["echo"]), usage },
    says('{"town":"Oslo"}', { usage }),
    says('{"city":"Oslo"}', { usage }),
  ], { schema, tools: [echo], receiver: { onMessageComplete: (_, { id }) => void seen.push(id!) } });
  assertEquals([result.value, result.iterations, result.toolCalls, result.usage], [{ city: "Oslo" }, 3, 1, {
    outputTokens: 3,
  }]);
  assertEquals(seen.length, 3);
  const question = provider.requests[2]!.messages.at(-1);
  assertEquals(question?.role, "user");
  assertStringIncludes(JSON.stringify(question), '\\"city\\" is missing');
});

Deno.test("run ends with invalid_json when the second answer does not fit either", async () => {
  for (const answers of [["no json", "{broken"], ['{"city":1}', "still none"], ["{}", "{}"]]) {
    const { error, partial, provider } = await fails(answers.map((text) => says(text)), { schema });
    assertEquals([error.code, provider.requests.length], ["invalid_json", 2]);
    assertEquals([partial.text, partial.iterations, partial.message], [answers[1], 2, undefined]);
    assertEquals(partial.conversation.messages.map(({ role }) => role), [
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  }
});

Deno.test("run asks no second time where maxIterations leaves no room", async () => {
  const { error, provider } = await fails([says("none")], { schema, maxIterations: 1 });
  assertEquals([error.code, provider.requests.length], ["invalid_json", 1]);
});

Deno.test("run uses an injected validate instead of its own look, with or without schema", async () => {
  const given: unknown[] = [];
  const { result } = await runs([says('{"n":1}'), says('{"n":2}')], {
    schema,
    validate(value, schema) {
      given.push(schema);
      return Promise.resolve(value.n === 2 ? [] : ["n must be 2"]);
    },
  });
  assertEquals(result.value, { n: 2 });
  assertStrictEquals(given[0], schema);
  const bare = await runs([says('{"n":1}')], { validate: () => undefined });
  assertEquals([bare.result.value, bare.provider.requests[0]!.messages.length], [{ n: 1 }, 1]);
});

Deno.test("run cuts and cleans what a validator found", async () => {
  const { error, provider } = await fails([says("{}"), says("{}")], {
    validate: () => [`bad \u001b[31m s3cret-key ${"x".repeat(1e5)}`],
  });
  assert(error.message.length <= 300 && !error.message.includes("\u001b") && !error.message.includes("s3cret"));
  assert(JSON.stringify(provider.requests[1]!.messages.at(-1)).length < 3000);
});

Deno.test("run ends with what validate throws", async () => {
  const own = new Error("mine");
  const validate = () => {
    throw own;
  };
  assertStrictEquals(await assertRejects(() => run(new FakeProvider([says("{}")]), { prompt: "go", validate })), own);
});

Deno.test("run counts the second answer against its other bounds too", async () => {
  const usage = { inputTokens: 10, outputTokens: 10 };
  const { error, provider } = await fails([says("none", { usage })], { schema, maxTotalTokens: 20 });
  assertEquals([error.code, provider.requests.length], ["budget", 1]);
  const late = await fails([says("none"), says("none", { hangAt: 2 })], { schema, deadlineMs: 20 });
  assertEquals(late.error.code, "budget");
});

Deno.test("run, Agent and the probes take an option that is undefined as one that is not given", async () => {
  const [signal, count, text]: [AbortSignal?, number?, string?] = [];
  const bounds = { maxIterations: count, maxRepeats: count, maxTotalTokens: count, deadlineMs: count };
  const hooks = { tools: undefined, toolChoice: undefined, decide: undefined, prepare: undefined };
  const options = { ...bounds, ...hooks, toolTimeoutMs: count, maxToolResultChars: count };
  const more = { signal, system: text, schema: undefined, validate: undefined, receiver: undefined };
  assertEquals((await run(new FakeProvider([says("a")]), { prompt: "go", ...options, ...more })).text, "a");
  const agent = new Agent(new FakeProvider([says("b"), says("c")]), options);
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  assertEquals((await agent.runStep(conversation, undefined, { signal })).text, "b");
  assertEquals((await Array.fromAsync(agent.stream(conversation, { signal }))).at(-1)?.type, "message_complete");
  await probeToolCalling(new FakeProvider([calls(["ping"])]), { signal });
  await probe(new FakeProvider(Array(6).fill(says("a"))), { signal, context: count, onCheck: undefined });
});
