/**
 * Wire cases of our own: second looks at quirks of which there is but one case.
 * @module
 */
import type { WireCase } from "../support/wire_case.ts";
import {
  block,
  call,
  callBlock,
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
  toolDelta,
  wholeCall,
} from "./own_build.ts";

const openai = ownCases("openai");
const anthropic = ownCases("anthropic");

const START = messageStart();
const OSLO = '{"city":"Oslo"}';
const oslo = message("tool_use", call("call_1", "weather", { city: "Oslo" }));
const WEATHER = wholeCall("call_1", "weather", OSLO);
const JSON_HEAD = { "content-type": "application/json" };

function bytes(...parts: (string | number[])[]): { b64: string } {
  const all = parts.flatMap((part) => typeof part === "string" ? [...new TextEncoder().encode(part)] : part);
  return { b64: btoa(String.fromCharCode(...all)) };
}

/** JSON around raw bytes: `MARK` is where they go. */
function around(wire: string, raw: number[]): { b64: string } {
  const [before = "", after = ""] = wire.split("MARK");
  return bytes(before, raw, after);
}

const framing: WireCase[] = [
  anthropic(
    "cr-and-lf-apart",
    "S-04",
    [START, textBlock(0, "x"), messageEnd()].flatMap((wire) =>
      wire.split("\n").flatMap((line, i, all) => i < all.length - 1 ? [line + "\r", "\n"] : []).filter(Boolean)
    ),
    message("end_turn", text("x")),
  ),
  openai(
    "cr-at-the-very-end",
    "S-04 S-09",
    [say("x"), chunk({}, "stop").trimEnd() + "\r"],
    message("end_turn", text("x")),
  ),
  anthropic("rewrapped-comments", "S-07", [
    "data: : PROCESSING\n\n",
    START,
    "data::\n\n",
    textBlock(0, "x"),
    messageEnd(),
  ], message("end_turn", text("x"))),
  openai(
    "comment-data-inside-an-event",
    "S-07 S-13",
    ['data: : PROCESSING\ndata: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n', finish()],
    message("end_turn", text("x")),
    { alternatives: [error("protocol")] },
  ),
  openai("invalid-utf8-in-arguments", "S-15", [
    around(toolDelta({ index: 0, ...wholeCall("call_1", "weather", '{"city":"MARK"}') }), [0xff]),
    finish("tool_calls"),
  ], message("tool_use", call("call_1", "weather", { city: "\ufffd" }))),
  anthropic(
    "invalid-utf8",
    "S-15",
    [START, around(textBlock(0, "aMARKb"), [0xe2, 0x82]), messageEnd()],
    message("end_turn", text("a\ufffdb")),
  ),
  openai(
    "utf8-cut-at-the-end",
    "S-15 H-12",
    [say("x"), bytes('data: {"choices":[{"delta":{"content":"', [0xf0, 0x9f])],
    error("truncated", { retryable: true, partial: [text("x")] }),
  ),
  openai("closed-when-complete", "H-11", [say("x"), chunk({}, "stop"), DONE], message("end_turn", text("x")), {
    framing: "close",
  }),
  openai(
    "closed-behind-a-call",
    "H-11 O-40",
    [toolDelta({ index: 0, ...WEATHER })],
    error("truncated", { retryable: true }),
    { framing: "close" },
  ),
  anthropic(
    "closed-before-stop-reason",
    "H-11 A-29",
    [START, textBlock(0, "x")],
    error("truncated", { retryable: true }),
    { framing: "close" },
  ),
  openai(
    "metadata-raw-of-json",
    "H-06",
    JSON.stringify({
      error: {
        message: "Provider returned error",
        code: 429,
        metadata: { raw: '{"error":{"message":"rate-limited upstream"}}' },
      },
    }),
    error("http", { status: 429, retryable: true, mentions: ["Provider returned error"] }),
    { status: 429, headers: JSON_HEAD },
  ),
  openai(
    "metadata-raw-of-html",
    "H-06",
    JSON.stringify({
      error: { message: "Provider returned error", metadata: { raw: "<html><body>502</body></html>" } },
    }),
    error("http", { status: 502, never_mentions: ["<body>"] }),
    { status: 502, headers: JSON_HEAD },
  ),
];

