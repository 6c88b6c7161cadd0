/**
 * Attacks by shape: replies that are valid to the parser and absurd.
 * @module
 */
import { type Answer, type Asked, type Attack, type Piece, says } from "./endpoint.ts";
import { between, block, call, calls, chain, event, isOpenAi, KiB, reply, textDelta } from "./wording.ts";

/** Every trick that a terminal might fall for, between two words that a safe program still shows. */
export const ESCAPES = [
  "safe-start",
  "\x1b[31mred\x1b[0m",
  "\x1b[2J\x1b[H\x1b[9A\x1b[2K",
  "\x1b]0;title\x07\x1b]52;c;Y3Vyc2U=\x07\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\",
  "\x1b]1337;File=inline=1:AAAA\x07\x1bP+q544e\x1b\\\x1b_Gf=100;AAAA\x1b\\",
  "\x1b[6n\x1b[c\x1bc\x1b[?1049h\x1b[?1000h\x1b[?2004h",
  "\u009b31m\u009d0;c1\u009c\u0090c1\u009c",
  "a\b\bz over\rwritten\x07\x0e\x0f\x7f\0",
  "\u202egnp.exe\u202c\u2066i\u2069\u200f\u061c",
  "\u{e0068}\u{e0069} zero\u200bwidth\u2060join\ufeff line\u2028para\u2029",
  "\x1b]unended safe-end",
].join(" ");

/** Values of every kind but the one that is due. */
const ODD = [123, true, null, { a: 1 }, ["x"], [{ type: "text", text: "in a part" }], -0, 1e300];

/** What arguments must not be. */
export const BAD_ARGUMENTS = ["not json", '{"unclosed":"', "[1,2]", "5", '"str"', '{"n":NaN}', '{"a":1}{"b":2}'];

/** Token counts that are none; the first is beyond what a number can be. */
const LIES = ["1e999", "-1", "-1e300", "1e300", "0.5", '"9"', "null", "[1]"];

function usage(asked: Asked, count: string): string {
  const text = isOpenAi(asked)
    ? event({ choices: [], usage: { prompt_tokens: "@", completion_tokens: "@", total_tokens: "@" } })
    : event({ type: "message_delta", delta: {}, usage: { input_tokens: "@", output_tokens: "@" } });
  return text.replaceAll('"@"', count);
}

