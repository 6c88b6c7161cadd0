/**
 * Wire cases of our own: the neighbours of each Anthropic quirk, which the given cases do not hold.
 * @module
 */
import type { Meaning, WireCase } from "../support/wire_case.ts";
import {
  block,
  call,
  callBlock,
  data,
  error,
  event,
  message,
  messageEnd,
  messageStart,
  ownCases,
  text,
  textBlock,
  thought,
} from "./own_build.ts";

const own = ownCases("anthropic");

const START = messageStart();
const END = messageEnd();
const OSLO = '{"city":"Oslo"}';
const oslo = message("tool_use", call("toolu_1", "weather", { city: "Oslo" }));
const HI = [START, textBlock(0, "Grüße ", "你好 👋"), END];
const HI_MEANS = message("end_turn", text("Grüße 你好 👋"));

function withUsage(means: Meaning, input: number | undefined, output: number | undefined): Meaning {
  return {
    ...means,
    usage: { ...(input !== undefined && { input }), ...(output !== undefined && { output }) },
  } as Meaning;
}

function thinkingDelta(thinking: string) {
  return { type: "thinking_delta", thinking };
}

function signed(signature: string) {
  return { type: "signature_delta", signature };
}

function thinkingBlock(index: number, ...deltas: Record<string, unknown>[]): string {
  return block(index, { type: "thinking", thinking: "", signature: "" }, deltas);
}

const framing: WireCase[] = [
  own("crlf-no-space", "S-03 S-10", HI.map((t) => t.replaceAll("\n", "\r\n").replaceAll(": {", ":{")), HI_MEANS),
  own("no-event-lines", "A-03", HI.map((t) => t.replaceAll(/^event: .*\n/gm, "")), HI_MEANS),
  own("event-message-for-all", "A-03", HI.map((t) => t.replaceAll(/^event: .*$/gm, "event: message")), HI_MEANS),
  own("event-behind-data", "A-03", HI.map((t) => t.replaceAll(/^(event: .*)\n(data: .*)$/gm, "$2\n$1")), HI_MEANS),
  own("ping-everywhere", "A-02", [event("ping"), ...HI.flatMap((t) => [t, event("ping")])], HI_MEANS),
  own("ping-without-type", "A-02 S-08", ["event: ping\ndata: {}\n\n", ...HI], HI_MEANS, {
    alternatives: [error("protocol")],
  }),
  own("event-with-empty-data", "A-04 S-08", ["event: message_stop\n\n", "event: ping\ndata:\n\n", ...HI], HI_MEANS),
  own("message-stop-one-newline", "S-09 A-28", HI.join("").trimEnd() + "\n", HI_MEANS),
  own(
    "message-stop-cut-json",
    "S-09 A-28",
    [START, textBlock(0, "x"), END.trimEnd().slice(0, -4)],
    message("end_turn", text("x")),
  ),
  own(
    "held-open-before-the-end",
    "H-13",
    [START, textBlock(0, "x"), { delay_ms: 3000 }],
    error("timeout", { retryable: true, partial: [text("x")] }),
    { options: { idle_timeout_ms: 200 }, max_ms: 2500 },
  ),
  own(
    "held-open-behind-stop-reason",
    "A-31",
    [START, textBlock(0, "x"), event("message_delta", { delta: { stop_reason: "end_turn" } }), { delay_ms: 3000 }],
    message("end_turn", text("x")),
    { options: { idle_timeout_ms: 200 }, max_ms: 2500 },
  ),
  own("reset-behind-message-stop", "H-12", [...HI, { abort: true }], HI_MEANS),
  own("reset-behind-stop-reason", "H-12 A-28", [
    START,
    textBlock(0, "x"),
    event("message_delta", { delta: { stop_reason: "end_turn" } }),
    { abort: true },
  ], message("end_turn", text("x"))),
  own(
    "too-large",
    "H-17",
    [START, { repeat: textBlock(0, "more and more"), times: 100 }, END],
    error("too_large", { retryable: false }),
    { options: { max_response_bytes: 8192 } },
  ),
];