const openAi: WireCase[] = [
  openai("baseline-with-a-call-and-usage", "O-01 O-50", [
    chunk({ role: "assistant", content: null }),
    toolDelta({ index: 0, ...wholeCall("call_1", "weather", "") }),
    toolDelta({ index: 0, function: { arguments: OSLO } }),
    chunk({}, "tool_calls"),
    data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 } }),
    DONE,
  ], { ...oslo, usage: { input: 3, output: 9 } } as typeof oslo),
  openai("no-role-before-a-call", "O-02", [toolDelta({ index: 0, ...WEATHER }), finish("tool_calls")], oslo),
  openai("role-repeated-on-a-call", "O-03", [
    chunk({ role: "assistant", tool_calls: [{ index: 0, ...wholeCall("call_1", "weather", '{"city"') }] }),
    chunk({ role: "assistant", tool_calls: [{ index: 0, function: { arguments: ':"Oslo"}' } }] }),
    finish("tool_calls"),
  ], oslo),
  openai("choice-null", "O-05", [
    data({ choices: [null, { index: 0, delta: { content: "x" }, finish_reason: "stop" }] }),
  ], message("end_turn", text("x"))),
  openai("role-null", "O-04", [chunk({ role: null, content: "x" }), finish()], message("end_turn", text("x"))),
  openai("nulls-beside-a-call", "O-05", [
    chunk({
      role: null,
      content: null,
      reasoning_content: null,
      function_call: null,
      refusal: null,
      tool_calls: [{ index: 0, ...WEATHER }],
    }),
    finish("tool_calls"),
  ], oslo),
  openai("filter-results-all-along", "O-06", [
    data({ id: "", model: "", choices: [], prompt_filter_results: [] }),
    data({
      id: "",
      model: "",
      choices: [{ index: 0, delta: { content: "x" }, content_filter_results: { hate: { filtered: false } } }],
    }),
    finish(),
  ], message("end_turn", text("x"))),
  openai("index-counts-up-with-a-call", "O-09", [
    data({ choices: [{ index: 0, delta: { content: "Look." } }] }),
    data({
      choices: [{ index: 1, delta: { tool_calls: [{ index: 0, ...wholeCall("call_1", "weather", '{"city"') }] } }],
    }),
    data({ choices: [{ index: 2, delta: { tool_calls: [{ index: 0, function: { arguments: ':"Oslo"}' } }] } }] }),
    data({ choices: [{ index: 3, delta: {}, finish_reason: "tool_calls" }] }),
    DONE,
  ], message("tool_use", text("Look."), call("call_1", "weather", { city: "Oslo" }))),
  openai("all-in-one-delta", "O-24 O-77", [
    chunk({ reasoning: "why", content: "what", tool_calls: [{ index: 0, ...WEATHER }] }, "tool_calls"),
    DONE,
  ], message("tool_use", thought("why"), text("what"), call("call_1", "weather", { city: "Oslo" }))),
  openai("empty-reasoning-beside-a-call", "O-26", [
    chunk({ reasoning_content: "", content: "", tool_calls: [{ index: 0, ...WEATHER }] }),
    finish("tool_calls"),
  ], oslo),
  openai("reasoning-only-and-stop", "O-27", [chunk({ reasoning: "hm" }), finish()], message("end_turn", thought("hm"))),
  openai("call-and-finish-in-the-last-chunk", "O-34 O-51", [
    chunk({ tool_calls: [{ index: 0, ...WEATHER }] }, "tool_calls", {
      usage: { prompt_tokens: 2, completion_tokens: 2 },
    }),
    DONE,
  ], { ...oslo, usage: { input: 2, output: 2 } } as typeof oslo),
  openai("usage-every-chunk-and-null-last", "O-43", [
    chunk({ content: "a" }, null, { usage: { prompt_tokens: 7, completion_tokens: 1 } }),
    chunk({ content: "b" }, null, { usage: { prompt_tokens: 7, completion_tokens: 2 } }),
    chunk({}, "stop", { usage: null }),
    DONE,
  ], { ...message("end_turn", text("ab")), usage: { input: 7, output: 2 } } as ReturnType<typeof message>),
  openai("id-empty-first", "O-53 O-54", [
    toolDelta({ index: 0, id: "", function: { name: "weather", arguments: "" } }),
    toolDelta({ index: 0, id: "call_1", function: { arguments: OSLO } }),
    finish("tool_calls"),
  ], message("tool_use", call("*", "weather", { city: "Oslo" }))),
  openai(
    "function-call-word-without-call",
    "O-75",
    [say("I will."), finish("function_call")],
    error("protocol", { retryable: true, partial: [text("I will.")] }),
  ),
  openai(
    "tool-calls-word-and-empty-list",
    "O-75 O-78",
    [chunk({ tool_calls: [] }), finish("tool_calls")],
    error("protocol", { retryable: true }),
  ),
  openai(
    "harmony-in-pieces",
    "O-83",
    [say("<|chan"), say("nel|>analysis<|mess"), say("age|>plan"), finish()],
    message("end_turn", text("<|channel|>analysis<|message|>plan")),
  ),
  openai(
    "empty-chunk-first-and-eof",
    "O-88",
    [chunk({ role: "assistant", content: "" })],
    error("truncated", { retryable: true }),
  ),
];

