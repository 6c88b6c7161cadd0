/**
 * Writes wire cases of our own, in few words.
 * @module
 */
import type { ExpectedBlock, Meaning, Piece, Reply, WireCase } from "../support/wire_case.ts";

/** End mark of an OpenAI stream. */
export const DONE = "data: [DONE]\n\n";

const ENVELOPE = { id: "chatcmpl-own", object: "chat.completion.chunk", created: 1750000000, model: "syn-model" };

/** An event whose data is this JSON. */
export function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** An OpenAI chunk with one choice. */
export function chunk(delta: unknown, finish: string | null = null, more: Record<string, unknown> = {}): string {
  return data({ ...ENVELOPE, choices: [{ index: 0, delta, finish_reason: finish }], ...more });
}

/** An OpenAI chunk with content. */
export function say(content: string): string {
  return chunk({ content });
}

/** An OpenAI chunk with a finish word, and the end mark. */
export function finish(word = "stop"): string {
  return chunk({}, word) + DONE;
}

/** An OpenAI chunk with one fragment of a call. */
export function toolDelta(call: Record<string, unknown>): string {
  return chunk({ tool_calls: [call] });
}

/** A whole OpenAI call, as an element of `tool_calls`. */
export function wholeCall(id: string, name: string, args: string, more: Record<string, unknown> = {}) {
  return { id, type: "function", function: { name, arguments: args }, ...more };
}

/** An Anthropic event. */
export function event(type: string, fields: Record<string, unknown> = {}): string {
  return `event: ${type}\n${data({ type, ...fields })}`;
}

/** The first event of an Anthropic stream. */
export function messageStart(usage: unknown = { input_tokens: 20, output_tokens: 1 }, more = {}): string {
  const message = { id: "msg_own", type: "message", role: "assistant", model: "claude-syn", content: [], usage };
  return event("message_start", { message: { ...message, stop_reason: null, stop_sequence: null, ...more } });
}

/** An Anthropic block: its start, its deltas, its end. */
export function block(index: number, content_block: Record<string, unknown>, deltas: Record<string, unknown>[] = []) {
  return event("content_block_start", { index, content_block }) +
    deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
    event("content_block_stop", { index });
}

/** An Anthropic text block. */
export function textBlock(index: number, ...texts: string[]): string {
  return block(index, { type: "text", text: "" }, texts.map((text) => ({ type: "text_delta", text })));
}

/** An Anthropic call. */
export function callBlock(index: number, id: string, name: string, ...args: string[]): string {
  const deltas = args.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return block(index, { type: "tool_use", id, name, input: {} }, deltas);
}

/** The end of an Anthropic stream. */
export function messageEnd(stop_reason: string | null = "end_turn", more: Record<string, unknown> = {}): string {
  return event("message_delta", {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 9 },
    ...more,
  }) + event("message_stop");
}

/** An expected text block. */
export function text(text: string): ExpectedBlock {
  return { type: "text", text };
}

/** An expected thinking block. */
export function thought(text: string, more: Partial<ExpectedBlock> = {}): ExpectedBlock {
  return { type: "thinking", text, ...more };
}

/** An expected call. */
export function call(id: string, name: string, input: Record<string, unknown>): ExpectedBlock {
  return { type: "tool_use", id, name, input };
}

/** An expected message. */
export function message(stop: string, ...blocks: ExpectedBlock[]): Meaning {
  return { outcome: "message", stop, blocks };
}

type ErrorFields = Omit<Extract<Meaning, { outcome: "error" }>, "outcome" | "kind">;

/** An expected error. */
export function error(kind: string, fields: ErrorFields = {}): Meaning {
  return { outcome: "error", kind, ...fields };
}

/** What a case of our own adds to the usual. */
export type OwnOptions =
  & Partial<Omit<Reply, "chunks">>
  & Pick<WireCase, "options" | "max_ms" | "distinct_ids" | "alternatives">;

/**
 * Makes a function that makes cases of one dialect.
 *
 * @returns `(id, quirks, chunks, expect, options?)`; the title is the id in words.
 */
export function ownCases(dialect: WireCase["dialect"]) {
  return (
    id: string,
    quirk: string,
    chunks: string | Piece[],
    expect: Meaning,
    options: OwnOptions = {},
  ): WireCase => {
    const { status = 200, headers = { "content-type": "text/event-stream" }, framing, ...more } = options;
    return {
      id: `own-${dialect}-${id}`,
      title: id.replaceAll("-", " "),
      dialect,
      quirk: quirk.split(" "),
      source: "a neighbour of the quirk",
      response: { status, headers, ...(framing && { framing }), chunks: [chunks].flat() },
      expect,
      ...more,
    };
  };
}
