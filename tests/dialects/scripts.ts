/**
 * Scripted replies and runs that every dialect must tell alike.
 * @module
 */
import type { Tool } from "@pawl/pawl";
import type { TellOptions } from "../support/tell.ts";
import type { CallScript, End, Part, ReplyScript } from "../support/writer.ts";

const USAGE = { input: 21, output: 7, cached: 5 };

const ADD: CallScript = { id: "call_1", name: "add", args: ['{"a":', "2,", '"b":3}'] };
const FAIL: CallScript = { id: "call_2", name: "fail", args: ['{"why":"x', 'y"}'] };
const UNKNOWN: CallScript = { id: "call_3", name: "nothing_of_the_kind", args: ["{}"] };
const BROKEN: CallScript = { id: "call_4", name: "add", args: ['{"a":'] };
const BARE: CallScript = { id: "call_5", name: "add", args: [] };

/** The tools that the calls of the scripts mean. */
export const TOOLS: Tool[] = [
  {
    name: "add",
    description: "Adds",
    inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a", "b"] },
    run: ({ a, b }) => String(Number(a) + Number(b)),
  },
  {
    name: "fail",
    description: "Fails",
    inputSchema: { type: "object" },
    run: () => {
      throw new Error("it failed");
    },
  },
];

const text = { text: ["Hel", "lo ", "wörld 👋"] };
const thinking = { thinking: ["Let me ", "see.", "\n"] };

function reply(end: End, ...parts: Part[]): ReplyScript {
  return { parts, end, usage: USAGE };
}

/** Replies by name. */
export const REPLIES: Record<string, ReplyScript> = {
  "a leaked thought around a call": reply("tool_use", { text: ["<think>hm"] }, { call: ADD }, {
    text: ["\n</think>", "So."],
  }),
  "text": reply("end_turn", text),
  "thinking": reply("end_turn", thinking),
  "thinking and text": reply("end_turn", thinking, text),
  "text, thinking, text": reply("end_turn", text, thinking, { text: ["more"] }),
  "one call": reply("tool_use", { call: ADD }),
  "text and a call": reply("tool_use", text, { call: ADD }),
  "thinking, text and a call": reply("tool_use", thinking, text, { call: ADD }),
  "parallel calls": reply("tool_use", { call: ADD }, { call: FAIL }, { call: UNKNOWN }),
  "interleaved calls": reply("tool_use", { interleaved: [ADD, FAIL, UNKNOWN] }),
  "interleaved calls, one broken": reply("tool_use", { interleaved: [BROKEN, ADD] }),
  "a broken call before another": reply("tool_use", { call: BROKEN }, { call: FAIL }),
  "text between calls": reply("tool_use", { call: ADD }, { text: ["and"] }, { call: FAIL }),
  "blank text between calls": reply("tool_use", { call: ADD }, { text: ["\n", "\n"] }, { call: FAIL }),
  "thinking between calls": reply("tool_use", { call: ADD }, thinking, { call: FAIL }),
  "a call without arguments": reply("tool_use", { call: BARE }),
  "two calls of one id": reply("tool_use", { call: ADD }, { call: { ...FAIL, id: ADD.id } }),
  "an unusable id": reply("tool_use", { call: { ...ADD, id: "call 1 é" } }),
  "a name with a channel token": reply("tool_use", { call: { ...ADD, name: "add<|channel|>commentary" } }),
  "two objects as arguments": reply("tool_use", { call: { ...ADD, args: ["{}", "{}"] } }),
  "empty answer": reply("end_turn"),
  "blank answer": reply("end_turn", { text: [" ", "\n"] }),
  "output limit": reply("max_tokens", text),
  "output limit while thinking": reply("max_tokens", thinking),
  "output limit inside a call": reply("max_tokens", text, { call: BROKEN }),
  "refusal": reply("refusal", { text: ["I cannot do that."] }),
  "refusal without a word": reply("refusal"),
  "refusal with a call": reply("refusal", { call: ADD }),
  "an unknown finish word": reply("other", text),
  "calls and a finish word of an answer": reply("end_turn", text, { call: ADD }),
  "a finish word of calls and none": reply("tool_use", text),
  "an end mark alone behind text": { parts: [text], end: "mark_only" },
  "an end mark alone behind a call": { parts: [{ call: ADD }], end: "mark_only" },
  "an end mark alone inside a call": { parts: [{ call: BROKEN }], end: "mark_only" },
  "an error in mid-stream": reply({ type: "overloaded_error", code: 529, message: "Overloaded" }, thinking, text),
  "an error at once": reply({ type: "invalid_request_error", code: 400, message: "No such thing" }),
  "an overflow in mid-stream": reply({ type: "invalid_request_error", code: 400, message: "prompt is too long" }, text),
  "an error inside a call": reply({ type: "api_error", code: 500, message: "Lost" }, { call: BROKEN }),
  "cut off in text": { parts: [text], end: "cut" },
  "cut off in a call": { parts: [text, { call: BROKEN }], end: "cut" },
  "cut off behind a call": { parts: [{ call: ADD }], end: "cut" },
  "cut off before all": { parts: [], end: "cut" },
  "a broken connection": { parts: [thinking, text], end: "reset" },
  "no usage": { parts: [text], end: "end_turn" },
  "leaked thinking": reply("end_turn", { text: ["<thi", "nk>hm</think>", "\n\nSo."] }),
  "leaked thinking and a call": reply("tool_use", { text: ["hm</think>", "\nSo."] }, { call: ADD }),
  "unclosed leaked thinking": reply("end_turn", { text: ["So. <think>", "hm"] }),
  "a tag beside real thinking": reply("end_turn", thinking, { text: ["the </think> tag"] }),
  "half a surrogate pair before a call": reply("tool_use", { text: ["\ud83d"] }, { call: ADD }),
  "half a tag before a call": reply("tool_use", { text: ["a <thin"] }, { call: ADD }),
  "a leaked call": reply("end_turn", { text: ['<tool_call>{"name":"add"}', "</tool_call>"] }),
  "a tag that vanishes between thoughts": reply("end_turn", thinking, { text: ["<think></think>"] }, thinking, text),
  "control characters": reply("end_turn", { text: ["a\u0000\u001b[1m\u2028b"] }),
  "HTTP 400": { parts: [], end: "cut", http: { status: 400, type: "invalid_request_error", message: "No such thing" } },
  "HTTP 401": { parts: [], end: "cut", http: { status: 401, type: "authentication_error", message: "no" } },
  "HTTP 413": { parts: [], end: "cut", http: { status: 413, type: "request_too_large", message: "large" } },
  "HTTP 429": {
    parts: [],
    end: "cut",
    http: { status: 429, type: "rate_limit_error", message: "slow", headers: { "retry-after": "3" } },
  },
  "HTTP 529": { parts: [], end: "cut", http: { status: 529, type: "overloaded_error", message: "Overloaded" } },
};

