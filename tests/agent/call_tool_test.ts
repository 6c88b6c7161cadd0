import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import { misfits } from "../../src/agent/call_tool.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { Conversation } from "../../src/model/conversation.ts";
import type { ToolResultBlock } from "../../src/model/message.ts";
import type { Tool } from "../../src/model/tool.ts";
import { assertAnswered, calls, FakeProvider, type Reply, resultsOf, says, tool, use } from "./fake_provider.ts";

/** Has the model make the calls of a reply, and returns their results. */
async function answers(reply: Reply, options: AgentOptions): Promise<ToolResultBlock[]> {
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  await new Agent(new FakeProvider([reply, says("done")]), options).runStep(conversation);
  assertAnswered(conversation);
  return resultsOf(conversation);
}

async function answer(
  run: Tool["run"],
  options: AgentOptions = {},
  more: Partial<Tool> = {},
): Promise<ToolResultBlock> {
  const [result] = await answers(calls(["it"]), { tools: [tool("it", run, more)], ...options });
  assert(result);
  return result;
}

// what stands against a call

Deno.test("an unknown tool is answered with the names of the tools, its own name cut", async () => {
  const tools = [tool("a", () => ""), tool("b", () => "")];
  const [unknown, huge, hostile] = await answers(
    calls(["c"], ["x".repeat(1e6), {}, "c2"], ['\u001b[31m"\ud800', {}, "c3"]),
    { tools },
  );
  assertEquals(unknown?.content, 'error: unknown tool "c", the tools are: a, b');
  assertEquals(unknown?.isError, true);
  assertEquals(huge?.content, `error: unknown tool "${"x".repeat(63)}…", the tools are: a, b`);
  assertEquals(hostile?.content, 'error: unknown tool "\\u001b[31m\\"\ufffd", the tools are: a, b');
  const [none] = await answers(calls(["c"]), {});
  assertEquals(none?.content, 'error: unknown tool "c", the tools are: none');
});

Deno.test("a name that every object has is no tool", async () => {
  for (const name of ["constructor", "__proto__", "toString"]) {
    assertStringIncludes((await answers(calls([name]), {}))[0]!.content, "unknown tool");
  }
});

Deno.test("an invalid call is answered and never run or decided on", async () => {
  const reply = { content: [{ ...use("it", '{"a":1}{"b":2}'), invalid: true as const }] };
  const [result] = await answers(reply, { tools: [tool("it", fail)], decide: fail });
  assertEquals(result?.content, "error: invalid input: it is not one JSON object");
});

Deno.test("an input without its required names is answered with what is missing", async () => {
  const inputSchema = {
    type: "object",
    properties: { path: { type: "string" }, depth: { type: ["integer", "null"] } },
    required: ["path", "depth"],
  };
  const [none, half, wrong] = await answers(
    calls(["it"], ["it", { path: "/", depth: 1.5 }, "c2"], ["it", { path: 1, depth: null }, "c3"]),
    { tools: [tool("it", fail, { inputSchema })], decide: fail },
  );
  assertEquals(none?.content, 'error: invalid input: "path" is missing, "depth" is missing');
  assertEquals(half?.content, 'error: invalid input: "depth" must be of type integer or null');
  assertEquals(wrong?.content, 'error: invalid input: "path" must be of type string');
});

Deno.test("misfits looks at required names and top-level types, and at own properties only", () => {
  const values: Record<string, unknown> = {
    string: "",
    number: 1.5,
    integer: 2,
    boolean: false,
    object: {},
    array: [],
    null: null,
  };
  const fits: Record<string, string[]> = { number: ["number", "integer"] };
  for (const type of Object.keys(values)) {
    for (const [name, value] of Object.entries(values)) {
      const expected = name === type || fits[type]?.includes(name) === true;
      assertEquals(misfits({ properties: { x: { type } } }, { x: value }).length === 0, expected, `${type} ${name}`);
    }
  }
  assertEquals(misfits({ required: ["toString"] }, {}), ['"toString" is missing']);
  assertEquals(misfits({ properties: { toString: { type: "string" } } }, {}), []);
  assertEquals(
    misfits({ properties: { x: true, y: null, z: { type: "any" }, w: {} } }, { x: 1, y: 1, z: 1, w: 1 }),
    [],
  );
  assertEquals(misfits({}, { x: 1 }), []);
});

