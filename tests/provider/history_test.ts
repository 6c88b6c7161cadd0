/** What every encoder is given: a conversation in the order of the wire. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Conversation } from "../../src/model/conversation.ts";
import type { ContentBlock, Message } from "../../src/model/message.ts";
import type { Compat, DialectRequest } from "../../src/provider/dialect.ts";
import { type History, readHistory, thinkingBudget } from "../../src/provider/history.ts";
import { replied, results, said, tool, use } from "../dialects/encoding.ts";

type Keeps = Parameters<typeof readHistory>[2];

function read(
  messages: readonly Message[],
  rules: { keeps?: Keeps; merge?: boolean; ids?: RegExp } = {},
  options: Partial<DialectRequest> = {},
): History {
  const conversation = Conversation.fromJSON({ version: 1, messages });
  const request = { conversation, model: "m", maxTokens: 1, tools: [], compat: {}, ...options };
  return readHistory(request, "d", rules.keeps ?? (() => true), rules.merge, rules.ids);
}

/** One line a turn: what a reader can take in at a glance. */
function shown({ turns }: History): string[] {
  return turns.map((turn) => [turn.role === "user" ? "user" : "reply", ...turn.content.map(show)].join(" | "));
}

function show(block: ContentBlock): string {
  switch (block.type) {
    case "tool_use":
      return `${block.name}#${block.id}${block.input}`;
    case "tool_result":
      return `${block.toolUseId}=${block.content}`;
    default:
      return "text" in block ? block.text : block.type;
  }
}

const HI = said("user", "hi");

Deno.test("readHistory puts results right behind their calls, in call order", () => {
  const history = read([
    HI,
    replied(use("a", "f"), use("b", "f")),
    said("user", "wait"),
    results(["b", "2"], ["a", "1"]),
  ]);
  assertEquals(shown(history), ["user | hi", "reply | f#a{} | f#b{}", "user | a=1 | b=2", "user | wait"]);
});

Deno.test("readHistory answers calls that nobody answered", () => {
  const history = read([HI, replied(use("a", "f"), use("b", "f")), results(["b", "2"])]);
  assertEquals(shown(history).at(-1), "user | a=error: no result: interrupted | b=2");
});

Deno.test("readHistory drops results without a call, and second results", () => {
  const history = read([HI, results(["x", "?"]), replied(use("a", "f")), results(["a", "1"], ["a", "2"], ["y", "?"])]);
  assertEquals(shown(history), ["user | hi", "reply | f#a{}", "user | a=1"]);
});

Deno.test("readHistory gives results under a repeated id to the newest turn, and in order within a turn", () => {
  const history = read([
    HI,
    replied(use("a", "f")),
    replied(use("a", "f"), use("a", "g")),
    results(["a", "1"], ["a", "2"]),
  ]);
  assertEquals(shown(history), [
    "user | hi",
    "reply | f#a{}",
    "user | a=error: no result: interrupted",
    "reply | f#a{} | g#call10001{}",
    "user | a=1 | call10001=2",
  ]);
});

Deno.test("readHistory keeps ids unique over the conversation where the protocol wants that", () => {
  const turn = [replied(use("a", "f")), results(["a", "x"])];
  const history = read([HI, ...turn, ...turn, replied(use("call10001", "f"))], { ids: /./ });
  assertEquals(shown(history).slice(1), [
    "reply | f#a{}",
    "user | a=x",
    "reply | f#call10001{}",
    "user | call10001=x",
    "reply | f#call10002{}",
    "user | call10002=error: no result: interrupted",
  ]);
});

Deno.test("readHistory gives ids that the protocol refuses another one, call and result together", () => {
  const history = read([HI, replied(use("", "f"), use("a.b", "f"), use("ab", "f")), results(["a.b", "x"])], {
    ids: /^\w+$/,
  });
  assertEquals(shown(history).slice(1), [
    "reply | f#call10001{} | f#call10002{} | f#ab{}",
    "user | call10001=error: no result: interrupted | call10002=x | ab=error: no result: interrupted",
  ]);
});

Deno.test("readHistory marks errors in words, once, and says where a tool was silent", () => {
  const calls = ["a", "b", "c", "d"].map((id) => use(id, "f"));
  const history = read([
    HI,
    replied(...calls),
    results(["a", "boom", true], ["b", "error: x", true], ["c", " \n"], ["d", "", true]),
  ]);
  assertEquals(shown(history).at(-1), "user | a=error: boom | b=error: x | c=(no output) | d=error: (no output)");
});

Deno.test("readHistory drops turns in which nothing is left", () => {
  const thought: ContentBlock = { type: "thinking", text: "t", signature: "s" };
  const history = read([said("user", " "), replied(thought, "\n"), replied(), HI, replied("  ", use("a", "f"))]);
  assertEquals(shown(history).slice(0, 2), ["user | hi", "reply | f#a{}"]);
});

Deno.test("readHistory joins neighbours of one role if told so", () => {
  const history = read(
    [said("user", "a"), said("user", "b"), replied("c"), replied(use("i", "f")), said("user", "d")],
    {
      merge: true,
    },
  );
  assertEquals(shown(history), ["user | a | b", "reply | c | f#i{}", "user | i=error: no result: interrupted | d"]);
});

