/**
 * Wire cases of our own: the neighbours of each OpenAI quirk, which the given cases do not hold.
 * @module
 */
import type { WireCase } from "../support/wire_case.ts";
import {
  call,
  chunk,
  data,
  DONE,
  error,
  finish,
  message,
  ownCases,
  say,
  text,
  thought,
  toolDelta,
  wholeCall,
} from "./own_build.ts";

const own = ownCases("openai");

const HI = [say("Grüße 你好 👋"), finish()];
const HI_MEANS = message("end_turn", text("Grüße 你好 👋"));
const HALF = [say("half"), say(" an answer")];
const cutShort = error("truncated", { retryable: true, partial: [text("half an answer")] });
const OSLO = '{"city":"Oslo"}';
const oslo = message("tool_use", call("call_1", "weather", { city: "Oslo" }));

function reframed(chunks: string[], change: (text: string) => string): string[] {
  return chunks.map(change);
}

const framing: WireCase[] = [
  own("crlf", "S-03", reframed(HI, (t) => t.replaceAll("\n", "\r\n")), HI_MEANS),
  own("lone-cr-no-final-blank", "S-03 S-09", [HI.join("").replaceAll("\n", "\r").trimEnd()], HI_MEANS),
  own("bom", "S-05", ["\ufeff" + HI[0], HI[1]!], HI_MEANS),
  own("bom-inside-is-text", "S-05", [say("a\ufeffb"), finish()], message("end_turn", text("a\ufeffb"))),
  own(
    "comments-inside-an-event",
    "S-06",
    [": OPENROUTER PROCESSING\n\n:\n\n", HI[0]!.replace("data: ", "id: 7\n: ping - now\ndata: "), ": x\n", HI[1]!],
    HI_MEANS,
  ),
  own("no-space-after-colon", "S-10", reframed(HI, (t) => t.replaceAll("data: ", "data:")), HI_MEANS),
  own("padded-done", "S-10 O-39", [say("x"), "data: [DONE] \n\n"], message("end_turn", text("x"))),
  own(
    "final-event-one-newline",
    "S-09",
    [say("x"), chunk({}, "stop").trimEnd() + "\n"],
    message("end_turn", text("x")),
  ),
  own("field-without-colon", "S-11", ["data\n\n", "retry: 10\nfoo\n", ...HI], HI_MEANS),
  own("blank-data", "S-08", ["data:  \n\n", "event: ping\ndata:\n\n", ...HI], HI_MEANS),
  own("json-over-lines", "S-12", [
    'data: {"choices":\ndata:   [{"index":0,\ndata: "delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
    DONE,
  ], message("end_turn", text("x"))),
  own(
    "lines-one-of-them-broken",
    "S-13",
    ['data: {"choices":[{"delta":{"content":"a"}}]}\ndata: {"choi\n\n', DONE],
    error("protocol"),
    {
      alternatives: [error("truncated")],
    },
  ),
  own(
    "ndjson-of-ollama",
    "S-14 H-20",
    [
      '{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}\n',
      '{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n',
    ],
    error("not_sse"),
    { headers: { "content-type": "application/x-ndjson" } },
  ),
  own("surrogate-pair-as-escapes", "S-16", [
    'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d\\ude80"}}]}\n\n',
    finish(),
  ], message("end_turn", text("🚀"))),
  own("surrogate-split-over-blocks", "S-16", [
    'data: {"choices":[{"index":0,"delta":{"reasoning":"\\ud83d"}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{"content":"\\ude80"}}]}\n\n',
    finish(),
  ], message("end_turn", thought("\ufffd"), text("\ufffd"))),
  own(
    "control-characters",
    "S-17",
    [say("a\u0000\u001b[31m\u2028b"), finish()],
    message("end_turn", text("a\u0000\u001b[31m\u2028b")),
  ),
  own("text-plain", "S-20", HI, HI_MEANS, { headers: { "content-type": "text/plain" } }),
  own("latin1-label", "S-20", HI, HI_MEANS, { headers: { "content-type": "text/event-stream; charset=iso-8859-1" } }),
  own("blanks-before-the-first-event", "S-18", ["\n\n  \n", ...HI], HI_MEANS),
];

