/**
 * Wire cases of our own: found by somebody who had read the contract and none of the code.
 * @module
 */
import type { WireCase } from "../support/wire_case.ts";
import {
  block,
  call,
  chunk,
  data,
  DONE,
  error,
  event,
  finish,
  message,
  messageEnd,
  messageStart,
  ownCases,
  say,
  text,
  textBlock,
  thought,
  wholeCall,
} from "./own_build.ts";

const openai = ownCases("openai");
const anthropic = ownCases("anthropic");

const JSON_HEAD = { headers: { "content-type": "application/json" } };
const CALL = wholeCall("call_1", "weather", '{"city":"Oslo"}');
const OSLO = call("call_1", "weather", { city: "Oslo" });
const BROKEN = error("stream", { partial: [text("hi")] });

/** Errors that stand beside or in place of a chunk, each followed by a cheerful end mark. */
const errors: WireCase[] = [
  ...[
    { errors: [{ code: 3040, message: "Capacity exceeded" }], success: false },
    { error_code: 336, error_msg: "Quota used up" },
    { code: 500, msg: "boom" },
    { status: "error", msg: "boom" },
    { status: 500, title: "boom" },
    { object: "error", code: 500 },
    { choices: null, base_resp: { status_code: 1027, status_msg: "output sensitive" } },
    { choices: [{ index: 0, delta: {} }], base_resp: { status_code: 1027, status_msg: "output sensitive" } },
    { choices: [{ index: 0, delta: {} }], x_groq: { error: "over capacity" } },
    { choices: [{ index: 0, delta: { error: { message: "boom" } } }] },
  ].map((report, i) => openai(`error-of-another-shape-${i}`, "O-85", [say("hi"), data(report), DONE], BROKEN)),
  openai("error-behind-a-call", "O-85", [
    chunk({ tool_calls: [{ index: 0, ...CALL }] }),
    data({ errors: [{ message: "boom" }] }),
    DONE,
  ], error("stream")),
  openai("healthy-status-beside-the-reply", "O-38", [
    data({ choices: [{ index: 0, delta: { content: "hi" } }], base_resp: { status_code: 0, status_msg: "" } }),
    finish(),
  ], message("end_turn", text("hi"))),
  ...["timeout", "cancelled", "failed", "engine_overloaded", "MALFORMED_FUNCTION_CALL"].map((word) =>
    openai(`finish-word-${word.toLowerCase().replaceAll("_", "-")}`, "O-37", [say("hi"), finish(word)], BROKEN)
  ),
  ...[
    { modelStreamErrorException: { message: "boom" } },
    { internalServerException: { message: "boom" } },
    { errors: [{ message: "boom" }] },
    { base_resp: { status_code: 1000, status_msg: "boom" } },
  ].map((report, i) =>
    anthropic(`error-of-another-shape-${i}`, "O-85 A-27", [
      messageStart(),
      textBlock(0, "hi"),
      data(report),
      messageEnd(),
    ], BROKEN)
  ),
];

