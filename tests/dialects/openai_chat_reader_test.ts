/** What the OpenAI dialect says to chunks: one table a theme, one line a quirk. */
import { assertEquals } from "@std/assert";
import { openAiChat } from "../../src/dialects/openai_chat.ts";
import { hear, hearDocument, type Told } from "./recording_sink.ts";

type Json = Record<string, unknown>;

function delta(content: Json, finish: unknown = null, more: Json = {}): Json {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }], ...more };
}

function call(about: Json, args?: unknown, name?: unknown): Json {
  return delta({ tool_calls: [{ ...about, function: { ...(name !== undefined && { name }), arguments: args } }] });
}

function table(rows: Record<string, [events: Told[], expected: string[]]>): void {
  for (const [promise, [events, expected]] of Object.entries(rows)) {
    Deno.test(`openAiChat.decoder ${promise}`, () => assertEquals(hear(openAiChat, events), expected));
  }
}

table({
  "tells text, finish word and the usage behind it": [
    [delta({ role: "assistant", content: "" }), delta({ content: "a" }), delta({}, "stop"), {
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 2 } },
    }, "[DONE]"],
    ["text 0 a", "stop end_turn (stop)", "usage inputTokens=5 outputTokens=1 cachedInputTokens=2", "done"],
  ],
  "takes a padded [DONE] for the end": [[delta({ content: "a" }), " [DONE] "], ["text 0 a", "done"]],
  "reads several documents in one event": [
    [
      [delta({ content: "a" }), delta({}, "stop"), "[DONE]"].map((part) =>
        typeof part === "string" ? part : JSON.stringify(part)
      )
        .join("\n"),
    ],
    ["text 0 a", "stop end_turn (stop)", "done"],
  ],
  "passes over comments among the documents of an event": [
    [`${JSON.stringify(delta({ content: "a" }))}\n: ping\n\n${JSON.stringify(delta({ content: "b" }))}`],
    ["text 0 a", "text 0 b"],
  ],
  "marks an event that is no JSON, and takes what came before it on other lines": [
    [`${JSON.stringify(delta({ content: "a" }))}\n{"choices":[{"del`],
    ["text 0 a", "garbled"],
  ],
  "takes usage from choices and from x_groq": [
    [{ choices: [{ delta: {}, usage: { prompt_tokens: 1 } }] }, { x_groq: { usage: { completion_tokens: 2 } } }],
    ["usage inputTokens=1", "usage outputTokens=2"],
  ],
  "takes usage before the word of a failure, which ends the reply": [
    [delta({ content: "a" }, "error", { usage: { prompt_tokens: 1 } }), "[DONE]"],
    ["usage inputTokens=1", "text 0 a", 'fail "error"'],
  ],
  "takes usage of a choice before the word of a failure": [
    [{ choices: [{ delta: {}, finish_reason: "error", usage: { prompt_tokens: 1 } }] }, "[DONE]"],
    ["usage inputTokens=1", 'fail "error"'],
  ],
  "reports no usage where there is none": [
    [
      delta({}, null, { usage: null }),
      delta({}, null, { usage: {} }),
      delta({}, null, {
        usage: { prompt_tokens: null },
      }),
    ],
    [],
  ],
  "merges choices whatever their index": [
    [{ choices: [{ index: 7, delta: { content: "a" } }, { index: 9, delta: { content: "b" } }, null] }],
    ["text 0 a", "text 0 b"],
  ],
  "skips chunks without choices, and choices without delta": [
    [{ model: "m" }, { choices: null }, { choices: [{ delta: null, finish_reason: "" }] }, delta({ content: "z" })],
    ["text 0 z"],
  ],
  "reads a message in place of deltas": [
    [{ choices: [{ message: { role: "assistant", content: "whole" }, finish_reason: "stop" }] }],
    ["text 0 whole", "stop end_turn (stop)"],
  ],
  "ignores a message that repeats deltas": [
    [
      { choices: [{ delta: { content: "Ice" }, message: { content: "Ice" } }] },
      { choices: [{ message: { content: "Ice", reasoning: "r" }, finish_reason: "stop" }] },
    ],
    ["text 0 Ice", "stop end_turn (stop)"],
  ],
  "takes from a closing message the calls that were never streamed": [
    [delta({ content: "a" }), {
      choices: [{ message: { content: "a", tool_calls: [{ id: "c", function: { name: "f", arguments: "{}" } }] } }],
    }],
    ["text 0 a", "call 1 f #c", "input 1 {}"],
  ],
  "walks content that is a list": [
    [delta({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }, { type: "text", text: "m" }] },
        { type: "text", text: "a" },
        { type: "reference", reference_ids: [1] },
        "b",
      ],
    })],
    ["thinking 0 hm", "thinking 0 m", "text 1 a", "text 1 b"],
  ],
  "takes strings in a list for text": [[delta({ content: ["a", null, "b"] })], ["text 0 a", "text 0 b"]],
  "keeps a refusal as text and as the reason to stop": [
    [delta({ content: null, refusal: "I can't" }), delta({ refusal: "." }), delta({}, "stop")],
    ["text 0 I can't", "text 0 .", "stop refusal (stop)"],
  ],
});