Deno.test("a tool gets its parsed input with own properties only, the call, and a signal", async () => {
  const [result] = await answers(calls(["it", '{"__proto__":{"admin":true},"n":12345678901234567890}']), {
    tools: [tool("it", (input, { call, signal }) => {
      assertEquals(Object.hasOwn(input, "__proto__"), true);
      assertEquals((input as { admin?: boolean }).admin, undefined);
      assertEquals(signal.aborted, false);
      return call.input;
    })],
  });
  assertStringIncludes(result!.content, "12345678901234567890");
  assertEquals(({} as { admin?: boolean }).admin, undefined);
});

// decide

Deno.test("decide is asked before each call that could run, and only a plain yes allows", async () => {
  const verdicts: [unknown, string][] = [
    [{ allow: true }, "ran"],
    [Promise.resolve({ allow: true }), "ran"],
    [{ allow: false, reason: "not on Sundays" }, "error: denied: not on Sundays"],
    [{ allow: false }, "error: denied"],
    [{ allow: false, reason: 5 }, "error: denied"],
    [{ allow: "true" }, "error: denied"],
    [{ allow: 1, reason: "odd" }, "error: denied: odd"],
    [undefined, "error: denied"],
    [null, "error: denied"],
    [true, "error: denied"],
    [Promise.resolve(undefined), "error: denied"],
  ];
  for (const [verdict, content] of verdicts) {
    const asked: string[] = [];
    const result = await answer(() => "ran", {
      decide: (({ name }, { signal }) => {
        asked.push(name);
        assert(!signal.aborted);
        return verdict;
      }) as AgentOptions["decide"] & object,
    });
    assertEquals([result.content, asked], [content, ["it"]]);
  }
});

Deno.test("a denied call has a tool_result without a tool_start, and counts as no tool call", async () => {
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  const seen: string[] = [];
  const agent = new Agent(new FakeProvider([calls(["it"], ["it", {}, "c2"]), says("ok")]), {
    tools: [tool("it", () => "ran")],
    decide: ({ id }) => id === "c1" ? { allow: false, reason: "no" } : { allow: true },
  });
  const result = await agent.runStep(conversation, {
    onToolStart: ({ id }) => void seen.push(`start ${id}`),
    onToolResult: ({ id }) => void seen.push(`result ${id}`),
  });
  assertEquals(seen, ["result c1", "start c2", "result c2"]);
  assertEquals(result.toolCalls, 1);
});

// what a tool does

Deno.test("whatever a tool throws is an answer", async () => {
  const hostile = { toString: () => assert(false, "again") };
  const getter = Object.defineProperty(new Error(), "message", { get: () => assert(false, "again") });
  const rows: [unknown, string][] = [
    [new Error("no such file"), "error: no such file"],
    ["text", "error: text"],
    [{ message: "from elsewhere" }, "error: from elsewhere"],
    [undefined, "error: the tool failed"],
    [null, "error: the tool failed"],
    [42, "error: the tool failed"],
    [{ code: 7 }, "error: the tool failed"],
    [{ message: {} }, "error: the tool failed"],
    [new Error(""), "error: the tool failed"],
    [Object.create(null), "error: the tool failed"],
    [hostile, "error: the tool failed"],
    [getter, "error: the tool failed"],
    [new Proxy({}, { getPrototypeOf: () => assert(false) as never }), "error: the tool failed"],
  ];
  for (const [thrown, content] of rows) {
    const sync = await answer(() => {
      throw thrown;
    });
    const later = await answer(() => Promise.reject(thrown));
    assertEquals([sync.content, sync.isError, later.content], [content, true, content]);
  }
});

Deno.test("a tool that returns no text is told so", async () => {
  const rows: [unknown, string][] = [
    [undefined, "undefined"],
    [null, "object"],
    [7, "number"],
    [{ a: 1 }, "object"],
    [new String("x"), "object"],
  ];
  for (const [value, word] of rows) {
    const { content, isError } = await answer((() => value) as Tool["run"]);
    assertEquals([content, isError], [`error: the tool returned ${word}, not text`, true]);
  }
  assertEquals((await answer((() => ({ then: fail })) as unknown as Tool["run"])).isError, true);
});