Deno.test("readHistory joins system texts with a blank line, wherever they stand", () => {
  assertEquals(read([HI, said("system", "a", " ", "b"), replied("x"), said("system", "c")]).system, "a\n\nb\n\nc");
});

Deno.test("readHistory cleans names, and cuts them", () => {
  const history = read([HI, replied(use("a", "é.b"), use("b", "x".repeat(99)), use("c", ""))]);
  assertEquals(shown(history)[1], `reply | __b#a{} | ${"x".repeat(64)}#b{} | _#c{}`);
  assertEquals(history.tools?.map(({ name }) => name), ["__b", "x".repeat(64), "_"]);
});

Deno.test("readHistory sends raw arguments, nothing as {}, and wraps what is no object", () => {
  const inputs = ['{ "n": 12345678901234567890 }', "", "null", '{"a"', '"{}"', "[]"];
  const history = read([HI, replied(...inputs.map((input, i) => use(`${i}`, "f", input)))]);
  const [, reply] = history.turns;
  assert(reply?.role === "assistant");
  assertEquals(reply.content.map((block) => block.type === "tool_use" && block.input), [
    '{ "n": 12345678901234567890 }',
    "{}",
    "{}",
    '{"INVALID_JSON":"{\\"a\\""}',
    "{}",
    '{"INVALID_JSON":"[]"}',
  ]);
});

Deno.test("readHistory cuts invalid arguments without cutting a character", () => {
  const history = read([HI, replied(use("a", "f", `${"x".repeat(999)}😀`, { invalid: true }))]);
  assertEquals(shown(history)[1], `reply | f#a{"INVALID_JSON":"${"x".repeat(999)}\ufffd"}`);
});

Deno.test("readHistory asks about reasoning that is not foreign, and tells whether its turn is the running one", () => {
  const seen: boolean[] = [];
  const thought: ContentBlock = { type: "thinking", text: "t" };
  const by = (dialect: string, model: string): Message => ({
    ...replied(thought, use("a", "f")),
    origin: { dialect, model },
  });
  const kept = (echoReasoning?: Compat["echoReasoning"]) => {
    const { turns } = read(
      [HI, by("d", "m"), HI, by("d", "m"), by("d", "other"), by("e", "m"), replied(thought, "a")],
      { keeps: (_block, isCurrent) => Boolean(seen.push(isCurrent)) && isCurrent },
      { compat: echoReasoning ? { echoReasoning } : {} },
    );
    return turns.filter(({ content }) => content[0]?.type === "thinking").length;
  };
  assertEquals(kept(), 1);
  assertEquals(seen.splice(0).map(Number).join(""), "01000");
  assertEquals(kept("always"), 3);
  assertEquals(kept("never"), 0);
  assertEquals(seen, []);
});

Deno.test("readHistory declares the given tools, else the called names, once each", () => {
  const called = [HI, replied(use("a", "f"), use("b", "f"), use("c", "g"))];
  const empty = { type: "object", properties: {} };
  assertEquals(read(called).tools, [{ name: "f", parameters: empty }, { name: "g", parameters: empty }]);
  const given = tool("h", { properties: { a: {} } });
  assertEquals(read(called, {}, { tools: [given] }).tools, [
    { name: "h", description: "About h", parameters: { type: "object", properties: { a: {} } } },
  ]);
});

Deno.test("readHistory refuses what nobody can mean: no conversation, and a temperature that is no number", () => {
  assertThrows(() => read([]), TypeError, "Cannot send the conversation: it is empty");
  for (const temperature of [NaN, Infinity, "hot" as never]) {
    assertThrows(() => read([HI], {}, { temperature }), RangeError, `temperature: current value is ${temperature}`);
  }
  read([HI], {}, { temperature: 0 });
});

Deno.test("readHistory refuses a tool choice that no given tool satisfies", () => {
  assertThrows(
    () => read([HI], {}, { toolChoice: "always" as never, tools: [tool("f")] }),
    TypeError,
    'Cannot use toolChoice as no tool fits it: current value is "always"',
  );
  for (const toolChoice of ["required", { name: "f" }] as const) {
    assertThrows(() => read([HI, replied(use("a", "f"))], {}, { toolChoice }), TypeError, "toolChoice");
    read([HI], {}, { toolChoice, tools: [tool("f")] });
  }
});

Deno.test("readHistory is linear in calls under one id", () => {
  const calls = Array.from({ length: 20_000 }, () => use("same", "f"));
  const history = read([HI, replied(...calls), results(...calls.map(() => ["same", "x"] as [string, string]))]);
  const last = history.turns.at(-1);
  assert(last?.content.length === 20_000 && last.content.every((block) => show(block).endsWith("=x")));
});

Deno.test("thinkingBudget knows levels and numbers, and nothing else", () => {
  assertEquals((["low", "medium", "high", { budgetTokens: 7 }] as const).map((thinking) => thinkingBudget(thinking)), [
    1024,
    4096,
    16384,
    7,
  ]);
  for (const odd of ["max", "__proto__", {}, { budgetTokens: -1 }, { budgetTokens: NaN }]) {
    assertThrows(() => thinkingBudget(odd as never), RangeError, "thinking");
  }
});