const claude: WireCase[] = [
  anthropic(
    "baseline-all-kinds",
    "A-01",
    [
      START,
      event("ping"),
      block(0, { type: "thinking", thinking: "", signature: "" }, [{ type: "thinking_delta", thinking: "hm" }, {
        type: "signature_delta",
        signature: "c2ln",
      }]),
      textBlock(1, "so", " it is"),
      callBlock(2, "toolu_1", "weather", "", '{"city"', ':"Oslo"}'),
      messageEnd("tool_use"),
    ],
    message(
      "tool_use",
      thought("hm", { signature: "c2ln" }),
      text("so it is"),
      call("toolu_1", "weather", { city: "Oslo" }),
    ),
  ),
  anthropic("unknown-before-the-start", "A-05", [
    event("tea_break", { minutes: 5 }),
    START,
    textBlock(0, "x"),
    messageEnd(),
  ], message("end_turn", text("x"))),
  anthropic("unknown-delta-on-a-call", "A-05", [
    START,
    block(0, { type: "tool_use", id: "toolu_1", name: "weather", input: {} }, [{ type: "hologram_delta", data: "?" }, {
      type: "input_json_delta",
      partial_json: OSLO,
    }]),
    messageEnd("tool_use"),
  ], message("tool_use", call("toolu_1", "weather", { city: "Oslo" }))),
  anthropic("stop-sequence-word-with-a-call", "A-14", [
    START,
    callBlock(0, "toolu_1", "weather", OSLO),
    messageEnd("stop_sequence"),
  ], message("tool_use", call("toolu_1", "weather", { city: "Oslo" }))),
  anthropic(
    "refusal-word-with-a-call",
    "A-14 A-25",
    [START, callBlock(0, "toolu_1", "weather", OSLO), messageEnd("refusal")],
    message("refusal", call("toolu_1", "weather", { city: "Oslo" })),
    { alternatives: [message("refusal")] },
  ),
  anthropic("tool-use-word-behind-thinking", "A-15", [
    START,
    block(0, { type: "thinking", thinking: "" }, [{ type: "thinking_delta", thinking: "I will" }]),
    messageEnd("tool_use"),
  ], error("protocol", { retryable: true, partial: [thought("I will")] })),
  anthropic("tool-use-word-behind-a-server-tool", "A-15 A-22", [
    START,
    block(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
    messageEnd("tool_use"),
  ], error("protocol", { retryable: true })),
];

/** Second looks, both dialects. */
export const ownMore: WireCase[] = [...framing, ...openAi, ...claude];