const blocks: WireCase[] = [
  own("thinking-signed", "A-06", [
    START,
    thinkingBlock(0, thinkingDelta("h"), thinkingDelta("m"), signed("c2ln")),
    textBlock(1, "so"),
    END,
  ], message("end_turn", thought("hm", { signature: "c2ln" }), text("so"))),
  own("signature-in-pieces", "A-06", [
    START,
    thinkingBlock(0, thinkingDelta("hm"), signed("c2"), signed("ln")),
    textBlock(1, "so"),
    END,
  ], message("end_turn", thought("hm", { signature: "c2ln" }), text("so"))),
  own("signature-in-the-start", "A-06", [
    START,
    block(0, { type: "thinking", thinking: "hm", signature: "c2ln" }),
    textBlock(1, "so"),
    END,
  ], message("end_turn", thought("hm", { signature: "c2ln" }), text("so"))),
  own("thinking-unsigned", "A-07", [
    START,
    block(0, { type: "thinking", thinking: "" }, [thinkingDelta("hm")]),
    textBlock(1, "so"),
    END,
  ], message("end_turn", thought("hm"), text("so"))),
  own(
    "thinking-empty-unsigned",
    "A-07",
    [START, thinkingBlock(0), textBlock(1, "so"), END],
    message("end_turn", text("so")),
  ),
  own("thinking-twice", "A-09", [
    START,
    thinkingBlock(0, thinkingDelta("a"), signed("s1")),
    thinkingBlock(1, thinkingDelta("b"), signed("s2")),
    textBlock(2, "so"),
    END,
  ], message("end_turn", thought("a", { signature: "s1" }), thought("b", { signature: "s2" }), text("so"))),
  own(
    "redacted-between-thoughts",
    "A-08 A-09",
    [
      START,
      thinkingBlock(0, thinkingDelta("a"), signed("s1")),
      block(1, { type: "redacted_thinking", data: "ZW5j" }),
      thinkingBlock(2, thinkingDelta("b"), signed("s2")),
      END,
    ],
    message(
      "end_turn",
      thought("a", { signature: "s1" }),
      thought("", { redacted: true, data: "ZW5j" }),
      thought("b", { signature: "s2" }),
    ),
  ),
  own("first-fragment-empty", "A-10", [
    START,
    callBlock(0, "toolu_1", "weather", "", '{"city"', ':"Oslo"}'),
    messageEnd("tool_use"),
  ], oslo),
  own(
    "no-input-delta",
    "A-11",
    [START, callBlock(0, "toolu_1", "now"), messageEnd("tool_use")],
    message("tool_use", call("toolu_1", "now", {})),
  ),
  own("input-in-start-and-deltas", "A-12", [
    START,
    block(0, { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } }, [{
      type: "input_json_delta",
      partial_json: OSLO,
    }]),
    messageEnd("tool_use"),
  ], oslo),
  own("input-in-start-and-empty-delta", "A-12", [
    START,
    block(0, { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } }, [{
      type: "input_json_delta",
      partial_json: "",
    }]),
    messageEnd("tool_use"),
  ], oslo),
  own(
    "input-as-text-in-start",
    "A-12",
    [START, block(0, { type: "tool_use", id: "toolu_1", name: "weather", input: OSLO }), messageEnd("tool_use")],
    oslo,
    { alternatives: [message("tool_use", call("toolu_1", "weather", {}))] },
  ),
  own("content-in-message-start", "A-12", [
    messageStart(undefined, {
      content: [{ type: "text", text: "early" }, {
        type: "tool_use",
        id: "toolu_1",
        name: "weather",
        input: { city: "Oslo" },
      }],
    }),
    messageEnd("tool_use"),
  ], message("tool_use", text("early"), call("toolu_1", "weather", { city: "Oslo" }))),
  own(
    "three-calls-one-id",
    "A-13",
    [
      START,
      callBlock(0, "x", "a", "{}"),
      callBlock(1, "x", "a", "{}"),
      callBlock(2, "x", "a", "{}"),
      messageEnd("tool_use"),
    ],
    message("tool_use", call("x", "a", {}), call("*", "a", {}), call("*", "a", {})),
    { distinct_ids: true },
  ),
  own(
    "max-tokens-with-a-whole-call",
    "A-16",
    [START, callBlock(0, "toolu_1", "weather", OSLO), messageEnd("max_tokens")],
    message("max_tokens", call("toolu_1", "weather", { city: "Oslo" })),
    { alternatives: [message("max_tokens")] },
  ),
  own(
    "words-on-an-open-call",
    "A-17",
    [
      START,
      event("content_block_start", {
        index: 0,
        content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
      }),
      event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: '{"city"' } }),
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "oh" } }),
      event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: ':"Oslo"}' } }),
      event("content_block_stop", { index: 0 }),
      messageEnd("tool_use"),
    ],
    message("tool_use", call("toolu_1", "weather", { city: "Oslo" }), text("oh")),
    { alternatives: [message("tool_use", text("oh"), call("toolu_1", "weather", { city: "Oslo" }))] },
  ),
  own("overlapping-blocks", "A-18", [
    START,
    event("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "" } }),
    event("content_block_delta", { index: 0, delta: thinkingDelta("hm") }),
    event("content_block_start", { index: 1, content_block: { type: "text", text: "" } }),
    event("content_block_delta", { index: 1, delta: { type: "text_delta", text: "so" } }),
    event("content_block_delta", { index: 0, delta: signed("late") }),
    event("content_block_stop", { index: 0 }),
    event("content_block_stop", { index: 1 }),
    END,
  ], message("end_turn", thought("hm", { signature: "late" }), text("so"))),
  own("index-reused-by-calls", "A-18", [
    START,
    callBlock(0, "a1", "a", "{}"),
    callBlock(0, "b1", "b", '{"y":2}'),
    messageEnd("tool_use"),
  ], message("tool_use", call("a1", "a", {}), call("b1", "b", { y: 2 }))),
  own("index-missing", "A-18", [
    START,
    event("content_block_start", { content_block: { type: "text", text: "" } }),
    event("content_block_delta", { delta: { type: "text_delta", text: "x" } }),
    event("content_block_stop"),
    END,
  ], message("end_turn", text("x"))),
  own("stop-missing", "A-19", [
    START,
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "a" } }),
    callBlock(1, "toolu_1", "weather", OSLO),
    messageEnd("tool_use"),
  ], message("tool_use", text("a"), call("toolu_1", "weather", { city: "Oslo" }))),
  own("stop-missing-at-the-end", "A-19", [
    START,
    event("content_block_start", { index: 0, content_block: { type: "tool_use", id: "toolu_1", name: "weather" } }),
    event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: OSLO } }),
    messageEnd("tool_use"),
  ], oslo),
  own(
    "start-missing-thinking",
    "A-19",
    [
      START,
      event("content_block_delta", { index: 0, delta: thinkingDelta("hm") }),
      event("content_block_stop", { index: 0 }),
      textBlock(1, "so"),
      END,
    ],
    message("end_turn", thought("hm"), text("so")),
    { alternatives: [error("protocol")] },
  ),
  own("start-missing-call", "A-19", [
    START,
    event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: OSLO } }),
    event("content_block_stop", { index: 0 }),
    messageEnd("tool_use"),
  ], error("protocol")),
  own(
    "stop-for-nothing",
    "A-19",
    [START, event("content_block_stop", { index: 9 }), textBlock(0, "x"), END],
    message("end_turn", text("x")),
  ),
  own("start-repeated-on-a-call", "A-20", [
    START,
    event("content_block_start", {
      index: 0,
      content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
    }),
    event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: '{"city"' } }),
    event("content_block_start", {
      index: 0,
      content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
    }),
    event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: ':"Oslo"}' } }),
    event("content_block_stop", { index: 0 }),
    messageEnd("tool_use"),
  ], oslo),
  own("start-text-is-continued", "A-21", [
    START,
    block(0, { type: "text", text: "Hello" }, [{ type: "text_delta", text: " there" }]),
    END,
  ], message("end_turn", text("Hello there"))),
  own(
    "start-text-alone",
    "A-21",
    [START, block(0, { type: "text", text: "Hello" }), END],
    message("end_turn", text("Hello")),
  ),
  own(
    "start-thinking-is-repeated",
    "A-21",
    [
      START,
      block(0, { type: "thinking", thinking: "hm" }, [thinkingDelta("hm"), thinkingDelta(" so")]),
      textBlock(1, "x"),
      END,
    ],
    message("end_turn", thought("hm so"), text("x")),
    { alternatives: [message("end_turn", thought("hmhm so"), text("x"))] },
  ),
  own("web-search", "A-22", [
    START,
    block(0, { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} }, [{
      type: "input_json_delta",
      partial_json: '{"query":"x"}',
    }]),
    block(1, { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] }),
    block(2, { type: "text", text: "" }, [{ type: "text_delta", text: "found" }, {
      type: "citations_delta",
      citation: { url: "u" },
    }]),
    END,
  ], message("end_turn", text("found"))),
  own("compaction", "A-22", [
    START,
    block(0, { type: "compaction", content: null }, [{ type: "compaction_delta", content: "short" }]),
    textBlock(1, "so"),
    END,
  ], message("end_turn", text("so"))),
  own("only-vendor-blocks", "A-22", [START, block(0, { type: "hologram", data: "?" }), END], message("end_turn")),
  own(
    "empty-text-blocks",
    "A-24",
    [START, textBlock(0), textBlock(1, ""), textBlock(2, "x"), textBlock(3), END],
    message("end_turn", text("x")),
  ),
  own("surrogates-over-pieces-of-input", "S-16", [
    START,
    callBlock(0, "toolu_1", "say", '{"w":"\ud83d', '\ude80"}'),
    messageEnd("tool_use"),
  ], message("tool_use", call("toolu_1", "say", { w: "🚀" }))),
  own("large-integer", "O-71", [
    START,
    callBlock(0, "toolu_1", "set", '{"id":12345678901234567890}'),
    messageEnd("tool_use"),
  ], message("tool_use", { type: "tool_use", id: "toolu_1", name: "set", input_json: '{"id":12345678901234567890}' })),
  own(
    "two-objects",
    "O-69",
    [START, callBlock(0, "toolu_1", "set", '{"a":1}', '{"b":2}'), messageEnd("tool_use")],
    message("tool_use", { type: "tool_use", id: "toolu_1", name: "set", invalid_input: '{"a":1}{"b":2}' }),
    { alternatives: [message("tool_use", call("toolu_1", "set", { a: 1 }), call("*", "set", { b: 2 }))] },
  ),
  own(
    "call-without-name",
    "O-63",
    [START, callBlock(0, "toolu_1", "", "{}"), messageEnd("tool_use")],
    error("protocol"),
  ),
  own("call-without-id", "O-54", [
    START,
    block(0, { type: "tool_use", name: "weather", input: { city: "Oslo" } }),
    messageEnd("tool_use"),
  ], message("tool_use", call("*", "weather", { city: "Oslo" }))),
];

