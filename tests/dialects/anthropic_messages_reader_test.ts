/** What the Anthropic dialect says to events: one table a theme, one line a quirk. */
import { assertEquals } from "@std/assert";
import { anthropicMessages } from "../../src/dialects/anthropic_messages.ts";
import { hear, hearDocument, type Told } from "./recording_sink.ts";

type Json = Record<string, unknown>;

function start(block: unknown, index: unknown = 0): Json {
  return { type: "content_block_start", index, content_block: block };
}

function delta(type: string, about: Json, index: unknown = 0): Json {
  return { type: "content_block_delta", index, delta: { type, ...about } };
}

function text(text: unknown, index: unknown = 0): Json {
  return delta("text_delta", { text }, index);
}

function json(partial_json: unknown, index: unknown = 0): Json {
  return delta("input_json_delta", { partial_json }, index);
}

function stop(index: unknown = 0): Json {
  return { type: "content_block_stop", index };
}

function end(stop_reason: unknown = "end_turn", usage?: unknown): Json {
  return { type: "message_delta", delta: { stop_reason }, usage };
}

const DONE = { type: "message_stop" };
const TOOL = { type: "tool_use", id: "t", name: "f", input: {} };
const TEXT = { type: "text", text: "" };
const THINKING = { type: "thinking", thinking: "", signature: "" };

function table(rows: Record<string, [events: Told[], expected: string[]]>): void {
  for (const [promise, [events, expected]] of Object.entries(rows)) {
    Deno.test(`anthropicMessages.decoder ${promise}`, () => assertEquals(hear(anthropicMessages, events), expected));
  }
}

