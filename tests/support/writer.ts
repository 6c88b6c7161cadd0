/**
 * Renders one scripted reply in the words of each dialect, so that what a provider makes of it can be held equal.
 * @module
 */
import { anthropicMessages, type Dialect, openAiChat } from "@pawl/pawl";
import type { Answer } from "./replay_server.ts";
import { type Chunking, seeded, steps } from "./wire_case.ts";

/** A call, its arguments in the fragments in which they arrive. */
export interface CallScript {
  id: string;
  name: string;
  args: string[];
}

/** One piece of a reply, cut as it arrives. Neighbours are of different kinds: OpenAI knows no border between two texts. */
export type Part =
  | { text: string[] }
  | { thinking: string[] }
  | { call: CallScript }
  /** Calls whose fragments take turns. */
  | { interleaved: CallScript[] };

/** How a reply ends. */
export type End =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "refusal"
  | "other"
  /** No finish word, only the protocol's end mark. */
  | "mark_only"
  /** The body ends without any mark. */
  | "cut"
  /** The connection breaks. */
  | "reset"
  /** An error inside the stream. */
  | { type: string; code: number; message: string };

/** A reply as an author thinks of it. */
export interface ReplyScript {
  parts: Part[];
  end: End;
  /** Reported at the end; none if absent. */
  usage?: { input: number; output: number; cached?: number };
  /** An HTTP status other than 200: the reply is an error body with this message. */
  http?: { status: number; type: string; message: string; headers?: Record<string, string> };
}

/** A dialect that can be written. */
export interface Writer {
  dialect: Dialect;
  baseUrl: string;
  /** The events of a reply, each as its wire text. */
  events(reply: ReplyScript): string[];
  /** The body of an HTTP error. */
  errorBody(type: string, message: string): string;
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The fragments of calls, one of each in turn. */
export function takeTurns(
  calls: readonly CallScript[],
): { call: CallScript; nth: number; fragment: string; first: boolean }[] {
  const turns = [];
  const longest = Math.max(...calls.map(({ args }) => args.length), 1);
  for (let i = 0; i < longest; i++) {
    for (const [nth, call] of calls.entries()) {
      const fragment = call.args[i];
      if (fragment !== undefined || i === 0) turns.push({ call, nth, fragment: fragment ?? "", first: i === 0 });
    }
  }
  return turns;
}

const OPENAI_STOPS: Record<string, string> = {
  end_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  refusal: "content_filter",
  other: "cosmic_ray",
};

function openAiEvents({ parts, end, usage }: ReplyScript): string[] {
  const out: string[] = [];
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    out.push(
      data({
        id: "reply_1",
        object: "chat.completion.chunk",
        model: "m-1",
        choices: [{ index: 0, delta, finish_reason }],
      }),
    );
  chunk({ role: "assistant", content: "" });
  let calls = 0;
  for (const part of parts) {
    if ("text" in part) part.text.forEach((content) => chunk({ content }));
    else if ("thinking" in part) part.thinking.forEach((reasoning_content) => chunk({ reasoning_content }));
    else {
      const list = "call" in part ? [part.call] : part.interleaved;
      for (const { call: { id, name }, nth, fragment, first } of takeTurns(list)) {
        const index = calls + nth;
        chunk({
          tool_calls: [
            first
              ? { index, id, type: "function", function: { name, arguments: fragment } }
              : { index, function: { arguments: fragment } },
          ],
        });
      }
      calls += list.length;
    }
  }
  if (end === "cut" || end === "reset") return out;
  if (typeof end === "object") return [...out, data({ error: end })];
  if (end !== "mark_only") chunk({}, OPENAI_STOPS[end]);
  if (usage) {
    const { input, output, cached } = usage;
    const details = cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } };
    out.push(
      data({
        id: "reply_1",
        model: "m-1",
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, ...details },
      }),
    );
  }
  return [...out, "data: [DONE]\n\n"];
}

function anthropicEvents({ parts, end, usage }: ReplyScript): string[] {
  const out: string[] = [];
  const event = (type: string, fields: object = {}) => out.push(`event: ${type}\n${data({ type, ...fields })}`);
  event("message_start", {
    message: { id: "reply_1", type: "message", role: "assistant", model: "m-1", content: [], stop_reason: null },
  });
  let index = 0;
  const start = (at: number, content_block: unknown) => event("content_block_start", { index: at, content_block });
  const delta = (at: number, delta: unknown) => event("content_block_delta", { index: at, delta });
  // What breaks off, breaks off inside its last block.
  const isOpen = !["end_turn", "tool_use", "max_tokens", "refusal", "other"].includes(end as string);
  for (const [i, part] of parts.entries()) {
    const stop = (at: number) => {
      if (!isOpen || i < parts.length - 1) event("content_block_stop", { index: at });
    };
    if ("text" in part) {
      start(index, { type: "text", text: "" });
      part.text.forEach((text) => delta(index, { type: "text_delta", text }));
      stop(index++);
    } else if ("thinking" in part) {
      start(index, { type: "thinking", thinking: "", signature: "" });
      part.thinking.forEach((thinking) => delta(index, { type: "thinking_delta", thinking }));
      if (part.thinking.join("") !== "") delta(index, { type: "signature_delta", signature: "c2ln" });
      stop(index++);
    } else {
      const list = "call" in part ? [part.call] : part.interleaved;
      for (const { call: { id, name }, nth, fragment, first } of takeTurns(list)) {
        if (first) start(index + nth, { type: "tool_use", id, name, input: {} });
        delta(index + nth, { type: "input_json_delta", partial_json: fragment });
      }
      // Blocks that overlap, as llama.cpp sends them: all end after the last fragment.
      list.forEach(() => stop(index++));
    }
  }
  if (end === "cut" || end === "reset") return out;
  if (typeof end === "object") {
    event("error", { error: { type: end.type, message: end.message } });
    return out;
  }
  const counts = usage && {
    input_tokens: usage.input - (usage.cached ?? 0),
    ...(usage.cached !== undefined && { cache_read_input_tokens: usage.cached }),
    output_tokens: usage.output,
  };
  if (end !== "mark_only" || counts) {
    const stop_reason = end === "mark_only" ? null : end === "other" ? "cosmic_ray" : end;
    event("message_delta", { delta: { stop_reason, stop_sequence: null }, ...(counts && { usage: counts }) });
  }
  event("message_stop");
  return out;
}

/** The two dialects of the library. */
export const WRITERS: readonly Writer[] = [
  {
    dialect: openAiChat,
    baseUrl: "http://memory.invalid/v1",
    events: openAiEvents,
    errorBody: (type, message) => JSON.stringify({ error: { type, message, code: type } }),
  },
  {
    dialect: anthropicMessages,
    baseUrl: "http://memory.invalid",
    events: anthropicEvents,
    errorBody: (type, message) => JSON.stringify({ type: "error", error: { type, message } }),
  },
];

/** A reply as an answer of an endpoint, cut into network chunks. */
export function write(writer: Writer, reply: ReplyScript, chunking: Chunking = "recorded", seed = 1): Answer {
  const { status = 200, type = "", message = "", headers = {} } = reply.http ?? {};
  const pieces = reply.http ? [writer.errorBody(type, message)] : writer.events(reply);
  const made = steps(pieces, chunking, seeded(seed));
  return {
    status,
    headers: { "content-type": status === 200 ? "text/event-stream" : "application/json", ...headers },
    steps: reply.end === "reset" ? [...made, { abort: true }] : made,
  };
}