const COMPLETION = {
  id: "c1",
  object: "chat.completion",
  model: "syn-model",
  choices: [{
    index: 0,
    finish_reason: "stop",
    message: { role: "assistant", content: "Whole.", reasoning_content: "w" },
  }],
  usage: { prompt_tokens: 4, completion_tokens: 2 },
};
const whole = message("end_turn", thought("w"), text("Whole."));
const JSON_TYPE = { headers: { "content-type": "application/json" } };

const documents: WireCase[] = [
  own(
    "json-reply",
    "S-18",
    JSON.stringify(COMPLETION),
    { ...whole, usage: { input: 4, output: 2 } } as typeof whole,
    JSON_TYPE,
  ),
  own("json-reply-pretty", "S-18", "\n " + JSON.stringify(COMPLETION, null, 2) + "\n", whole, JSON_TYPE),
  own(
    "json-reply-with-calls",
    "S-18",
    JSON.stringify({
      ...COMPLETION,
      choices: [{
        index: 0,
        finish_reason: "tool_calls",
        message: { content: null, tool_calls: [wholeCall("call_1", "weather", OSLO)] },
      }],
    }),
    oslo,
    JSON_TYPE,
  ),
  own("json-reply-in-envelope", "S-18", JSON.stringify({ success: true, data: COMPLETION }), whole, JSON_TYPE),
  own("json-reply-and-done", "S-18", [JSON.stringify(COMPLETION), "\n\n" + DONE], whole),
  own(
    "json-error-200",
    "S-18 O-85",
    '{"error":{"message":"model is gone","code":503}}',
    error("stream", { retryable: true, mentions: ["model is gone"] }),
    JSON_TYPE,
  ),
  own(
    "json-error-string-200",
    "S-18 O-85",
    '{"code":"bad","error":"no credits"}',
    error("stream", { mentions: ["no credits"] }),
    JSON_TYPE,
  ),
  own("json-cut", "S-18 H-12", JSON.stringify(COMPLETION).slice(0, 90), error("not_sse"), {
    ...JSON_TYPE,
    alternatives: [error("truncated")],
  }),
  own("json-of-no-reply", "S-18", '{"hello":"world"}', error("not_sse"), JSON_TYPE),
  own("json-array", "S-18", "[]", error("not_sse"), JSON_TYPE),
  own(
    "json-too-large",
    "S-18 H-17",
    [{ repeat: " ", times: 9000 }, JSON.stringify(COMPLETION)],
    error("too_large", { retryable: false }),
    { ...JSON_TYPE, options: { max_response_bytes: 8192 } },
  ),
  own(
    "html-behind-blanks",
    "S-19",
    "\n\n  <!doctype html><html><body>Sign in</body></html>",
    error("not_sse", { never_mentions: ["Sign in"] }),
    { headers: { "content-type": "text/html" } },
  ),
  own("html-labelled-as-events", "S-19", "<html>no</html>", error("not_sse"), {}),
];