const stops: WireCase[] = [
  own("stop-tool-use", "A-25", [START, callBlock(0, "toolu_1", "weather", OSLO), messageEnd("tool_use")], oslo),
  own("stop-sequence", "A-25", [
    START,
    textBlock(0, "x"),
    event("message_delta", { delta: { stop_reason: "stop_sequence", stop_sequence: "END" } }),
    event("message_stop"),
  ], message("stop_sequence", text("x"))),
  own(
    "refusal-with-text",
    "A-25",
    [START, textBlock(0, "No."), messageEnd("refusal")],
    message("refusal", text("No.")),
  ),
  own("context-window-exceeded", "A-25 R-43", [
    START,
    textBlock(0, "so far"),
    messageEnd("model_context_window_exceeded"),
  ], message("max_tokens", text("so far"))),
  own("sensitive", "A-25", [START, textBlock(0, "x"), messageEnd("sensitive")], message("refusal", text("x")), {
    alternatives: [message("other", text("x"))],
  }),
  own("unknown-stop", "A-25", [START, textBlock(0, "x"), messageEnd("cosmic_ray")], message("other", text("x"))),
  own("stop-null-with-calls", "A-26", [START, callBlock(0, "toolu_1", "weather", OSLO), messageEnd(null)], oslo),
  own("no-message-delta", "A-26", [START, textBlock(0, "x"), event("message_stop")], message("end_turn", text("x")), {
    alternatives: [message("other", text("x"))],
  }),
  own(
    "stop-reason-in-message-start",
    "A-26",
    [messageStart(undefined, { stop_reason: "end_turn" }), textBlock(0, "x")],
    error("truncated", { retryable: true }),
    { alternatives: [message("end_turn", text("x"))] },
  ),
  own("message-stop-missing", "A-28", [
    START,
    textBlock(0, "x"),
    event("message_delta", { delta: { stop_reason: "end_turn" } }),
  ], message("end_turn", text("x"))),
  own(
    "eof-behind-a-call",
    "A-29",
    [START, callBlock(0, "toolu_1", "weather", OSLO)],
    error("truncated", { retryable: true }),
  ),
  own("eof-inside-a-call", "A-29", [
    START,
    callBlock(0, "toolu_1", "weather", '{"ci').replace(/event: content_block_stop[^]*/, ""),
  ], error("truncated", { retryable: true })),
  own("eof-behind-message-start", "A-29", START, error("truncated", { retryable: true })),
  own(
    "reset-behind-a-call",
    "A-29",
    [START, callBlock(0, "toolu_1", "weather", OSLO), { abort: true }],
    error("truncated", { retryable: true }),
  ),
  own("message-start-and-stop", "A-23", [START, event("message_stop")], message("end_turn"), {
    alternatives: [error("protocol")],
  }),
  own("message-stop-only", "O-41", event("message_stop"), error("protocol", { retryable: true }), {
    alternatives: [error("truncated")],
  }),
  own("done-only", "A-30 O-41", "data: [DONE]\n\n", error("protocol", { retryable: true }), {
    alternatives: [error("truncated")],
  }),
  own("pings-only", "O-41", event("ping") + event("ping"), error("truncated", { retryable: true })),
  own("done-without-message-stop", "A-30", [
    START,
    textBlock(0, "x"),
    event("message_delta", { delta: { stop_reason: "end_turn" } }),
    "data: [DONE]\n\n",
  ], message("end_turn", text("x"))),
  own("done-without-stop-reason", "A-30", [START, textBlock(0, "x"), "data: [DONE]\n\n"], error("truncated"), {
    alternatives: [message("end_turn", text("x"))],
  }),
  own("message-start-spliced", "A-32", [
    START,
    textBlock(0, "a"),
    messageStart(undefined, { id: "msg_other" }),
    callBlock(0, "toolu_1", "weather", OSLO),
    messageEnd("tool_use"),
  ], error("protocol")),
  own(
    "message-start-twice-late",
    "A-32",
    [START, textBlock(0, "a"), START, textBlock(1, "b"), END],
    message("end_turn", text("a"), text("b")),
  ),
  own(
    "two-messages-in-a-row",
    "A-32",
    [...HI, messageStart(undefined, { id: "msg_other" }), textBlock(0, "more"), END],
    HI_MEANS,
  ),
];