/** Replies of odd shapes. */
export const SHAPES: Record<string, Attack> = {
  "huge-event": {
    does: "one valid event of 64 MiB",
    answer(asked) {
      const [before, after] = textDelta(asked, "");
      const body = Array(asked.scale(64) * 16).fill("A".repeat(64 * KiB));
      return { body: between(asked, [before, ...body, after]) };
    },
  },
  "million-blocks": {
    does: "a million blocks",
    answer: (asked) => ({
      body: chain(
        asked.writer.events({ parts: [], end: "cut" }),
        blocks(asked, asked.scale(1_000_000)),
        reply(asked, []),
      ),
    }),
  },
  "sparse-index": {
    does: "indices that are no small numbers",
    answer(asked) {
      const indices = [1e9, 4294967294, -1, 1.5, "0", "__proto__", null, 9007199254740993, 1e300];
      const odd = indices.map((index, i) => oddBlock(asked, index, `call_${i}`)).join("");
      return { body: between(asked, [odd]) };
    },
  },
  "sparse-index-integers": {
    does: "indices that are integers, far apart",
    answer(asked) {
      const odd = [1e9, 4294967294, -1, 0].map((index, i) => oddBlock(asked, index, `call_${i}`)).join("");
      return asked.nth > 0 ? says(asked, "tool done") : { body: between(asked, [odd]) };
    },
  },
  "10k-tool-calls": {
    does: "ten thousand calls in one reply",
    answer: (asked) =>
      calls(asked, ...Array.from({ length: asked.scale(10_000) }, (_, i) => call(asked.tool, "{}", `c${i}`))),
  },
  "33-tool-calls": {
    does: "one call more than a reply may have",
    answer: (asked) => calls(asked, ...Array.from({ length: 33 }, (_, i) => call(asked.tool, "{}", `c${i}`))),
  },
  "infinite-tool-loop": {
    does: "every reply is one more call",
    answer: (asked) => calls(asked, call(asked.tool, "{}", `call_${asked.nth}`)),
  },
  "duplicate-ids": {
    does: "two calls with one id, and one without",
    answer: (asked) =>
      calls(asked, ...["call_same", "call_same", ""].map((id, n) => call(asked.tool, `{"n":${n}}`, id))),
  },
  "deep-json-args": {
    does: "arguments 20,000 levels deep",
    answer(asked) {
      const depth = asked.scale(20_000);
      return calls(asked, call(asked.tool, '{"a":'.repeat(depth) + "1" + "}".repeat(depth)));
    },
  },
  "deep-json-event": {
    does: "an event 20,000 levels deep",
    answer(asked) {
      const deep = "[".repeat(asked.scale(20_000)) + "]".repeat(asked.scale(20_000));
      return { body: between(asked, [textDelta(asked, '"').join("").replace('""', deep)]) };
    },
  },
  "proto-pollution-args": {
    does: "__proto__ and constructor in arguments, and names of tools that every object has",
    answer: (asked) =>
      calls(
        asked,
        call(
          asked.tool,
          '{"__proto__":{"polluted":"yes","toJSON":null},"constructor":{"prototype":{"polluted":"yes"}}}',
        ),
        call("__proto__", "{}", "__proto__"),
        call("constructor", "{}", "constructor"),
        call("toString", "{}", "hasOwnProperty"),
      ),
  },
  "tool-name-injection": {
    does: "names of tools that are shell, path, long; an id that is long",
    answer: (asked) =>
      calls(
        asked,
        call("rm -rf /; \x1b]0;pwn\x07", "{}", "call_1"),
        call("N".repeat(asked.scale(64) * KiB), "{}", "call_2"),
        call("../../etc/passwd", "{}", "call_3"),
        call("no_such_tool", "{}", "I".repeat(asked.scale(64) * KiB)),
      ),
  },
  "tool-without-name": { does: "a call without a name", answer: (asked) => calls(asked, call("", "{}")) },
  "bad-tool-args": {
    does: "arguments that are no JSON object, or two",
    answer: (asked) =>
      calls(
        asked,
        ...BAD_ARGUMENTS.map((text, i) => call(asked.tool, text, `c${i}`)),
        call(asked.tool, "null", "none"),
      ),
  },
  "usage-lies": {
    does: "token counts below zero, beyond all numbers, and in parts",
    answer: (asked) => ({
      body: [...LIES.map((count) => usage(asked, count)), reply(asked, [{ text: ["all good"] }])],
    }),
  },
  "length-with-tool": {
    does: "a call cut by the output limit",
    answer: (asked) => ({
      body: reply(asked, [call(asked.tool, '{"path":"/data/x","content":"half of')], "max_tokens"),
    }),
  },
  "non-string-fields": {
    does: "values of every other kind",
    answer: (asked) => ({ body: ODD.flatMap((v) => odd(asked, v)) }),
  },
  "non-object-events": {
    does: "events that are no objects, then a valid reply",
    answer(asked) {
      const data = [
        "null",
        "1",
        '"str"',
        "[]",
        "true",
        "{}",
        "",
        " ",
        "{",
        "}{",
        "undefined",
        "[DONE",
        "data: {}",
        "\0",
      ];
      return { body: chain(data.map((text) => event(text)), reply(asked, [{ text: ["survived"] }])) };
    },
  },
  "out-of-order": {
    does: "deltas without a start, two starts, events behind the end",
    answer: (asked) => disorder(asked),
  },
  "think-redos": {
    does: "100,000 opened think tags and 50,000 broken closers",
    answer(asked) {
      const text = "<think>".repeat(asked.scale(100_000)) + " </thin".repeat(asked.scale(100_000) / 2);
      return { body: reply(asked, [{ text: text.match(/[^]{1,8192}/g)! }]) };
    },
  },
  "json-redos": {
    does: "150,000 opened objects",
    answer: (asked) => ({
      body: reply(asked, [{ text: '{"a":'.repeat(asked.scale(150_000)).match(/[^]{1,8192}/g)! }]),
    }),
  },
  "escape-injection": {
    does: "text and reasoning made of terminal escapes, a character a delta",
    answer: (asked) => ({ body: reply(asked, [{ thinking: [...ESCAPES] }, { text: [...ESCAPES] }]) }),
  },
};

