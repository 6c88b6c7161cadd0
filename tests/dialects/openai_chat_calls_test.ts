/** Which call a fragment belongs to: the rules of "Tool-call assembly", quirk by quirk. */
import { assert, assertEquals } from "@std/assert";
import { openAiChat } from "../../src/dialects/openai_chat.ts";
import { hear } from "./recording_sink.ts";

type Json = Record<string, unknown>;

/** `[index, id, name, arguments, more]`; undefined leaves a key out. */
type Fragment = [index: unknown, id?: unknown, name?: unknown, args?: unknown, more?: Json];

function fragment([index, id, name, args, more]: Fragment): Json {
  return JSON.parse(JSON.stringify({ index, id, type: "function", function: { name, arguments: args }, ...more }));
}

/** Each inner list is one delta. */
function hearCalls(...deltas: Fragment[][]): string[] {
  return hear(openAiChat, deltas.map((calls) => ({ choices: [{ delta: { tool_calls: calls.map(fragment) } }] })));
}

function table(rows: Record<string, [deltas: Fragment[][], expected: string[]]>): void {
  for (const [promise, [deltas, expected]] of Object.entries(rows)) {
    Deno.test(`openAiChat.decoder ${promise}`, () => assertEquals(hearCalls(...deltas), expected));
  }
}

const none = undefined;

table({
  "joins fragments by index": [
    [[[0, "c", "f", ""]], [[0, none, none, '{"a"']], [[0, none, none, ":1}"]]],
    ["call 0 f #c", 'input 0 {"a"', "input 0 :1}"],
  ],
  "joins fragments that repeat the id": [
    [[[0, "c", "f", "{"]], [[0, "c", none, "}"]]],
    ["call 0 f #c", "input 0 {", "input 0 }"],
  ],
  "takes empty and null ids and names for absent": [
    [[[0, "c", "f", "{"]], [[0, "", "", '"a"']], [[0, null, null, ":1}"]]],
    ["call 0 f #c", "input 0 {", 'input 0 "a"', "input 0 :1}"],
  ],
  "tells a call without id, and its late id": [
    [[[0, none, "f", ""]], [[0, "late", none, "{"]]],
    ["call 0 f #?", "call 0 f #late", "input 0 {"],
  ],
  "tells a late name": [
    [[[0, "c", none, ""]], [[0, none, "f", "{"]]],
    ["call 0 ? #c", "call 0 f #c", "input 0 {"],
  ],
  "keeps calls apart that interleave": [
    [[[0, "a", "f", ""]], [[1, "b", "g", ""]], [[0, none, none, "{"]], [[1, none, none, "{"], [0, none, none, "}"]]],
    ["call 0 f #a", "call 1 g #b", "input 0 {", "input 1 {", "input 0 }"],
  ],
  "takes an index for a mere key": [
    [[[1e9, "a", "f", "{"]], [[-1, "b", "g", "{"]], [[1e9, none, none, "}"]]],
    ["call 0 f #a", "input 0 {", "call 1 g #b", "input 1 {", "input 0 }"],
  ],
  "takes null for no index": [[[[null, "a", "f", "{"]], [[null, none, none, "}"]]], [
    "call 0 f #a",
    "input 0 {",
    "input 0 }",
  ]],
  "joins fragments without index to the last call": [
    [[[none, "a", "f", "{"]], [[none, none, none, "}"]]],
    ["call 0 f #a", "input 0 {", "input 0 }"],
  ],
  "tells whole calls without index apart": [
    [[[none, none, "f", "{}"], [none, none, "f", '{"a":1}']]],
    ["call 0 f #?", "input 0 {}", "call 1 f #?", 'input 1 {"a":1}'],
  ],
  "tells calls without index and arguments apart": [
    [[[none, none, "f", ""], [none, none, "g", ""]]],
    ["call 0 f #?", "call 1 g #?"],
  ],
  "begins a call at a new id with a name, though the index is taken": [
    [[[0, "a", "f", "{}"]], [[0, "b", "f", "{}"]]],
    ["call 0 f #a", "input 0 {}", "call 1 f #b", "input 1 {}"],
  ],
  "begins a call at another name, though the arguments are unfinished": [
    [[[0, "a", "f", ""]], [[0, "b", "g", "{}"]]],
    ["call 0 f #a", "call 1 g #b", "input 1 {}"],
  ],
  "begins a call at a name without id behind complete arguments": [
    [[[0, none, "f", "{}"]], [[0, none, "f", '{"a":1}']]],
    ["call 0 f #?", "input 0 {}", "call 1 f #?", 'input 1 {"a":1}'],
  ],
  "follows an id that drifts without a name": [
    [[[0, "a", "f", ""]], [[0, "b", none, "{"]], [[0, "b", none, "}"]]],
    ["call 0 f #a", "input 0 {", "input 0 }"],
  ],
  "follows a new id in every fragment": [
    [[[0, "a", "f", "{"]], [[0, "b", "f", '"a":']], [[0, "c", "f", "1}"]]],
    ["call 0 f #a", "input 0 {", 'input 0 "a":', "input 0 1}"],
  ],
  "follows a call that opens twice": [
    [[[0, "a", "f", ""]], [[0, "b", "f", ""]], [[0, none, none, "{}"]]],
    ["call 0 f #a", "input 0 {}"],
  ],
  "takes a known id at another index with another name for a new call": [
    [[[0, "a", "f", "{}"]], [[1, "a", "g", "{"]], [[1, "a", none, "}"]]],
    ["call 0 f #a", "input 0 {}", "call 1 g #a", "input 1 {", "input 1 }"],
  ],
  "takes a known id at another index behind complete arguments for a new call": [
    [[[0, "a", "f", "{}"]], [[1, "a", "f", ""]], [[1, none, none, "{}"]]],
    ["call 0 f #a", "input 0 {}", "call 1 f #a", "input 1 {}"],
  ],
  "never splits two objects of one call": [
    [[[0, "a", "f", '{"q":1}']], [[0, none, none, '{"q":2}']]],
    ["call 0 f #a", 'input 0 {"q":1}', 'input 0 {"q":2}'],
  ],
  "ignores a repeated name": [
    [[[0, "a", "f", "{"]], [[0, none, "f", "}"]], [[0, none, "f", ""]]],
    ["call 0 f #a", "input 0 {", "input 0 }"],
  ],
  "joins a name in pieces": [
    [[[0, "a", "get_wea"]], [[0, none, "ther", "{}"]]],
    ["call 0 get_wea #a", "call 0 get_weather #a", "input 0 {}"],
  ],
  "takes the longer of names that grow": [
    [[[0, "a", "get"]], [[0, none, "get_weather", "{}"]]],
    ["call 0 get #a", "call 0 get_weather #a", "input 0 {}"],
  ],
  "keeps a name once arguments have begun": [
    [[[0, "a", "f", "{"]], [[0, "a", "x", "}"]]],
    ["call 0 f #a", "input 0 {", "input 0 }"],
  ],
  "ignores a phantom": [
    [[[0, none, none, ""]], [[0, "a", "f", "{}"]], [[1, none, none, ""]], [[1, "", "", none]]],
    ["call 0 f #a", "input 0 {}"],
  ],
  "writes arguments that came as an object": [[[[0, "a", "f", { a: 1 }]]], ["call 0 f #a", 'input 0 {"a":1}']],
  "takes null for no arguments": [[[[0, "a", "f", null]]], ["call 0 f #a"]],
  "keeps vendor keys that come late": [
    [[[0, "a", "f", "{"]], [[0, none, none, "}", { extra_content: 1 }]]],
    ["call 0 f #a", "input 0 {", 'call 0 f #a {"extra_content":1}', "input 0 }"],
  ],
  "keeps vendor keys": [
    [[[0, "a", "f", "{}", { extra_content: { google: { s: "x" } }, note: null }]], [[0, none, none, " "]]],
    ['call 0 f #a {"extra_content":{"google":{"s":"x"}}}', "input 0 {}", "input 0  "],
  ],
});

