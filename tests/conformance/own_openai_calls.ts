/**
 * Wire cases of our own: calls, errors inside a stream, and HTTP errors of OpenAI-compatible servers.
 * @module
 */
import type { Meaning, WireCase } from "../support/wire_case.ts";
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

const OSLO = '{"city":"Oslo"}';
const oslo = message("tool_use", call("call_1", "weather", { city: "Oslo" }));
const anyOslo = message("tool_use", call("*", "weather", { city: "Oslo" }));
const END = finish("tool_calls");

function open(args: string, more: Record<string, unknown> = {}): string {
  return toolDelta({ index: 0, ...wholeCall("call_1", "weather", args), ...more });
}

function more(args: string, rest: Record<string, unknown> = {}): string {
  return toolDelta({ index: 0, function: { arguments: args }, ...rest });
}

function arguments_(raw: string, means: Meaning, name: string, quirk: string, alternatives: Meaning[] = []): WireCase {
  return own(`arguments-${name}`, quirk, [open(raw), END], means, { alternatives });
}

function invalid(raw: string): Meaning {
  return message("tool_use", { type: "tool_use", id: "call_1", name: "weather", invalid_input: raw });
}

const none = message("tool_use", call("call_1", "weather", {}));

const calls: WireCase[] = [
  own("continuation-of-nulls", "O-55", [
    open('{"city"'),
    toolDelta({ index: 0, id: null, type: null, function: { name: null, arguments: ':"Oslo"}' } }),
    END,
  ], oslo),
  own("index-missing-in-fragments", "O-56", [
    toolDelta(wholeCall("call_1", "weather", '{"city"')),
    toolDelta({ function: { arguments: ':"Oslo"}' } }),
    END,
  ], oslo),
  own("index-null", "O-56", [
    toolDelta({ index: null, ...wholeCall("call_1", "weather", '{"city"') }),
    toolDelta({ index: null, function: { arguments: ':"Oslo"}' } }),
    END,
  ], oslo),
  own("index-missing-two-in-one-array", "O-56", [
    chunk({ tool_calls: [wholeCall("a1", "a", "{}"), wholeCall("b1", "b", '{"y":2}')] }),
    END,
  ], message("tool_use", call("a1", "a", {}), call("b1", "b", { y: 2 }))),
  own(
    "no-index-no-id-two-named",
    "O-54 O-56",
    [
      toolDelta({ function: { name: "a", arguments: "{}" } }),
      toolDelta({ function: { name: "b", arguments: "{}" } }),
      END,
    ],
    message("tool_use", call("*", "a", {}), call("*", "b", {})),
    { distinct_ids: true },
  ),
  own(
    "no-id-two-at-index-zero",
    "O-54 O-57",
    [
      toolDelta({ index: 0, function: { name: "a", arguments: '{"x":1}' } }),
      toolDelta({ index: 0, function: { name: "a", arguments: '{"x":2}' } }),
      END,
    ],
    message("tool_use", call("*", "a", { x: 1 }), call("*", "a", { x: 2 })),
    { distinct_ids: true },
  ),
  own("index-starts-at-one", "O-58", [
    toolDelta({ index: 1, ...wholeCall("call_1", "weather", '{"city"') }),
    toolDelta({ index: 1, function: { arguments: ':"Oslo"}' } }),
    END,
  ], oslo),
  own(
    "index-goes-down",
    "O-58 O-59",
    [
      toolDelta({ index: 2, ...wholeCall("a1", "a", "{}") }),
      toolDelta({ index: 0, ...wholeCall("b1", "b", "{}") }),
      END,
    ],
    message("tool_use", call("a1", "a", {}), call("b1", "b", {})),
    { alternatives: [message("tool_use", call("b1", "b", {}), call("a1", "a", {}))] },
  ),
  own("full-name-in-every-fragment", "O-61", [
    open('{"city"'),
    more(':"Os', { function: { name: "weather", arguments: ':"Os' } }),
    toolDelta({ index: 0, function: { name: "weather", arguments: 'lo"}' } }),
    END,
  ], oslo),
  own("name-split-in-three", "O-62", [
    toolDelta({ index: 0, id: "call_1", function: { name: "wea" } }),
    toolDelta({ index: 0, function: { name: "the" } }),
    toolDelta({ index: 0, function: { name: "r", arguments: OSLO } }),
    END,
  ], oslo),
  own("id-split-is-not-joined", "O-72", [
    open('{"city"'),
    toolDelta({ index: 0, id: "call_1x", function: { arguments: ':"Oslo"}' } }),
    END,
  ], anyOslo),
  own("same-id-new-index", "O-52", [
    open('{"city"'),
    toolDelta({ index: 1, id: "call_1", function: { arguments: ':"Oslo"}' } }),
    END,
  ], oslo),
  own(
    "same-id-new-index-other-name",
    "O-73 O-52",
    [toolDelta({ index: 0, ...wholeCall("x", "a", "{}") }), toolDelta({ index: 1, ...wholeCall("x", "b", "{}") }), END],
    message("tool_use", call("x", "a", {}), call("*", "b", {})),
    { distinct_ids: true },
  ),
  own(
    "duplicate-ids-whole",
    "O-73",
    [
      chunk({
        tool_calls: [{ index: 0, ...wholeCall("x", "a", '{"x":1}') }, { index: 1, ...wholeCall("x", "b", '{"x":2}') }],
      }),
      END,
    ],
    message("tool_use", call("x", "a", { x: 1 }), call("*", "b", { x: 2 })),
    { distinct_ids: true },
  ),
  own("id-with-blanks", "O-73", [toolDelta({ index: 0, ...wholeCall("call 1\n", "weather", OSLO) }), END], anyOslo),
  own(
    "id-is-a-number",
    "O-54",
    [toolDelta({ index: 0, id: 7, function: { name: "weather", arguments: OSLO } }), END],
    anyOslo,
  ),
  own(
    "function-is-null",
    "O-55",
    [open('{"city"'), toolDelta({ index: 0, function: null }), more(':"Oslo"}'), END],
    oslo,
  ),
  own("legacy-function-call", "O-76", [
    chunk({ function_call: { name: "weather", arguments: '{"city"' } }),
    chunk({ function_call: { arguments: ':"Oslo"}' } }),
    finish("function_call"),
  ], anyOslo),
  own("custom-tool-with-input", "O-76", [
    toolDelta({ index: 0, id: "c", type: "custom", custom: { name: "sh", input: "ls" } }),
    END,
  ], error("protocol")),
  own("empty-content-beside-call", "O-77", [
    chunk({ content: "", tool_calls: [{ index: 0, ...wholeCall("call_1", "weather", OSLO) }] }),
    END,
  ], oslo),
  own("text-beside-call", "O-77", [
    chunk({ content: "Look.", tool_calls: [{ index: 0, ...wholeCall("call_1", "weather", OSLO) }] }),
    END,
  ], message("tool_use", text("Look."), call("call_1", "weather", { city: "Oslo" }))),
  own("line-feed-between-fragments", "O-77", [open('{"city"'), say("\n"), more(':"Oslo"}'), END], oslo),
  own("line-feeds-between-calls", "O-77", [
    toolDelta({ index: 0, ...wholeCall("a1", "a", "{}") }),
    say("\n\n"),
    toolDelta({ index: 1, ...wholeCall("b1", "b", "{}") }),
    END,
  ], message("tool_use", call("a1", "a", {}), call("b1", "b", {}))),
  own(
    "text-between-calls",
    "O-59 O-77",
    [
      toolDelta({ index: 0, ...wholeCall("a1", "a", "{}") }),
      say("and"),
      toolDelta({ index: 1, ...wholeCall("b1", "b", "{}") }),
      END,
    ],
    message("tool_use", call("a1", "a", {}), text("and"), call("b1", "b", {})),
    { alternatives: [message("tool_use", text("and"), call("a1", "a", {}), call("b1", "b", {}))] },
  ),
  own(
    "text-inside-arguments",
    "O-59 O-77",
    [open('{"city"'), say("and"), more(':"Oslo"}'), END],
    message("tool_use", call("call_1", "weather", { city: "Oslo" }), text("and")),
    { alternatives: [message("tool_use", text("and"), call("call_1", "weather", { city: "Oslo" }))] },
  ),
  own("phantom-behind-a-call", "O-78", [
    open(OSLO),
    toolDelta({ index: 0 }),
    toolDelta({ index: 0, function: { arguments: "" } }),
    END,
  ], oslo),
  own("phantom-at-a-new-index", "O-78", [open(OSLO), toolDelta({ index: 1, function: { arguments: "" } }), END], oslo, {
    alternatives: [error("protocol")],
  }),
  own("tool-calls-null", "O-78", [chunk({ content: "x", tool_calls: null }), finish()], message("end_turn", text("x"))),
  own(
    "tool-calls-hold-null",
    "O-78",
    [chunk({ content: "x", tool_calls: [null] }), finish()],
    message("end_turn", text("x")),
  ),
  own("name-with-channel-in-two-pieces", "O-79", [
    toolDelta({ index: 0, id: "call_1", function: { name: "weather<|chan" } }),
    toolDelta({ index: 0, function: { name: "nel|>", arguments: OSLO } }),
    END,
  ], oslo),
  own("index-beyond-safe", "O-80", [toolDelta({ index: 1e300, ...wholeCall("call_1", "weather", OSLO) }), END], oslo, {
    alternatives: [error("protocol")],
  }),
  own("index-is-text", "O-80", [toolDelta({ index: "0", ...wholeCall("call_1", "weather", OSLO) }), END], oslo, {
    alternatives: [error("protocol")],
  }),
  own(
    "extra-on-a-later-fragment",
    "O-74",
    [open('{"city"'), more(':"Oslo"}', { extra_content: { google: { thought_signature: "c2ln" } } }), END],
    message("tool_use", {
      ...call("call_1", "weather", { city: "Oslo" }),
      extra: { google: { thought_signature: "c2ln" } },
    }),
  ),
  own("reasoning-between-calls", "O-25 O-59", [
    toolDelta({ index: 0, ...wholeCall("a1", "a", "{}") }),
    chunk({ reasoning: "next" }),
    toolDelta({ index: 1, ...wholeCall("b1", "b", "{}") }),
    END,
  ], message("tool_use", call("a1", "a", {}), thought("next"), call("b1", "b", {}))),
  arguments_("", none, "empty", "O-65"),
  arguments_("null", none, "the-word-null", "O-65"),
  arguments_("  ", none, "blank", "O-65"),
  arguments_("{} ", none, "empty-object", "O-65"),
  arguments_('{}{"city":"Oslo"}', oslo, "empty-object-and-real-one", "O-67"),
  arguments_("{}{}", invalid("{}{}"), "two-empty-objects", "O-67 O-69", [none]),
  arguments_('"{\\"city\\":\\"Oslo\\"}"', oslo, "in-a-string", "O-68"),
  arguments_('"plain words"', invalid('"plain words"'), "a-plain-string", "O-70"),
  arguments_('```json\n{"city":"Oslo"}\n```', oslo, "in-a-fence", "O-70", [invalid('```json\n{"city":"Oslo"}\n```')]),
  arguments_(
    '{"q":"a}{b"}',
    message("tool_use", call("call_1", "weather", { q: "a}{b" })),
    "braces-inside-a-string",
    "O-69",
  ),
  arguments_('{"q":"a"} {"q":"b"}', invalid('{"q":"a"} {"q":"b"}'), "two-objects", "O-69", [
    message("tool_use", call("call_1", "weather", { q: "a" }), call("*", "weather", { q: "b" })),
  ]),
  arguments_('{"q":"a\nb"}', invalid('{"q":"a\nb"}'), "raw-line-feed", "O-70"),
  arguments_("{'q':1}", invalid("{'q':1}"), "single-quotes", "O-70"),
  arguments_("true", invalid("true"), "a-boolean", "O-70"),
  arguments_(
    '{"id":12345678901234567890,"k":1.0}',
    message("tool_use", {
      type: "tool_use",
      id: "call_1",
      name: "weather",
      input_json: '{"id":12345678901234567890,"k":1.0}',
    }),
    "large-integer",
    "O-71",
  ),
  own("arguments-object-in-pieces", "O-64", [
    toolDelta({ index: 0, id: "call_1", function: { name: "weather", arguments: {} } }),
    more(OSLO),
    END,
  ], oslo),
  own("arguments-empty-object-then-fragments", "O-67", [open("{}"), more('{"city"'), more(':"Oslo"}'), END], oslo),
];