function* blocks(asked: Asked, count: number): Iterable<Piece> {
  for (let i = 0; i < count; i += 1000) {
    let batch = "";
    for (let n = i; n < Math.min(i + 1000, count); n++) {
      batch += isOpenAi(asked)
        ? event({ choices: [{ delta: n % 2 ? { content: "x" } : { reasoning_content: "y" } }] })
        : event(block("start", n, { content_block: { type: "text", text: "x" } })) + event(block("stop", n));
    }
    yield batch;
  }
}

function oddBlock(asked: Asked, index: unknown, id: string): string {
  if (!isOpenAi(asked)) {
    return event(block("start", index, { content_block: { type: "text", text: "x" } })) + event(block("stop", index));
  }
  const named = { index, id, type: "function", function: { name: asked.tool, arguments: "{}" } };
  return event({ choices: [{ index: 0, delta: { tool_calls: [named] } }] });
}

function odd(asked: Asked, v: unknown): string[] {
  const json = isOpenAi(asked)
    ? [
      {
        choices: [{ index: 0, delta: { role: v, content: v, reasoning_content: v, tool_calls: v }, finish_reason: v }],
        usage: v,
      },
      { choices: [{ index: v, delta: { tool_calls: [v, { index: v, id: v, function: { name: v, arguments: v } }] } }] },
      { choices: v },
      { choices: [v] },
      { choices: [{ index: 0, delta: v }] },
    ]
    : [
      { type: "message_start", message: v },
      block("start", 0, { content_block: v }),
      block("start", 1, { content_block: { type: "tool_use", id: v, name: v, input: v } }),
      block("delta", 0, { delta: v }),
      block("delta", 0, { delta: { type: "text_delta", text: v } }),
      { type: "message_delta", delta: v, usage: v },
      { type: v },
    ];
  return json.map((one) => event(one));
}

function disorder(asked: Asked): Answer {
  if (!isOpenAi(asked)) {
    const begin = asked.writer.events({ parts: [], end: "cut" });
    const text = { content_block: { type: "text", text: "" } };
    const events = [
      block("delta", 5, { delta: { type: "text_delta", text: "no start" } }),
      block("stop", 9),
      block("start", 0, text),
      block("start", 0, text),
      block("delta", 0, { delta: { type: "input_json_delta", partial_json: "{}" } }),
      { type: "message_stop" },
    ];
    return { body: chain(event(events[0]), event(events[1]), begin, events.slice(2).map((one) => event(one)), begin) };
  }
  const delta = (call: object, fn: object) => ({ tool_calls: [{ ...call, function: fn }] });
  const deltas = [
    delta({ index: 0 }, { arguments: '{"a"' }),
    delta({ index: 1, id: "b" }, { name: asked.tool, arguments: "{" }),
    delta({ index: 0, id: "a" }, { name: asked.tool, arguments: ":1}" }),
    delta({ index: 1 }, { arguments: "}" }),
  ];
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason }] });
  return {
    body: [
      ...deltas.map((one) => chunk(one)),
      chunk({}, "stop"),
      chunk({ content: "after finish" }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ],
  };
}