const ends: WireCase[] = [
  own("done-twice-and-garbage", "O-32", [...HI, DONE, 'data: {"broken\n\n', "not sse"], HI_MEANS),
  own("reset-after-done", "O-32 H-12", [...HI, { abort: true }], HI_MEANS),
  own("held-open-after-done", "O-32", [...HI, { delay_ms: 3000 }], HI_MEANS, { max_ms: 1500 }),
  own(
    "reset-after-finish",
    "O-31 H-12",
    [say("x"), chunk({}, "stop"), { abort: true }],
    message("end_turn", text("x")),
  ),
  own(
    "stall-after-finish",
    "O-31 H-13",
    [say("x"), chunk({}, "stop"), { delay_ms: 3000 }],
    message("end_turn", text("x")),
    { options: { idle_timeout_ms: 200 }, max_ms: 2500 },
  ),
  own(
    "error-after-finish",
    "O-84",
    [say("x"), chunk({}, "stop"), data({ error: { message: "late trouble" } }), DONE],
    error("stream", { mentions: ["late trouble"] }),
  ),
  own("garbage-after-finish", "O-89", [say("x"), chunk({}, "stop"), "data: {broken\n\n", DONE], error("protocol"), {
    alternatives: [message("end_turn", text("x"))],
  }),
  own("finish-without-content", "O-42", finish(), message("end_turn")),
  own("done-after-empty-choice", "O-39", [chunk({ role: "assistant", content: "" }), DONE], message("end_turn"), {
    alternatives: [error("protocol")],
  }),
  own(
    "usage-and-done-only",
    "O-41",
    [data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 0 } }), DONE],
    error("protocol", { retryable: true }),
  ),
  own("comments-and-done", "O-41", [": hi\n\n", DONE], error("protocol", { retryable: true })),
  own("content-length-zero", "O-41", [], error("truncated", { retryable: true }), {
    headers: { "content-type": "text/event-stream", "content-length": "0" },
  }),
  own("status-204", "O-41", [], error("truncated", { retryable: true }), {
    status: 204,
    headers: {},
    alternatives: [error("protocol", { retryable: true })],
  }),
  own("reset-inside-an-event", "H-12", [...HALF, 'data: {"choices":[{"del', { abort: true }], cutShort),
  own("reset-inside-arguments", "H-12 O-66", [toolDelta({ index: 0, ...wholeCall("call_1", "weather", '{"city":') }), {
    abort: true,
  }], error("truncated", { retryable: true })),
  own("reset-behind-a-complete-call", "H-12 O-40", [toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }), {
    abort: true,
  }], error("truncated", { retryable: true })),
  own(
    "eof-behind-a-complete-call",
    "O-40",
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }),
    error("truncated", { retryable: true }),
  ),
  own(
    "stall",
    "H-13",
    [...HALF, { delay_ms: 3000 }],
    error("timeout", { retryable: true, partial: [text("half an answer")] }),
    { options: { idle_timeout_ms: 200 }, max_ms: 2500 },
  ),
  own("done-inside-arguments", "O-39 O-66", [
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", '{"city":"Os') }),
    DONE,
  ], error("truncated", { retryable: true })),
  own("done-behind-a-complete-call", "O-39 O-60", [
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }),
    DONE,
  ], oslo),
  own(
    "gzip",
    "H-14",
    [{
      b64:
        "H4sIAAAAAAACA0tJLEm0UqhWSs7Iz0xOLVayiq5WSknNKUlUsgIK5ueVpOaVKFkpVSjV6iilZeZlFmfEF6UmFufnAQWLS/ILlGpja7m4UsCmRLv4+7nGcnEBAONesC1UAAAA",
    }],
    message("end_turn", text("x")),
    { headers: { "content-type": "text/event-stream", "content-encoding": "gzip" } },
  ),
  own("unknown-encoding", "H-14", ["whatever"], error("protocol"), {
    headers: { "content-type": "text/event-stream", "content-encoding": "zstd" },
  }),
  own("gzip-that-is-none", "H-14", HI, error("protocol"), {
    headers: { "content-type": "text/event-stream", "content-encoding": "gzip" },
    alternatives: [error("truncated")],
  }),
  own(
    "endless-comments",
    "H-17 S-06",
    [{ repeat: ": still here\n\n", times: 1000 }],
    error("too_large", { retryable: false }),
    { options: { max_response_bytes: 8192 } },
  ),
  own("endless-line", "H-17", ["data: ", { repeat: "x", times: 20000 }], error("too_large", { retryable: false }), {
    options: { max_response_bytes: 8192 },
  }),
];