Deno.test("an empty result is (no output)", async () => {
  assertEquals(await answer(() => ""), { type: "tool_result", toolUseId: "c1", content: "(no output)" });
});

Deno.test("tools run one after another, in order", async () => {
  const log: string[] = [];
  await answers(calls(["it", { n: 1 }], ["it", { n: 2 }, "c2"], ["it", { n: 3 }, "c3"]), {
    tools: [tool("it", async ({ n }) => {
      log.push(`begin ${n}`);
      await new Promise((resolve) => setTimeout(resolve, 3 - Number(n)));
      log.push(`end ${n}`);
      return "";
    })],
  });
  assertEquals(log, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
});

Deno.test("a tool is abandoned when its time is over, its signal aborted, its late failure ignored", async () => {
  let reason: unknown;
  const late = Promise.withResolvers<string>();
  const result = await answer((_, { signal }) => {
    signal.addEventListener("abort", () => reason = signal.reason);
    return late.promise;
  }, { toolTimeoutMs: 5 });
  late.reject(new Error("too late"));
  await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals([result.content, result.isError], ["error: timed out after 5 ms", true]);
  assert(reason instanceof DOMException && reason.name === "TimeoutError");
});

Deno.test("a tool's own timeout outranks the agent's", async () => {
  const { promise } = Promise.withResolvers<string>();
  assertEquals(
    (await answer(() => promise, { toolTimeoutMs: 1e9 }, { timeoutMs: 3 })).content,
    "error: timed out after 3 ms",
  );
  const slow = () => new Promise<string>((resolve) => setTimeout(() => resolve("in time"), 5));
  assertEquals((await answer(slow, { toolTimeoutMs: 1 }, { timeoutMs: 2 ** 40 })).content, "in time");
});

Deno.test("the signal of a tool that has ended is left alone", async () => {
  const signals: AbortSignal[] = [];
  const stop = new AbortController();
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  const agent = new Agent(new FakeProvider([calls(["it"], ["it", {}, "c2"])]), {
    tools: [tool("it", (_, { signal }) => {
      signals.push(signal);
      if (signals.length === 2) stop.abort();
      return "ok";
    })],
    toolTimeoutMs: 1000,
  });
  await assertRejects(() => agent.runStep(conversation, {}, { signal: stop.signal }));
  assertEquals(signals.map(({ aborted }) => aborted), [false, true]);
  assertStrictEquals(signals[1]!.reason, stop.signal.reason);
});

// what becomes of a result

Deno.test("a result and an error are scrubbed before they are cut", async () => {
  assertEquals((await answer(() => "key=s3cret-key.")).content, "key=[redacted].");
  assertEquals((await answer(() => Promise.reject(new Error("s3cret-key")))).content, "error: [redacted]");
  const { content } = await answer(() => "a".repeat(95) + "s3cret-key" + "b".repeat(200), { maxToolResultChars: 200 });
  assert(!content.includes("s3c"));
});

Deno.test("a long result is cut in the middle with a note", async () => {
  const whole = "a".repeat(65_536);
  assertEquals((await answer(() => whole)).content, whole);
  const { content } = await answer(() => `HEAD${"x".repeat(200_000)}TAIL`);
  assert(content.length <= 65_536 && content.length > 65_000);
  assert(content.startsWith("HEADx") && content.endsWith("xTAIL"));
  assertStringIncludes(content, "[134472+ characters cut]");
});

Deno.test("a result is never cut inside a surrogate pair, and keeps to its cap", async () => {
  for (let max = 1; max < 160; max++) {
    for (const text of ["😀".repeat(200), "x" + "😀".repeat(200)]) {
      const { content } = await answer(() => text, { maxToolResultChars: max });
      assert(content.isWellFormed());
      if (max >= 110) assert(content.length <= max, `${max} ${content.length}`);
      assertStringIncludes(content, "+ characters cut");
    }
  }
});

Deno.test("a denial and an unknown name keep to the cap too", async () => {
  const denied = await answer(() => "", { decide: () => ({ allow: false, reason: "r".repeat(1e5) }) });
  assert(denied.content.length <= 65_536);
});

function fail(): never {
  throw new Error("must not be called");
}