/** Whole messages in place of deltas or behind them. */
const wholes: WireCase[] = [
  openai("answer-in-the-message-behind-reasoning", "O-10 O-11", [
    chunk({ reasoning_content: "hm" }),
    data({ choices: [{ index: 0, delta: {}, message: { content: "hi" }, finish_reason: "stop" }] }),
    DONE,
  ], message("end_turn", thought("hm"), text("hi"))),
  openai(
    "answer-in-the-message-behind-a-blank",
    "O-10 O-11",
    [
      say("\n"),
      data({ choices: [{ index: 0, delta: {}, message: { content: "hi" }, finish_reason: "stop" }] }),
      DONE,
    ],
    message("end_turn", text("\nhi")),
    { alternatives: [message("end_turn", text("hi"))] },
  ),
  openai("message-repeats-the-deltas", "O-10", [
    chunk({ reasoning_content: "hm" }),
    say("hi"),
    data({
      choices: [{
        index: 0,
        delta: {},
        message: { content: "hi", reasoning_content: "hm" },
        finish_reason: "stop",
      }],
    }),
    DONE,
  ], message("end_turn", thought("hm"), text("hi"))),
  openai("message-twice-with-one-call", "O-10 O-11", [
    data({ choices: [{ index: 0, delta: {}, message: { tool_calls: [CALL] } }] }),
    data({ choices: [{ index: 0, delta: {}, message: { tool_calls: [CALL] }, finish_reason: "tool_calls" }] }),
    DONE,
  ], message("tool_use", OSLO)),
  openai(
    "document-with-calls-in-two-choices",
    "O-13",
    JSON.stringify({
      choices: [
        { index: 0, message: { tool_calls: [CALL] }, finish_reason: "tool_calls" },
        { index: 1, message: { tool_calls: [wholeCall("call_2", "time", "{}")] }, finish_reason: "tool_calls" },
      ],
    }),
    message("tool_use", OSLO, call("call_2", "time", {})),
    JSON_HEAD,
  ),
  openai(
    "document-with-two-calls-of-one-id",
    "S-18 O-73",
    JSON.stringify({
      choices: [{
        index: 0,
        message: { tool_calls: [CALL, wholeCall("call_1", "time", "{}"), wholeCall("call_1", "time", '{"in":1}')] },
        finish_reason: "tool_calls",
      }],
    }),
    message("tool_use", OSLO, call("*", "time", {}), call("*", "time", { in: 1 })),
    { ...JSON_HEAD, distinct_ids: true },
  ),
  openai("message-with-two-calls-of-one-id-and-index", "O-10 O-73", [
    data({
      choices: [{
        index: 0,
        message: { tool_calls: [{ index: 0, ...CALL }, { index: 0, ...wholeCall("call_1", "time", "{}") }] },
        finish_reason: "tool_calls",
      }],
    }),
    DONE,
  ], message("tool_use", OSLO, call("*", "time", {}))),
  openai("one-call-in-both-fields", "O-11", [
    chunk({ tool_calls: [{ index: 0, ...CALL }], function_call: CALL.function }),
    finish("tool_calls"),
  ], message("tool_use", OSLO)),
  openai("parts-named-otherwise", "O-12", [
    chunk({ content: [{ type: "output_text", text: "a" }, { text: "b" }, { type: "reference", reference_ids: [1] }] }),
    finish(),
  ], message("end_turn", text("ab"))),
];

const DOCUMENT = JSON.stringify({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
});

/** Documents whose connection does not end well. */
const documents: WireCase[] = [
  openai("document-then-reset", "O-31 H-12", [DOCUMENT, { abort: true }], message("end_turn", text("hi")), JSON_HEAD),
  openai(
    "document-and-mark-then-reset",
    "S-18 O-31",
    [DOCUMENT + "\n\n" + DONE, { abort: true }],
    message("end_turn", text("hi")),
    JSON_HEAD,
  ),
  openai("error-document-then-reset", "O-86", ['{"error":{"message":"boom"}}', { abort: true }], error("stream"), {
    ...JSON_HEAD,
  }),
  openai("document-that-is-cut", "H-11", DOCUMENT.slice(0, 40), error("truncated", { retryable: true }), JSON_HEAD),
  openai(
    "another-protocol-in-lines",
    "S-18",
    '{"model":"m","message":{"role":"assistant","content":"hi"},"done":false}\n{"model":"m","done":true}\n',
    error("not_sse", { retryable: false }),
    { headers: { "content-type": "application/x-ndjson" } },
  ),
  openai(
    "another-protocol-in-a-document",
    "O-85",
    '{"model":"m","message":{"role":"assistant","content":"hi"},"done":true}',
    error("not_sse", { retryable: false }),
    JSON_HEAD,
  ),
  ...["[]", '["hi"]', '[{"id":1}]'].map((list, i) =>
    openai(
      `list-in-a-document-${i}`,
      "S-18",
      list,
      error("not_sse", { retryable: false, mentions: ["application/json", "baseUrl"] }),
      JSON_HEAD,
    )
  ),
];

/** Documents of other protocols, which count tokens too. */
const foreign: WireCase[] = [
  openai(
    "document-of-the-other-dialect",
    "A-34 S-18",
    JSON.stringify({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 5, output_tokens: 1 },
    }),
    error("protocol", { retryable: false, mentions: ["dialect"] }),
    JSON_HEAD,
  ),
  openai(
    "document-that-is-usage-alone",
    "S-18",
    JSON.stringify({ object: "response", status: "completed", output: [], usage: { input_tokens: 5 } }),
    error("not_sse", { retryable: false }),
    JSON_HEAD,
  ),
];

/** Content of another type than the protocol says. */
const mistyped: WireCase[] = [
  anthropic(
    "text-that-is-an-object",
    "S-18",
    JSON.stringify({ type: "message", content: [{ type: "text", text: { value: "hi" } }], stop_reason: "end_turn" }),
    error("protocol", { retryable: false }),
    JSON_HEAD,
  ),
];