const finishes: WireCase[] = [
  ...([
    ["eos", "end_turn"],
    ["eos_token", "end_turn"],
    ["end_turn", "end_turn"],
    ["end", "end_turn"],
    ["model_length", "max_tokens"],
    ["max_tokens", "max_tokens"],
    ["length", "max_tokens"],
    ["sensitive", "refusal"],
    ["content_filter", "refusal"],
    ["refusal", "refusal"],
  ] as const).map(([word, stop]) => own(`finish-${word}`, "O-36", [say("x"), finish(word)], message(stop, text("x")))),
  ...["abort", "error", "network_error", "insufficient_system_resource"].map((word) =>
    own(
      `finish-${word}`,
      "O-37",
      [say("half an"), finish(word)],
      error("stream", { retryable: true, partial: [text("half an")] }),
    )
  ),
  own("finish-stop-then-tool-calls", "O-35", [
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }),
    chunk({}, "stop"),
    finish("tool_calls"),
  ], oslo),
  own(
    "finish-stop-then-length",
    "O-35",
    [say("x"), chunk({}, "stop"), finish("length")],
    message("max_tokens", text("x")),
    { alternatives: [message("end_turn", text("x"))] },
  ),
  own("finish-stop-with-calls", "O-60", [
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }),
    finish("stop"),
  ], oslo),
  own(
    "finish-filter-with-calls",
    "O-60 O-36",
    [toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }), finish("content_filter")],
    message("refusal", call("call_1", "weather", { city: "Oslo" })),
    { alternatives: [message("refusal")] },
  ),
  own(
    "finish-length-inside-arguments",
    "O-66",
    [toolDelta({ index: 0, ...wholeCall("call_1", "weather", '{"city":"Os') }), finish("length")],
    message("max_tokens", { type: "tool_use", id: "call_1", name: "weather", invalid_input: '{"city":"Os' }),
    { alternatives: [message("max_tokens")] },
  ),
  own("finish-length-before-the-name", "O-66 O-63", [
    say("x"),
    toolDelta({ index: 0, id: "call_1", function: { arguments: "" } }),
    finish("length"),
  ], message("max_tokens", text("x"))),
  own(
    "finish-null-word-text",
    "O-33",
    [chunk({ content: "a" }, ""), chunk({ content: "b" }, ""), finish()],
    message("end_turn", text("ab")),
  ),
  own("usage-in-x_groq", "O-44", [
    say("k"),
    chunk({}, "stop", { x_groq: { usage: { prompt_tokens: 6, completion_tokens: 1 } } }),
    DONE,
  ], { ...message("end_turn", text("k")), usage: { input: 6, output: 1 } } as ReturnType<typeof message>),
  own("usage-as-strings", "O-45", [
    say("k"),
    chunk({}, "stop", { usage: { prompt_tokens: "6", completion_tokens: null } }),
    DONE,
  ], message("end_turn", text("k"))),
  own("usage-before-the-end", "O-30", [
    say("k"),
    chunk({}, "stop", { usage: { prompt_tokens: 6, completion_tokens: 1 } }),
    data({ choices: [], usage: null }),
    DONE,
  ], { ...message("end_turn", text("k")), usage: { input: 6, output: 1 } } as ReturnType<typeof message>),
];

