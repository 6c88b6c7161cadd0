/** Requests of the Anthropic dialect, rule by rule (request cases R-01…R-45). */
import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { anthropicMessages } from "../../src/dialects/anthropic_messages.ts";
import type { ContentBlock, Message } from "../../src/model/message.ts";
import type { DialectRequest } from "../../src/provider/dialect.ts";
import { type Body, encodeBody, encodeText, replied, repliedBy, results, said, tool, use } from "./encoding.ts";

function encode(messages: readonly Message[], options?: Partial<DialectRequest>): Body {
  return encodeBody(anthropicMessages, messages, options);
}

function signed(text: string, signature: string): ContentBlock {
  return { type: "thinking", text, signature };
}

const CONTINUE = { role: "user", content: [{ type: "text", text: "(continue)" }] };
const HI = said("user", "hi");

Deno.test("anthropicMessages.encode sends nothing that was not asked for", () => {
  assertEquals(encode([said("system", "S"), HI]), {
    model: "test-model",
    max_tokens: 256,
    system: "S",
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    stream: true,
  });
});

Deno.test("anthropicMessages.encode sends what was asked for, a temperature of 0 included", () => {
  const body = encode([HI], { temperature: 0, stop: ["x"] });
  assertEquals(body.temperature, 0);
  assertEquals(body.stop_sequences, ["x"]);
});

Deno.test("anthropicMessages.encode makes one user turn of results and what follows them, results first", () => {
  const { messages } = encode([
    HI,
    replied("a", use("c1", "f", '{"n":1}'), use("c2", "g")),
    results(["c2", "", false], ["c1", "boom", true]),
    said("user", "b", "  "),
    said("user", "c"),
  ]);
  assertEquals(messages.slice(1), [
    {
      role: "assistant",
      content: [
        { type: "text", text: "a" },
        { type: "tool_use", id: "c1", name: "f", input: { n: 1 } },
        { type: "tool_use", id: "c2", name: "g", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c1", content: "error: boom", is_error: true },
        { type: "tool_result", tool_use_id: "c2", content: "(no output)" },
        { type: "text", text: "b" },
        { type: "text", text: "c" },
      ],
    },
  ]);
});

Deno.test("anthropicMessages.encode begins and ends with a user turn", () => {
  const { messages } = encode([replied("hello"), said("user", " "), replied("again")]);
  assertEquals(messages, [
    CONTINUE,
    { role: "assistant", content: [{ type: "text", text: "hello" }, { type: "text", text: "again" }] },
    CONTINUE,
  ]);
  assertEquals(encode([said("user", " ")]).messages, [CONTINUE]);
});

Deno.test("anthropicMessages.encode sends a reply that paused as it is, without space behind its last text", () => {
  const value = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const { messages } = encode([HI, repliedBy(anthropicMessages, ["Searching", { type: "opaque", value }, "so "])]);
  assertEquals(messages[1].content, [{ type: "text", text: "Searching" }, value, { type: "text", text: "so" }]);
  assertEquals(messages.length, 2);
});

Deno.test("anthropicMessages.encode keeps vendor blocks from other endpoints out", () => {
  const block: ContentBlock = { type: "opaque", value: { type: "x" } };
  const { messages } = encode([HI, repliedBy(anthropicMessages, [block, "a"], "other"), HI]);
  assertEquals(messages[1].content, [{ type: "text", text: "a" }]);
});

Deno.test("anthropicMessages.encode sends signed and encrypted reasoning back unmodified", () => {
  const content: ContentBlock[] = [
    signed(" t ", "s1"),
    signed("", "s2"),
    { type: "thinking", text: "", redacted: "r" },
    { type: "text", text: "a" },
    use("c", "f"),
  ];
  for (const message of [repliedBy(anthropicMessages, content), replied(...content)]) {
    assertEquals(encode([HI, message, results(["c", "x"])]).messages[1].content, [
      { type: "thinking", thinking: " t ", signature: "s1" },
      { type: "thinking", thinking: "", signature: "s2" },
      { type: "redacted_thinking", data: "r" },
      { type: "text", text: "a" },
      { type: "tool_use", id: "c", name: "f", input: {} },
    ]);
  }
});

Deno.test("anthropicMessages.encode drops reasoning that is unsigned, foreign or unwanted", () => {
  const blocks = (message: Message, echoReasoning?: "never" | "always") =>
    encode([HI, message, HI], { compat: { ...(echoReasoning && { echoReasoning }) } }).messages[1].content.length;
  const unsigned = repliedBy(anthropicMessages, [{ type: "thinking", text: "t" }, "a"]);
  assertEquals(blocks(unsigned), 1);
  assertEquals(blocks(unsigned, "always"), 2);
  assertEquals(blocks(repliedBy(anthropicMessages, [signed("t", "s"), "a"]), "never"), 1);
  assertEquals(blocks(repliedBy(anthropicMessages, [signed("t", "s"), "a"], "other")), 1);
});

Deno.test("anthropicMessages.encode leaves out reasoning behind a call when the model does not think", () => {
  const message = repliedBy(anthropicMessages, [signed("t", "s"), use("c", "f"), signed("u", "s"), use("d", "f")]);
  const types = (thinking?: "low") =>
    encode([HI, message], { maxTokens: 2000, ...(thinking && { thinking }) }).messages[1].content.map((b: Body) =>
      b.type
    );
  assertEquals(types(), ["thinking", "tool_use", "tool_use"]);
  assertEquals(types("low"), ["thinking", "tool_use", "thinking", "tool_use"]);
});

Deno.test("anthropicMessages.encode maps ids to its own rule, unique over the conversation, call and result together", () => {
  const turn = [replied(use("functions.f:0", "f"), use("ok-1", "f")), results(["functions.f:0", "x"], ["ok-1", "y"])];
  const { messages } = encode([HI, ...turn, ...turn, replied(use("", "f"), use("x".repeat(99), "f"))]);
  const ids = messages.flatMap(({ content }: Body) => content.map((b: Body) => b.id ?? b.tool_use_id ?? [])).flat();
  assertEquals(ids, [
    ...["call10001", "ok-1", "call10001", "ok-1"],
    ...["call10002", "call10003", "call10002", "call10003"],
    ...["call10004", "call10005", "call10004", "call10005"],
  ]);
});

Deno.test("anthropicMessages.encode wraps invalid arguments in an object", () => {
  const { messages } = encode([HI, replied(use("c", "f", '{"a":', { invalid: true }), use("d", "f", "[1]"))]);
  assertEquals(messages[1].content.map(({ input }: Body) => input), [{ INVALID_JSON: '{"a":' }, {
    INVALID_JSON: "[1]",
  }]);
});

Deno.test("anthropicMessages.encode keeps 64-bit integers, and __proto__ as data", () => {
  const text = encodeText(anthropicMessages, [
    HI,
    replied(use("c", "f", '{"n":12345678901234567890,"x":1.10,"big":1e999,"__proto__":{"y":-0}}')),
  ]);
  const exact = "rawJSON" in JSON;
  assertStringIncludes(text, exact ? '"n":12345678901234567890,"x":1.10,"big":1e999' : '"n":12345678901234567000');
  assertStringIncludes(text, '"__proto__":{"y":0}');
});

Deno.test("anthropicMessages.encode sends vendor keys of a call back to their origin only", () => {
  const call = use("c", "f", "{}", { extra: { caller: { type: "direct" }, id: "forged" } });
  const [, ours] = encode([HI, repliedBy(anthropicMessages, [call])]).messages;
  assertEquals(ours.content[0], { caller: { type: "direct" }, id: "c", type: "tool_use", name: "f", input: {} });
  assertFalse("caller" in encode([HI, replied(call)]).messages[1].content[0]);
});

Deno.test("anthropicMessages.encode sends images as base64 sources", () => {
  const { messages } = encode([{ role: "user", content: [{ type: "image", mediaType: "image/png", data: "QUJD" }] }]);
  assertEquals(messages[0].content, [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } },
  ]);
});