/** What must go back as it came. */
const echoes: WireCase[] = [
  anthropic("signature-at-the-start-and-again", "A-21 A-06", [
    messageStart(),
    block(0, { type: "thinking", thinking: "hm", signature: "S1" }, [{ type: "signature_delta", signature: "S1" }]),
    textBlock(1, "hi"),
    messageEnd(),
  ], message("end_turn", thought("hm", { signature: "S1" }), text("hi"))),
  anthropic("ping-in-plain-text", "S-08", [
    messageStart(),
    "event: ping\ndata: keep alive\n\n",
    textBlock(0, "hi"),
    messageEnd(),
  ], message("end_turn", text("hi"))),
  anthropic("guardrail-beside-a-call", "A-25", [
    messageStart(),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "no" } }),
    event("content_block_stop", { index: 0 }),
    messageEnd("guardrail_intervened"),
  ], message("refusal", text("no"))),
];

const CUT = error("truncated", { retryable: true, partial: [text("hi")] });
const BOOM = '{"error":{"message":"boom"}}';

/** What stands in a stream without a field name in front, each followed by a cheerful end mark. */
const bare: WireCase[] = [
  openai("bare-error-in-a-stream", "S-14 O-85", [say("hi"), `${BOOM}\n\n`, DONE], BROKEN),
  openai("bare-error-behind-a-delta", "S-14 S-13 O-85", [say("hi").trimEnd(), `\n${BOOM}\n\n`, DONE], BROKEN),
  openai("bare-error-at-the-very-end", "S-14 S-09 O-85", [say("hi"), BOOM], BROKEN),
  openai("bare-error-with-u2028", "S-14 O-85", [say("hi"), '{"error":"a\u2028b"}\n\n', DONE], BROKEN),
  openai("bare-page-in-a-stream", "S-14 S-19", [say("hi"), "<html>\n<title>502 Bad Gateway</title>\n</html>\n"], CUT),
  openai("bare-error-with-blanks", "S-14 O-85", [say("hi"), `{ "error": {"message":"boom"} } \n\n`, DONE], BROKEN),
  openai("bare-delta", "S-14", [say("a"), say("b").slice("data: ".length), finish()], message("end_turn", text("ab"))),
  openai("unknown-fields-that-mean-nothing", "S-11", [
    "retry: 5\nx-note: {1}\n\n",
    say("hi"),
    "status 500\n\n",
    finish(),
  ], message("end_turn", text("hi"))),
  anthropic(
    "bare-error-in-a-stream",
    "S-14 A-27",
    [messageStart(), textBlock(0, "hi"), `${BOOM}\n\n`, messageEnd()],
    BROKEN,
  ),
];

/** Whole documents that name no end. */
const endless: WireCase[] = [
  ...[null, "", undefined].map((finish_reason, i) =>
    openai(
      `document-without-finish-word-${i}`,
      "S-18 O-33",
      JSON.stringify({ choices: [{ index: 0, message: { content: "hi" }, finish_reason }] }),
      message("end_turn", text("hi")),
      JSON_HEAD,
    )
  ),
  openai(
    "document-without-finish-word-and-with-a-call",
    "S-18 O-33",
    JSON.stringify({ choices: [{ index: 0, message: { tool_calls: [CALL] } }] }),
    message("tool_use", OSLO),
    JSON_HEAD,
  ),
  openai(
    "one-chunk-as-a-document",
    "S-14 S-18",
    JSON.stringify({ choices: [{ index: 0, delta: { content: "hi" }, finish_reason: null }] }),
    error("truncated", { retryable: true, partial: [text("hi")] }),
    JSON_HEAD,
  ),
];

const EMPTY_BLOCK = { type: "message", content: [{ type: "text", text: "" }], stop_reason: null };

/** A block that holds nothing is still a reply. */
const empty: WireCase[] = [
  anthropic("document-with-an-empty-block", "A-24 S-18", JSON.stringify(EMPTY_BLOCK), message("end_turn"), JSON_HEAD),
  anthropic("empty-block-without-a-word", "A-24 A-26", [
    messageStart(),
    textBlock(0),
    messageEnd(null),
  ], message("end_turn")),
];

/** All of this file. */
export const ownFound: WireCase[] = [
  ...errors,
  ...wholes,
  ...documents,
  ...foreign,
  ...mistyped,
  ...echoes,
  ...bare,
  ...endless,
  ...empty,
];