const shapes: WireCase[] = [
  own("message-instead-of-delta", "O-10", [
    data({ choices: [{ index: 0, message: { role: "assistant", content: "late" }, finish_reason: "stop" }] }),
    DONE,
  ], message("end_turn", text("late"))),
  own("message-with-calls-instead-of-delta", "O-10", [
    data({
      choices: [{
        index: 0,
        message: { content: null, tool_calls: [wholeCall("call_1", "weather", OSLO)] },
        finish_reason: "tool_calls",
      }],
    }),
    DONE,
  ], oslo),
  own("closing-message-with-calls", "O-11", [
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", OSLO) }),
    data({
      object: "chat.completion",
      choices: [{
        index: 0,
        message: { content: "", tool_calls: [wholeCall("call_1", "weather", OSLO)] },
        finish_reason: "tool_calls",
      }],
    }),
    DONE,
  ], oslo),
  own("content-array-thinking", "O-12", [
    chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
    chunk({ content: [{ type: "text", text: "so" }] }),
    finish(),
  ], message("end_turn", thought("hm"), text("so"))),
  own(
    "content-array-of-strings",
    "O-12",
    [chunk({ content: ["a", { type: "text", text: "b" }, null, 7] }), finish()],
    message("end_turn", text("b")),
    { alternatives: [message("end_turn", text("ab")), error("protocol")] },
  ),
  own("content-is-a-number", "O-12", [chunk({ content: 7 }), say("x"), finish()], message("end_turn", text("x")), {
    alternatives: [error("protocol")],
  }),
  own("choices-null-with-usage", "O-07", [
    say("x"),
    data({ choices: null, usage: { prompt_tokens: 2, completion_tokens: 1 } }),
    finish(),
  ], { ...message("end_turn", text("x")), usage: { input: 2, output: 1 } } as ReturnType<typeof message>),
  own("choice-is-null", "O-08", [data({ choices: [null] }), say("x"), finish()], message("end_turn", text("x"))),
  own("delta-is-null", "O-08", [
    data({ choices: [{ index: 0, delta: null, finish_reason: null }] }),
    say("x"),
    finish(),
  ], message("end_turn", text("x"))),
  own(
    "reasoning-field",
    "O-21",
    [chunk({ reasoning: "hm" }), say("so"), finish()],
    message("end_turn", thought("hm"), text("so")),
  ),
  own(
    "thinking-field",
    "O-22",
    [chunk({ thinking: "hm" }), say("so"), finish()],
    message("end_turn", thought("hm"), text("so")),
  ),
  own("reasoning-and-details", "O-22 O-23", [
    chunk({ reasoning: "hm", reasoning_details: [{ type: "reasoning.text", text: "hm", index: 0 }] }),
    say("so"),
    finish(),
  ], message("end_turn", thought("hm"), text("so"))),
  own("details-summary", "O-23", [
    chunk({ reasoning_details: [{ type: "reasoning.summary", summary: "short" }] }),
    say("so"),
    finish(),
  ], message("end_turn", thought("short"), text("so"))),
  own(
    "details-encrypted",
    "O-23",
    [chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "ZZZ" }] }), say("so"), finish()],
    message("end_turn", thought(""), text("so")),
    { alternatives: [message("end_turn", text("so"))] },
  ),
  own("two-fields-take-turns", "O-22", [
    chunk({ reasoning: "a", reasoning_content: "a" }),
    chunk({ reasoning: "b", reasoning_content: "" }),
    say("so"),
    finish(),
  ], message("end_turn", thought("ab"), text("so"))),
  own(
    "reasoning-is-an-object",
    "O-20",
    [chunk({ reasoning: { text: "hm" }, content: "so" }), finish()],
    message("end_turn", text("so")),
    { alternatives: [message("end_turn", thought("hm"), text("so"))] },
  ),
  own(
    "refusal-beside-content",
    "O-28",
    [say("I "), chunk({ refusal: "cannot." }), finish()],
    message("refusal", text("I cannot.")),
    { alternatives: [message("refusal", text("I "), text("cannot.")), message("end_turn", text("I cannot."))] },
  ),
  own("calls-in-two-choices", "O-13", [
    data({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...wholeCall("a1", "a", "{}") }] } }, {
        index: 1,
        delta: { tool_calls: [{ index: 0, ...wholeCall("b1", "b", "{}") }] },
      }],
    }),
    finish("tool_calls"),
  ], message("tool_use", call("a1", "a", {}), call("b1", "b", {}))),
  own("think-tags-beside-the-field", "O-22 O-81", [
    chunk({ reasoning_content: "hm" }),
    say("<think>hm</think>so"),
    finish(),
  ], message("end_turn", thought("hm"), text("<think>hm</think>so"))),
  own(
    "mm-think",
    "O-81",
    [say("<mm:think>hm</mm:think>so"), finish()],
    message("end_turn", text("<mm:think>hm</mm:think>so")),
  ),
  ...[
    '<tool_call>\n{"name":"w","arguments":{}}\n</tool_call>',
    "<function=w>\n<parameter=city>Oslo</parameter></function>",
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="w">',
  ].map((leak, i) => own(`leaked-call-${i}`, "O-82", [say(leak), finish()], message("end_turn", text(leak)))),
];

/** All of this file. */
export const ownOpenAi: WireCase[] = [...framing, ...documents, ...ends, ...finishes, ...shapes];