Deno.test("anthropicMessages.encode declares tools, or the called names when none are given", () => {
  const schema = { type: "object", properties: {} };
  assertEquals(encode([HI], { tools: [tool("f")] }).tools, [{
    name: "f",
    description: "About f",
    input_schema: schema,
  }]);
  assertEquals(encode([HI, replied(use("c", "f"))]).tools, [{ name: "f", input_schema: schema }]);
});

Deno.test("anthropicMessages.encode maps every tool choice", () => {
  const choose = (toolChoice: DialectRequest["toolChoice"]) =>
    encode([HI], { tools: [tool("f")], ...(toolChoice && { toolChoice }) }).tool_choice;
  assertEquals(choose(undefined), undefined);
  assertEquals(choose("auto"), { type: "auto" });
  assertEquals(choose("none"), { type: "none" });
  assertEquals(choose("required"), { type: "any" });
  assertEquals(choose({ name: "f" }), { type: "tool", name: "f" });
  assertThrows(() => choose({ name: "g" }), TypeError, "toolChoice");
});

Deno.test("anthropicMessages.encode thinks with the budget of a level, or with any other", () => {
  const think = (thinking: DialectRequest["thinking"], more: Partial<DialectRequest> = {}) =>
    encode([HI], { maxTokens: 20_000, ...(thinking && { thinking }), ...more }).thinking;
  assertEquals(
    (["low", "medium", "high", { budgetTokens: 2000 }] as const).map((level) => think(level).budget_tokens),
    [1024, 4096, 16384, 2000],
  );
  assertEquals(think("low", { temperature: 1 }), { type: "enabled", budget_tokens: 1024 });
});