table({
  "tells blocks as they are named": [
    [
      {
        type: "message_start",
        message: { id: "m", model: "x", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
      },
      start(TEXT),
      { type: "ping" },
      text("a"),
      stop(),
      end("end_turn", { output_tokens: 9 }),
      DONE,
    ],
    [
      "usage inputTokens=3 outputTokens=1",
      "text 0 a",
      "end 0",
      "usage inputTokens=3 outputTokens=9",
      "stop end_turn (end_turn)",
      "done",
    ],
  ],
  "tells signatures of starts and deltas": [
    [start({ ...THINKING, signature: "a" }), start(THINKING, 1), delta("signature_delta", { signature: "b" }, 1)],
    ["signature 0 a", "signature 1 b"],
  ],
  "never joins reasoning behind a signature": [
    [start({ ...THINKING, thinking: "a", signature: "s" }), start({ ...THINKING, thinking: "b" })],
    ["thinking 0 a", "signature 0 s", "end 0", "thinking 1 b"],
  ],
  "tells encrypted reasoning": [[start({ type: "redacted_thinking", data: "x" }), stop()], ["redacted 0 x", "end 0"]],
  "takes arguments that a start gives as text, and sends no copy of them back": [
    [start({ ...TOOL, partial_json: '{"a":1}' }), stop()],
    ["call 0 f #t", 'input 0 {"a":1}', "end 0"],
  ],
  "lets blocks overlap": [
    [
      start(THINKING, 0),
      delta("thinking_delta", { thinking: "a" }, 0),
      start(TEXT, 1),
      text("b", 1),
      delta("signature_delta", { signature: "s" }, 0),
      stop(0),
      text("c", 1),
      stop(1),
    ],
    ["thinking 0 a", "text 1 b", "signature 0 s", "end 0", "text 1 c", "end 1"],
  ],
  "begins a block at an index that is closed": [
    [start(TEXT), text("a"), stop(), start(TOOL), json("{}"), stop()],
    ["text 0 a", "end 0", "call 1 f #t", "input 1 {}", "end 1"],
  ],
  "closes a block whose end is missing when its index begins anew": [
    [start(TEXT), text("a"), start(TOOL), json("{}"), end("tool_use")],
    ["text 0 a", "end 0", "call 1 f #t", "input 1 {}", "stop tool_use (tool_use)"],
  ],
  "continues a block that begins before every token": [
    [
      start(TEXT),
      text("a"),
      start(TEXT),
      text("b"),
      start({ ...TOOL }, 1),
      json("{", 1),
      start({ ...TOOL }, 1),
      json("}", 1),
    ],
    ["text 0 a", "text 0 b", "call 1 f #t", "input 1 {", "input 1 }"],
  ],
  "begins a call at another id, though the index is open": [
    [start(TOOL), json("{}"), start({ ...TOOL, id: "u" }), json("{}")],
    ["call 0 f #t", "input 0 {}", "end 0", "call 1 f #u", "input 1 {}"],
  ],
  "makes blocks whose start is missing": [
    [text("a", 3), text("b", 3), stop(3), delta("thinking_delta", { thinking: "t" }, 4)],
    ["text 0 a", "text 0 b", "end 0", "thinking 1 t"],
  ],
  "takes the text of a start": [[start({ type: "text", text: "a" }), text("b")], ["text 0 a", "text 0 b"]],
  "drops the first delta if it repeats the start": [
    [start({ type: "text", text: "a" }), text("a"), text("a")],
    ["text 0 a", "text 0 a"],
  ],
  "keeps text that is addressed to a call out of its arguments": [
    [start(TOOL), json('{"a":1}'), text("\n"), json(" ")],
    ["call 0 f #t", 'input 0 {"a":1}', "text 1 \n", "input 0  "],
  ],
  "keeps text that is addressed to a vendor block out of it": [
    [start({ type: "server_tool_use", id: "s", input: {} }), text("a"), text("b")],
    ['opaque 0 {"type":"server_tool_use","id":"s","input":{}}', "text 1 a", "text 1 b"],
  ],
  "begins a block anew where blocks without id follow each other at one index": [
    [start({ type: "redacted_thinking", data: "x" }), start({ type: "redacted_thinking", data: "y" })],
    ["redacted 0 x", "end 0", "redacted 1 y"],
  ],
  "ignores events it does not know, whatever they hold": [
    [{ type: "tea_break", index: "now", delta: "milk" }, text("a")],
    ["text 0 a"],
  ],
  "ignores what it does not know": [
    [
      { type: "tea_break" },
      start(TEXT),
      delta("sparkle_delta", { n: 1 }),
      delta("citations_delta", { citation: {} }),
      text("a"),
    ],
    ["text 0 a"],
  ],
  "ignores an empty block": [[start(TEXT), stop(), stop(7)], []],
});

table({
  "takes arguments from the start when no delta brings any": [
    [start({ ...TOOL, input: { a: 1 } }), json(""), stop()],
    ["call 0 f #t", 'input 0 {"a":1}', "end 0"],
  ],
  "lets deltas outrank the start": [
    [start({ ...TOOL, input: { a: 1 } }), json('{"b":2}'), stop()],
    ["call 0 f #t", 'input 0 {"b":2}', "end 0"],
  ],
  "takes arguments of an unclosed call at the finish word": [
    [start({ ...TOOL, input: { a: 1 } }), end("tool_use")],
    ["call 0 f #t", 'input 0 {"a":1}', "stop tool_use (tool_use)"],
  ],
  "tells late arguments under their call": [
    [start(TOOL), json("{}"), stop(), json(" ")],
    ["call 0 f #t", "input 0 {}", "end 0", "input 0  "],
  ],
  "takes arguments without a call for those of one without name": [[json("{}", 4)], ["call 0 ? #?", "input 0 {}"]],
  "keeps vendor keys of a call": [
    [start({ ...TOOL, caller: { type: "direct" }, note: null })],
    ['call 0 f #t {"caller":{"type":"direct"}}'],
  ],
});

Deno.test("anthropicMessages.decoder completes vendor blocks by reference", () => {
  const decoder = (values: unknown[]) =>
    anthropicMessages.decoder({
      begin() {},
      end() {},
      opaque: (_key: unknown, value: unknown) => values.push(value),
    } as never);
  const values: unknown[] = [];
  const { take } = decoder(values);
  for (
    const told of [
      start({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      json('{"query":'),
      json('"y"}'),
      stop(),
      start({ type: "compaction", content: null }, 1),
      delta("compaction_delta", { content: "sum" }, 1),
      delta("compaction_delta", { content: "mary" }, 1),
      start({ type: "server_tool_use", id: "u", input: { kept: true } }, 2),
      json("{broken", 2),
      stop(2),
    ]
  ) take(told);
  assertEquals(values, [
    { type: "server_tool_use", id: "s", name: "web_search", input: { query: "y" } },
    { type: "compaction", content: "summary" },
    { type: "server_tool_use", id: "u", input: { kept: true } },
  ]);
});

table({
  "counts cached input as input": [
    [end(null, { input_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 1 })],
    ["usage inputTokens=115 outputTokens=1 cachedInputTokens=100"],
  ],
  "remembers cached input when a later report leaves it out": [
    [end(null, { input_tokens: 5, cache_read_input_tokens: 100 }), end(null, { input_tokens: 6, output_tokens: 2 })],
    ["usage inputTokens=105 cachedInputTokens=100", "usage inputTokens=106 outputTokens=2 cachedInputTokens=100"],
  ],
  "takes an input of 0 for no report": [[end(null, { input_tokens: 0, output_tokens: 0 })], ["usage outputTokens=0"]],
  "takes nulls for no report": [[end(null, { input_tokens: null, output_tokens: null }), end(null, null)], []],
});

table({
  "ends at message_stop without a finish word": [[start(TEXT), text("a"), end(null), DONE], [
    "text 0 a",
    "done",
  ]],
  "stops at [DONE] behind a finish word": [[end(), "[DONE]"], ["stop end_turn (end_turn)", "done"]],
  "takes [DONE] alone for nothing": [[text("a"), "[DONE]", text("b")], ["text 0 a", "text 0 b"]],
  "maps a full context to the output limit, with its own word": [
    [end("model_context_window_exceeded")],
    ["stop max_tokens (model_context_window_exceeded)"],
  ],
  "tells a pause": [[end("pause_turn")], ["stop pause_turn (pause_turn)"]],
  "ignores a message_start that comes twice": [
    [
      { type: "message_start", message: { id: "m", content: [TEXT] } },
      { type: "message_start", message: { id: "m" } },
      { type: "message_start", message: {} },
      text("a"),
    ],
    ["text 0 a"],
  ],
  "refuses a second message": [
    [{ type: "message_start", message: { id: "m" } }, { type: "message_start", message: { id: "n" } }],
    ["Cannot read the reply: it holds two replies"],
  ],
  "reads content in message_start": [
    [{
      type: "message_start",
      message: { id: "m", content: [{ type: "text", text: "a" }, { ...TOOL, input: { b: 1 } }] },
    }],
    ["text 0 a", "end 0", "call 1 f #t", 'input 1 {"b":1}', "end 1"],
  ],
  "fails at an error event": [
    [["error", '{"type":"error","error":{"type":"overloaded_error"}}']],
    ['fail "{\\"type\\":\\"error\\",\\"error\\":{\\"type\\":\\"overloaded_error\\"}}"'],
  ],
  "fails at an error without an event name": [
    [{ type: "error", error: { message: "m" } }],
    ['fail {"type":"error","error":{"message":"m"}}'],
  ],
  "hints at the dialect when OpenAI speaks": [
    [{ id: "x", choices: [{ delta: {} }] }],
    ["Cannot read the reply: it speaks another dialect"],
  ],
  "refuses text that is no string": [[start(TEXT), text({ a: 1 })], [
    "Cannot read the reply: a value has the wrong type",
  ]],
  "refuses arguments that are no string": [
    [start(TOOL), json(["x"])],
    ["call 0 f #t", "Cannot read the reply: a value has the wrong type"],
  ],
});

Deno.test("anthropicMessages.decoder survives odd values everywhere, and tells no sink anything but strings", () => {
  for (const v of [123, true, null, { a: 1 }, ["x"], -0, 1e400, "s", [], "text", "thinking"]) {
    for (
      const event of [
        { type: v },
        { type: "message_start", message: v },
        { type: "message_start", message: { id: v, model: v, content: v, usage: v, stop_reason: v } },
        { type: "message_start", message: { content: [v] } },
        start(v),
        start({ type: v, text: v, thinking: v, id: v }),
        start({ type: "text", text: v }, v),
        start({ type: "thinking", thinking: v, signature: v }, v),
        start({ type: "redacted_thinking", data: v }),
        start({ type: "tool_use", id: v, name: v, input: v }),
        { type: "content_block_delta", index: v, delta: v },
        delta("signature_delta", { signature: v }),
        delta("odd_delta", { x: v }),
        text(v),
        json(v),
        end(v, v),
        { type: "message_delta", delta: v, usage: { input_tokens: v, cache_read_input_tokens: v } },
      ]
    ) hear(anthropicMessages, [event, stop(), end()]);
  }
});

for (const index of [1.5, "0", "__proto__", {}, true, 2 ** 53, 1e308]) {
  Deno.test(`anthropicMessages.decoder refuses the index ${JSON.stringify(index)}`, () => {
    for (const event of [start(TEXT, index), text("a", index), stop(index)]) {
      assertEquals(hear(anthropicMessages, [event]), ["Cannot read the reply: a value has the wrong type"]);
    }
  });
}

Deno.test("anthropicMessages.decoder stays linear when many blocks stay open", () => {
  const events = Array.from({ length: 50_000 }, (_, i) => i % 2 ? end() : start(TEXT, i));
  assertEquals(hear(anthropicMessages, events).length, 25_000);
});

const REPLY = {
  type: "message",
  id: "m",
  content: [{ type: "thinking", thinking: "t", signature: "s" }, { type: "text", text: "a" }, {
    ...TOOL,
    input: { b: 1 },
  }],
  stop_reason: "tool_use",
  usage: { input_tokens: 5, output_tokens: 6 },
};
const HEARD = [
  "usage inputTokens=5 outputTokens=6",
  "thinking 0 t",
  "signature 0 s",
  "end 0",
  "text 1 a",
  "end 1",
  "call 2 f #t",
  'input 2 {"b":1}',
  "end 2",
  "stop tool_use (tool_use)",
];

Deno.test("anthropicMessages.decoder reads a reply in one document, also in an envelope or an event", () => {
  assertEquals(hearDocument(anthropicMessages, REPLY), [...HEARD, "true"]);
  assertEquals(hearDocument(anthropicMessages, { success: true, data: REPLY }), [...HEARD, "true"]);
  assertEquals(hear(anthropicMessages, [REPLY]), [...HEARD, "done"]);
});

Deno.test("anthropicMessages.decoder refuses documents that are no reply, and names the other dialect", () => {
  for (const value of [{}, { content: [] }]) assertEquals(hearDocument(anthropicMessages, value), ["undefined"]);
  assertEquals(hearDocument(anthropicMessages, { choices: [{}] }), [
    "Cannot read the reply: it speaks another dialect",
  ]);
  assertEquals(hearDocument(anthropicMessages, { error: { message: "m" } }), ['fail {"error":{"message":"m"}}']);
});