for (const index of [1.5, "0", "__proto__", {}, true, 2 ** 53, 1e308]) {
  Deno.test(`openAiChat.decoder refuses the index ${JSON.stringify(index)}`, () => {
    assertEquals(hearCalls([[index, "a", "f", "{}"]]), ["Cannot read the reply: a value has the wrong type"]);
  });
}

Deno.test("openAiChat.decoder keeps a vendor key named __proto__ as data", () => {
  const data = '{"choices":[{"delta":{"tool_calls":[{"id":"a","__proto__":{"x":1},"function":{"name":"f"}}]}}]}';
  assertEquals(hear(openAiChat, [data]), ['call 0 f #a {"__proto__":{"x":1}}']);
});

Deno.test("openAiChat.decoder takes a function_call for the first call", () => {
  const events = [{ name: "f", arguments: "{" }, { arguments: "}" }].map((function_call) => ({
    choices: [{ delta: { function_call } }],
  }));
  assertEquals(hear(openAiChat, events), ["call 0 f #?", "input 0 {", "input 0 }"]);
});

Deno.test("openAiChat.decoder takes a custom call for one without name, which no reply may end with", () => {
  const event = {
    choices: [{ delta: { tool_calls: [{ id: "a", type: "custom", custom: { name: "sh", input: "ls" } }] } }],
  };
  assertEquals(hear(openAiChat, [event]), ["call 0 ? #a"]);
});

Deno.test("openAiChat.decoder takes arguments that are an object, however deep, without running out of stack", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const data = `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":${deep}}}]}}]}`;
  const last = hear(openAiChat, [data]).at(-1)!;
  // Runtimes differ in what they can write; the sink caps the rest.
  assert(last === `input 0 ${deep}` || last === "Cannot read the reply: a value has the wrong type");
});

Deno.test("openAiChat.decoder stays linear when a name comes letter by letter", () => {
  const events = Array.from({ length: 100_000 }, (_, i) => [[0, "a", "xy"[i % 2]] as Fragment]);
  const last = hearCalls(...events).at(-1)!;
  assertEquals(last, `call 0 ${"xy".repeat(128)} #a`);
});