table({
  "tells reasoning with its field, before the text of the same delta": [
    [delta({ content: "4", reasoning: "why" })],
    ["thinking 0 why <reasoning>", "text 1 4"],
  ],
  "takes the first of several fields that is not empty": [
    [delta({ reasoning_content: "", reasoning: "a", reasoning_text: "a" })],
    ["thinking 0 a <reasoning>"],
  ],
  "joins streamed reasoning records": [
    [
      delta({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "a" }] }),
      delta({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "b", signature: "s" }] }),
    ],
    [
      "thinking 0 a",
      'details 0 [{"type":"reasoning.text","index":0,"text":"a"}]',
      "thinking 0 b",
      'details 0 [{"type":"reasoning.text","index":0,"text":"ab","signature":"s"}]',
    ],
  ],
  "keeps encrypted records, and does not tell text twice": [
    [
      delta({ reasoning: "a", reasoning_details: [{ type: "reasoning.summary", summary: "a" }] }),
      delta({ content: "b" }),
      delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] }),
    ],
    [
      "thinking 0 a <reasoning>",
      'details 0 [{"type":"reasoning.summary","summary":"a"}]',
      "text 1 b",
      'details 0 [{"type":"reasoning.summary","summary":"a"},{"type":"reasoning.encrypted","data":"x"}]',
    ],
  ],
  "keeps all records of a reply in one list": [
    [
      delta({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "a" }] }),
      delta({ content: "b" }),
      delta({ reasoning_details: [{ type: "reasoning.text", index: 1, text: "c" }] }),
    ],
    [
      "thinking 0 a",
      'details 0 [{"type":"reasoning.text","index":0,"text":"a"}]',
      "text 1 b",
      "thinking 0 c",
      'details 0 [{"type":"reasoning.text","index":0,"text":"a"},{"type":"reasoning.text","index":1,"text":"c"}]',
    ],
  ],
});

for (
  const [word, reason] of [
    ["stop", "end_turn"],
    ["eos_token", "end_turn"],
    ["END_TURN", "end_turn"],
    ["length", "max_tokens"],
    ["model_length", "max_tokens"],
    ["MAX_TOKENS", "max_tokens"],
    ["content_filter", "refusal"],
    ["sensitive", "refusal"],
    ["function_call", "tool_use"],
    ["stop_sequence", "stop_sequence"],
    ["cosmic_ray", "other"],
    ["constructor", "other"],
  ]
) {
  Deno.test(`openAiChat.decoder takes the finish word ${word} for ${reason}`, () => {
    assertEquals(hear(openAiChat, [delta({}, word)]), [`stop ${reason} (${word})`]);
  });
}

table({
  "reads the content beside a finish word first": [
    [delta({ content: "!" }, "stop")],
    ["text 0 !", "stop end_turn (stop)"],
  ],
  "fails at a failure word": [[delta({}, "abort")], ['fail "abort"']],
  "prefers the error of a choice to its failure word": [
    [{ choices: [{ delta: {}, finish_reason: "error", error: { message: "down" } }] }],
    ['fail {"delta":{},"finish_reason":"error","error":{"message":"down"}}'],
  ],
});