const reports: WireCase[] = [
  own("usage-zero-at-start", "A-33", [
    messageStart({ input_tokens: 0, output_tokens: 0 }),
    textBlock(0, "u"),
    messageEnd("end_turn", { usage: { input_tokens: 61, output_tokens: 2 } }),
  ], withUsage(message("end_turn", text("u")), 61, 2)),
  own("usage-null-in-delta", "A-33", [
    messageStart({ input_tokens: 43, output_tokens: 1 }),
    textBlock(0, "u"),
    messageEnd("end_turn", { usage: { input_tokens: null, output_tokens: 5 } }),
  ], withUsage(message("end_turn", text("u")), 43, 5)),
  own("usage-zero-in-delta", "A-33", [
    messageStart({ input_tokens: 43, output_tokens: 1 }),
    textBlock(0, "u"),
    messageEnd("end_turn", { usage: { input_tokens: 0, output_tokens: 5 } }),
  ], withUsage(message("end_turn", text("u")), 43, 5)),
  own("usage-with-cache", "A-33", [
    messageStart({ input_tokens: 3, cache_read_input_tokens: 10, cache_creation_input_tokens: 4, output_tokens: 1 }),
    textBlock(0, "u"),
    END,
  ], withUsage(message("end_turn", text("u")), 17, 9)),
  own("usage-cache-only", "A-33", [
    messageStart({ input_tokens: 1, cache_read_input_tokens: 16, output_tokens: 0 }),
    textBlock(0, "u"),
    messageEnd("end_turn", { usage: { output_tokens: 13 } }),
  ], withUsage(message("end_turn", text("u")), 17, 13)),
  own(
    "error-plain-text",
    "A-27",
    [START, textBlock(0, "Dear"), "event: error\ndata: upstream went away\n\n"],
    error("stream", { mentions: ["upstream went away"], partial: [text("Dear")] }),
  ),
  ...([
    ["overloaded_error", true],
    ["api_error", true],
    ["rate_limit_error", true],
    ["timeout_error", true],
    ["invalid_request_error", false],
    ["authentication_error", false],
    ["permission_error", false],
    ["not_found_error", false],
    ["request_too_large", false],
  ] as const).map(([type, retryable]) =>
    own(
      `error-${type}`,
      "A-27",
      [START, event("error", { error: { type, message: "No such luck" } })],
      error("stream", { retryable, mentions: ["No such luck"] }),
    )
  ),
  own("error-without-event-line", "A-27 A-03", [
    START,
    data({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  ], error("stream", { retryable: true })),
  own("error-behind-stop-reason", "A-27", [
    START,
    textBlock(0, "x"),
    event("message_delta", { delta: { stop_reason: "end_turn" } }),
    event("error", { error: { type: "api_error", message: "late" } }),
  ], error("stream", { retryable: true })),
  own(
    "json-error-200",
    "S-18 A-27",
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    error("stream", { retryable: true, mentions: ["Overloaded"] }),
  ),
  own(
    "json-reply-cut-by-limit",
    "S-18",
    '{"type":"message","role":"assistant","content":[{"type":"text","text":"so"}],"stop_reason":"max_tokens","usage":{"input_tokens":4,"output_tokens":1}}',
    withUsage(message("max_tokens", text("so")), 4, 1),
  ),
  own(
    "json-reply-of-openai",
    "A-34 S-18",
    '{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}',
    error("not_sse"),
  ),
  own("broken-event-in-the-middle", "O-89", [
    START,
    textBlock(0, "a"),
    "event: content_block_start\ndata: {broken\n\n",
    END,
  ], error("protocol", { partial: [text("a")] })),
];

function http(
  name: string,
  quirk: string,
  status: number,
  body: string,
  fields: Parameters<typeof error>[1],
  more: Record<string, string> = {},
): WireCase {
  return own(`http-${name}`, quirk, body === "" ? [] : [body], error("http", { status, ...fields }), {
    status,
    headers: { "content-type": "application/json", ...more },
  });
}

const statuses: WireCase[] = [
  http("404-model", "H-04", 404, '{"type":"error","error":{"type":"not_found_error","message":"model: claude-none"}}', {
    retryable: false,
    mentions: ["claude-none"],
  }),
  http("529", "H-10", 529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', {
    retryable: true,
    mentions: ["Overloaded"],
  }),
  http("502-html", "H-03", 502, "<html><head><title>502</title></head></html>", {
    retryable: true,
    never_mentions: ["<title>"],
  }, { "content-type": "text/html" }),
  http("307", "H-16", 307, "", { retryable: false, never_mentions: ["/steal"] }, {
    location: "http://127.0.0.1:9/steal",
  }),
  http(
    "413-request-too-large",
    "H-07",
    413,
    '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    { retryable: false },
  ),
  http(
    "403",
    "H-01",
    403,
    '{"type":"error","error":{"type":"permission_error","message":"key sk-replay-SECRET-0001 may not"}}',
    { retryable: false },
  ),
  http("500-retry-after-date-past", "H-08", 500, "{}", { retryable: true }, {
    "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT",
  }),
];

/** All of this file. */
export const ownAnthropic: WireCase[] = [...framing, ...blocks, ...stops, ...reports, ...statuses];