function streamError(name: string, quirk: string, value: unknown, means: Meaning): WireCase {
  return own(`error-${name}`, quirk, [say("so"), data(value), DONE], means);
}

const errors: WireCase[] = [
  own("error-beside-choices", "O-84", [
    data({
      choices: [{ index: 0, delta: { content: "so" }, finish_reason: null }],
      error: { message: "GPU lost", code: 500 },
    }),
    DONE,
  ], error("stream", { retryable: true, mentions: ["GPU lost"] })),
  own(
    "error-before-a-cheerful-end",
    "O-84 O-37",
    [say("so"), data({ error: { message: "GPU lost" } }), finish()],
    error("stream", { mentions: ["GPU lost"], partial: [text("so")] }),
  ),
  own("error-in-the-choice", "O-84", [
    data({
      choices: [{
        index: 0,
        delta: { content: "" },
        finish_reason: "error",
        error: { code: 502, message: "Upstream lost" },
      }],
    }),
    DONE,
  ], error("stream", { retryable: true })),
  own("error-event-with-json", "O-86", [
    'event: error\ndata: {"error":{"message":"no slot","type":"server_error"}}\n\n',
    DONE,
  ], error("stream", { retryable: true, mentions: ["no slot"] })),
  own("error-event-without-data", "O-86", [say("so"), "event: error\n\n", DONE], error("stream"), {
    alternatives: [message("end_turn", text("so"))],
  }),
  own(
    "error-event-of-a-string",
    "O-86",
    [say("so"), 'event: error\ndata: "went away"\n\n'],
    error("stream", { mentions: ["went away"] }),
  ),
  own(
    "error-field-plain",
    "O-87",
    [say("so"), "error: slot is gone\n\n", DONE],
    error("stream", { mentions: ["slot is gone"] }),
  ),
  own(
    "error-field-first",
    "O-87",
    ['error: {"code":503,"message":"Loading model"}\n\n', DONE],
    error("stream", { retryable: true, mentions: ["Loading model"] }),
  ),
  streamError(
    "object-error",
    "O-85",
    { object: "error", message: "bad luck", code: 40003 },
    error("stream", { mentions: ["bad luck"] }),
  ),
  streamError(
    "code-and-error",
    "O-85",
    { code: "overloaded", error: "try later" },
    error("stream", { mentions: ["try later"] }),
  ),
  streamError(
    "anthropic-shape",
    "O-85",
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    error("stream", { retryable: true, mentions: ["Overloaded"] }),
  ),
  streamError(
    "detail-list",
    "O-85",
    { detail: [{ loc: ["body"], msg: "field required" }] },
    error("stream", { mentions: ["field required"] }),
  ),
  streamError(
    "message-only",
    "O-85",
    { message: "no model", code: 404 },
    error("stream", { retryable: false, mentions: ["no model"] }),
  ),
  streamError(
    "rate-limit",
    "O-84",
    { error: { message: "slow down", code: 429 } },
    error("stream", { retryable: true }),
  ),
  streamError("bad-request", "O-84", { error: { message: "wrong", code: 400 } }, error("stream", { retryable: false })),
  streamError(
    "key-echo",
    "O-84 H-01",
    { error: { message: "bad key sk-replay-SECRET-0001", code: 401 } },
    error("stream", { retryable: false }),
  ),
  own("error-false-and-empty", "O-38", [
    data({ choices: [{ index: 0, delta: { content: "fine" } }], error: false }),
    data({ choices: [], error: {} }),
    data({ choices: [], error: "" }),
    finish(),
  ], message("end_turn", text("fine"))),
  own("anthropic-stream", "A-34", [
    'event: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ], error("protocol")),
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
  http("403-html", "H-03", 403, "<html><body><h1>Attention Required! | Cloudflare</h1></body></html>", {
    retryable: false,
    mentions: ["403"],
    never_mentions: ["<h1>"],
  }, { "content-type": "text/html" }),
  http("405-plain", "H-20", 405, "Method Not Allowed", { retryable: false, mentions: ["405"] }),
  http("string", "H-05", 400, '{"error":"model requires more memory"}', {
    retryable: false,
    mentions: ["requires more memory"],
  }),
  http("array", "H-05", 400, '[{"error":{"code":400,"message":"bad field","status":"INVALID_ARGUMENT"}}]', {
    mentions: ["bad field"],
  }),
  http("detail-list", "H-05", 422, '{"detail":[{"loc":["body","messages"],"msg":"field required"}]}', {
    mentions: ["field required"],
  }),
  http("message", "H-05", 400, '{"message":"wrong shape","request_id":"r"}', { mentions: ["wrong shape"] }),
  http("code-message-data", "H-05", 400, '{"code":20012,"message":"no such model","data":null}', {
    mentions: ["no such model"],
  }),
  http("413-empty", "H-07", 413, "", { retryable: false, mentions: ["413"] }),
  http("bare-string", "H-05", 500, '"exploded"', { retryable: true, mentions: ["exploded"] }),
  http("empty", "H-05", 500, "", { retryable: true, mentions: ["500"] }),
  http("event-framed", "H-05", 500, 'data: {"error":{"message":"framed trouble"}}\n\n', {
    mentions: ["framed trouble"],
  }),
  http("broken-json", "H-05", 502, '{"error":{"message":"cut of', { retryable: true, mentions: ["502"] }),
  http("ansi", "H-15", 500, '{"error":{"message":"\\u001b[31mred\\u001b[0m alert"}}', {
    mentions: ["alert"],
    never_mentions: ["\u001b"],
  }),
  http("url-in-text", "H-15", 500, '{"error":{"message":"see https://internal.example/x?key=1"}}', {
    never_mentions: ["internal.example"],
  }),
  http("429-date", "H-08", 429, '{"error":{"message":"slow down"}}', { retryable: true }, {
    "retry-after": "Wed, 21 Oct 2099 07:28:00 GMT",
  }),
  http("429-negative", "H-08", 429, '{"error":{"message":"slow down"}}', { retryable: true }, { "retry-after": "-5" }),
  http("429-ms-beats-seconds", "H-08", 429, "{}", { retryable: true, retry_after_ms: 40 }, {
    "retry-after-ms": "40",
    "retry-after": "9",
  }),
  http("500-no-retry", "H-09", 500, "{}", { retryable: false }, { "x-should-retry": "false" }),
  http("409", "H-09", 409, "{}", { retryable: true }),
  http("401-echo-plain", "H-01", 401, "Incorrect API key: sk-replay-SECRET-0001", {
    retryable: false,
    never_mentions: ["Incorrect"],
  }),
  http("302", "H-16", 302, "", { retryable: false, never_mentions: ["/steal"] }, {
    location: "http://127.0.0.1:9/steal",
  }),
  http("304", "H-16", 304, "", { retryable: false }),
  http("308-relative", "H-16", 308, "", { retryable: false, never_mentions: ["/elsewhere"] }, {
    location: "/elsewhere",
  }),
  http("500-reset", "H-12", 500, '{"error":', { retryable: true, mentions: ["500"] }, { "content-length": "500" }),
];

/** All of this file. */
export const ownOpenAiCalls: WireCase[] = [...calls, ...errors, ...statuses];