table({
  "fails at an error in any shape": [[{ error: "stopped" }], ['fail {"error":"stopped"}']],
  "fails at an error beside choices": [
    [{ choices: [], error: { code: 400 } }],
    ['fail {"choices":[],"error":{"code":400}}'],
  ],
  "fails at an error event, whatever its data": [[["error", "timed out"]], ['fail "timed out"']],
  "fails at an error in a list": [['[{"error":{"code":1}}]'], ['fail [{"error":{"code":1}}]']],
  "fails at flat errors": [[{ error_message: "m" }], ['fail {"error_message":"m"}']],
  "fails at a detail": [[{ detail: "dead" }], ['fail {"detail":"dead"}']],
  "fails at an error object": [[{ object: "error", message: "m" }], ['fail {"object":"error","message":"m"}']],
  "takes empty errors for none": [
    [delta({ content: "a" }, null, { error: null }), delta({}, null, { error: {} }), delta({}, null, { error: "" })],
    ["text 0 a"],
  ],
  "hints at the dialect when Anthropic speaks": [
    [{ type: "message_start", message: {} }],
    ["Cannot read the reply: it speaks another dialect"],
  ],
  "hints at the dialect when Responses speaks": [
    [{ type: "response.created", response: {} }],
    ["Cannot read the reply: it speaks another dialect"],
  ],
});

for (const odd of [123, true, { a: 1 }]) {
  for (const key of ["content", "tool_calls"]) {
    Deno.test(`openAiChat.decoder refuses ${JSON.stringify(odd)} as ${key}`, () => {
      assertEquals(hear(openAiChat, [delta({ [key]: odd })]), [
        "Cannot read the reply: a value has the wrong type",
      ]);
    });
  }
}

Deno.test("openAiChat.decoder passes over a code that is no number and cannot become one", () => {
  for (const key of ["code", "status"]) {
    assertEquals(hear(openAiChat, [JSON.stringify({ [key]: { toString: 1, valueOf: 1 } })]), []);
  }
});

for (const odd of [null, 1, "text", [], true]) {
  Deno.test(`openAiChat.decoder refuses the event ${JSON.stringify(odd)}`, () => {
    assertEquals(hear(openAiChat, [JSON.stringify(odd)]), ["Cannot read the reply: a value has the wrong type"]);
  });
}

Deno.test("openAiChat.decoder survives odd values everywhere, and tells no sink anything but strings", () => {
  for (const v of [123, true, null, { a: 1 }, ["x"], [{ type: "text", text: "t" }], -0, 1e400, "s", []]) {
    for (
      const chunk of [
        delta({ role: v, reasoning_content: v, reasoning: v, refusal: v, reasoning_details: v }, null, {
          usage: v,
          x_groq: v,
        }),
        { id: v, model: v, choices: v },
        { choices: [v] },
        { choices: [{ delta: v, message: v, usage: v, error: v }] },
        delta({}, v),
        delta({ function_call: v }),
        delta({ tool_calls: [v] }),
        call({ index: v, id: v, type: v }, v, v),
        delta({ tool_calls: [{ index: v, id: v, function: v }] }),
        delta({ reasoning_details: [v, { type: v, text: v, summary: v, index: v }] }),
        delta({ content: [v, { type: "text", text: v }, { type: "thinking", thinking: v }] }),
      ]
    ) hear(openAiChat, [chunk as Json]);
  }
});

Deno.test("openAiChat.decoder reads a reply in one document, also in an envelope", () => {
  const reply = {
    id: "x",
    choices: [{
      message: { content: "hi", tool_calls: [{ id: "c", function: { name: "f", arguments: "{}" } }] },
      finish_reason: "tool_calls",
    }],
    usage: { prompt_tokens: 3 },
  };
  const expected = [
    "usage inputTokens=3",
    "text 0 hi",
    "call 1 f #c",
    "input 1 {}",
    "stop tool_use (tool_calls)",
    "true",
  ];
  assertEquals(hearDocument(openAiChat, reply), expected);
  assertEquals(hearDocument(openAiChat, { data: reply, success: true }), expected);
});

Deno.test("openAiChat.decoder tells documents that are nothing of its own", () => {
  for (const value of [{}, { choices: [] }, { data: {} }, { choices: [], usage: { prompt_tokens: 1 } }]) {
    assertEquals(hearDocument(openAiChat, value), ["undefined"]);
  }
});

Deno.test("openAiChat.decoder fails at a document that is an error", () => {
  assertEquals(hearDocument(openAiChat, { error: "no such path" }), ['fail {"error":"no such path"}']);
  assertEquals(hearDocument(openAiChat, { detail: "gone" }), ['fail {"detail":"gone"}']);
  assertEquals(hearDocument(openAiChat, [{ error: { code: 1 } }]), ['fail [{"error":{"code":1}}]']);
});

Deno.test("openAiChat.decoder hints at the dialect when a document is Anthropic's", () => {
  assertEquals(hearDocument(openAiChat, { type: "message", content: [] }), [
    "Cannot read the reply: it speaks another dialect",
  ]);
});