Deno.test("anthropicMessages.encode refuses options that contradict thinking", () => {
  const think = (options: Partial<DialectRequest>) => () =>
    encode([HI], { maxTokens: 2000, thinking: "low", tools: [tool("f")], ...options });
  think({})();
  assertThrows(think({ maxTokens: 1024 }), RangeError, "thinking.budgetTokens");
  assertThrows(think({ thinking: { budgetTokens: 1000 } }), RangeError, "from 1024 to 1999");
  assertThrows(think({ temperature: 0.5 }), TypeError, "temperature");
  assertThrows(think({ toolChoice: "required" }), TypeError, "toolChoice");
  assertThrows(think({ toolChoice: { name: "f" } }), TypeError, "toolChoice");
});

Deno.test("anthropicMessages.encode lets a tool loop that began without reasoning go on without", () => {
  const loop = (content: ContentBlock[]) =>
    encode([HI, repliedBy(anthropicMessages, [...content, use("c", "f")]), results(["c", "x"])], {
      thinking: "low",
      maxTokens: 2000,
    });
  assertFalse("thinking" in loop([{ type: "text", text: "a" }]));
  assert("thinking" in loop([signed("t", "s")]));
  assert("thinking" in encode([HI, replied("a"), HI], { thinking: "low", maxTokens: 2000 }));
});

Deno.test("anthropicMessages.encode lets a tool loop that began with reasoning go on with it, also where no more came", () => {
  const by = (...content: (string | ContentBlock)[]) => repliedBy(anthropicMessages, content);
  const began = [HI, by(signed("t", "s"), use("c", "f")), results(["c", "x"])];
  const thinks = (...more: Message[]) =>
    "thinking" in encode([...began, ...more], { thinking: "low", maxTokens: 2000 });
  const second = [by(use("d", "f")), results(["d", "x"])];
  assert(thinks(...second));
  assert(thinks(...second, by("so", use("e", "f")), results(["e", "x"])));
  assert(thinks(...second, by("done"), HI));
  // The next thing that the user says begins anew.
  assertFalse(thinks(by("done"), HI, ...second));
  assert(thinks(by("done"), HI, by(signed("t", "s"), use("e", "f")), results(["e", "x"]), ...second));
});

Deno.test("anthropicMessages.encode marks system, tools and the last turn for the cache", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const body = encode([said("system", "S"), HI, replied("a"), said("user", "b", "c")], {
    promptCache: true,
    tools: [tool("f"), tool("g")],
  });
  assertEquals(body.system, [{ type: "text", text: "S", ...mark }]);
  assertEquals(body.tools.map((t: Body) => t.cache_control), [undefined, mark.cache_control]);
  assertEquals(body.messages.at(-1).content, [{ type: "text", text: "b" }, { type: "text", text: "c", ...mark }]);
  assertEquals(JSON.stringify(body).split("cache_control").length - 1, 3);
});

Deno.test("anthropicMessages.encode marks no reasoning and no vendor block", () => {
  const value = { type: "server_tool_use" };
  const { messages } = encode([HI, replied(signed("t", "s"), { type: "opaque", value })], { promptCache: true });
  assertEquals(messages[1].content, [{ type: "thinking", thinking: "t", signature: "s" }, value]);
});

Deno.test("anthropicMessages.encode changes nothing of the conversation", () => {
  const conversation = [
    HI,
    repliedBy(anthropicMessages, [signed("t", "s"), "a ", { type: "opaque", value: { type: "x" } }]),
  ];
  const before = JSON.stringify(conversation);
  encode(conversation, { promptCache: true });
  assertEquals(JSON.stringify(conversation), before);
});

Deno.test("anthropicMessages.encode sends well-formed text only, keys included", () => {
  const lone = "a\ud83d";
  const text = encodeText(anthropicMessages, [
    said("system", lone),
    said("user", lone),
    replied(signed(lone, lone), use("c", lone, `{"${lone}":"\\ud83d"}`)),
    results(["c", lone]),
    replied({ type: "opaque", value: { [lone]: lone } }),
  ], { tools: [tool("f", { type: "object", properties: { [lone]: {} } })] });
  const seen: string[] = [text];
  JSON.parse(text, (key, value) => seen.push(key, ...(typeof value === "string" ? [value] : [])) && value);
  assert(seen.length > 20 && seen.every((string) => string.isWellFormed()));
});

Deno.test("anthropicMessages completes paths, and sends a key only if there is one", () => {
  assertEquals(["", "/v1", "/proxy", "/proxy/v1"].map(anthropicMessages.basePath), [
    "/v1",
    "/v1",
    "/proxy/v1",
    "/proxy/v1",
  ]);
  assertEquals(anthropicMessages.headers("k"), { "anthropic-version": "2023-06-01", "x-api-key": "k" });
  assertEquals(anthropicMessages.headers(), { "anthropic-version": "2023-06-01" });
});

Deno.test("anthropicMessages.hint names the path of a wrong base URL", () => {
  const hint = (status: number, text: string) => anthropicMessages.hint?.(status, text);
  assertEquals(hint(405, "not found"), "look at the option baseUrl, its path");
  assertEquals(hint(529, "overloaded"), undefined);
});