/** The reply that ends a run. */
export const ANSWER = reply("end_turn", { text: ["It is 5."] });
/** Runs by name: one reply a round. */
export const RUNS: Record<string, { replies: ReplyScript[]; options?: TellOptions }> = {
  "an answer": { replies: [reply("end_turn", thinking, text)] },
  "a tool loop": { replies: [reply("tool_use", thinking, text, { call: ADD }), ANSWER] },
  "a loop of three rounds": {
    replies: [reply("tool_use", { call: ADD }), reply("tool_use", { call: { ...FAIL, id: "call_1" } }), ANSWER],
  },
  "parallel calls": { replies: [reply("tool_use", { call: ADD }, { call: FAIL }, { call: UNKNOWN }), ANSWER] },
  "interleaved and invalid calls": { replies: [reply("tool_use", { interleaved: [ADD, BROKEN, BARE] }), ANSWER] },
  "calls under the word of an answer": { replies: [reply("end_turn", { call: ADD }), ANSWER] },
  "leaked thinking in every reply": {
    replies: [
      reply("tool_use", { text: ["hm</think>Look."] }, { call: ADD }),
      reply("end_turn", { text: ["<think>hm</think>\n5"] }),
    ],
  },
  "an empty answer": { replies: [reply("end_turn")] },
  "an empty answer behind tools": { replies: [reply("tool_use", { call: ADD }), reply("end_turn")] },
  "nothing but reasoning": { replies: [reply("end_turn", thinking)] },
  "an output limit": { replies: [reply("max_tokens", text)] },
  "an output limit with a call": { replies: [reply("max_tokens", { call: ADD })] },
  "a refusal": { replies: [reply("refusal", { text: ["No."] })] },
  "a refusal with a call": { replies: [reply("refusal", { text: ["No."] }, { call: ADD })] },
  "an error in the second reply": {
    replies: [
      reply("tool_use", { call: ADD }),
      reply({ type: "overloaded_error", code: 529, message: "Overloaded" }, text),
    ],
  },
  "a second reply that is cut off": {
    replies: [reply("tool_use", { call: ADD }), { parts: [text], end: "cut" }],
  },
  "an HTTP error in the second round": { replies: [reply("tool_use", { call: ADD }), REPLIES["HTTP 400"]!] },
  "an iteration limit": {
    replies: [reply("tool_use", { call: ADD }), reply("tool_use", text, { call: ADD })],
    options: { agent: { maxIterations: 2 } },
  },
};
