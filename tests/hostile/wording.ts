/**
 * The words that attacks are made of, in both dialects.
 * @module
 */
import { anthropicEncoding, openAiEncoding } from "../support/replies.ts";
import type { CallScript, End, Part } from "../support/writer.ts";
import type { Answer, Asked, Piece } from "./endpoint.ts";

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const LOREM = "lorem ipsum dolor sit amet ";

export function* forever(piece: Piece, pauseMs = 0): Iterable<Piece> {
  for (;;) {
    yield piece;
    if (pauseMs > 0) yield pauseMs;
  }
}

export function* chain(...parts: (Iterable<Piece> | Piece)[]): Iterable<Piece> {
  for (const part of parts) {
    if (typeof part === "object" && !(part instanceof Uint8Array)) yield* part;
    else yield part;
  }
}

export function* slowly(text: string, pauseMs: number): Iterable<Piece> {
  for (const letter of text) yield* [letter, pauseMs];
}

export function isOpenAi({ writer }: Asked): boolean {
  return writer.dialect.name === "openai_chat";
}

export function event(json: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${
    typeof json === "string" ? json : JSON.stringify(json)
  }\n\n`;
}

/** A chunk of OpenAI's with a delta, or an event of Anthropic's. */
export function piece(asked: Asked, delta: unknown, anthropic: { type: string }): string {
  return isOpenAi(asked)
    ? event({ id: "r", model: "hostile", choices: [{ index: 0, delta, finish_reason: null }] })
    : event(anthropic, anthropic.type);
}

/** A text delta whose JSON is written by hand around the text. */
export function textDelta(asked: Asked, content: string): [before: string, after: string] {
  const delta = { type: "text_delta", text: "@" };
  const [before = "", after = ""] = piece(asked, { content: "@" }, block("delta", 0, { delta })).split("@");
  return [before + content, after];
}

export function block(what: "start" | "delta" | "stop", index: unknown, more: object = {}): { type: string } {
  return { type: `content_block_${what}`, index, ...more } as { type: string };
}

export function reply({ writer }: Asked, parts: Part[], end: End = "end_turn"): string {
  return writer.events({ parts, end }).join("");
}

/** A reply up to its first delta, and that delta: what can go on for ever. */
export function endless(asked: Asked, part: Part, times: number, pauseMs = 0): Answer {
  const events = asked.writer.events({ parts: [part], end: "cut" });
  return { body: chain(events, forever(events.at(-1)!.repeat(times), pauseMs)) };
}

export function call(name: string, args: string, id = "call_1"): Part & { call: CallScript } {
  return { call: { id, name, args: args === "" ? [""] : args.match(/[^]{1,4096}/g)! } };
}

export function calls(asked: Asked, ...all: Part[]): Answer {
  return { body: reply(asked, all, "tool_use") };
}

/** A body that is no stream. */
export function whole(
  status: number,
  type: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Answer {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const fields = { "content-type": type, "content-length": String(bytes.length), ...headers };
  return { status, headers: fields, body: [bytes] };
}

export function failure(asked: Asked, status: number, message: string, headers: Record<string, string> = {}): Answer {
  return whole(status, "application/json", asked.writer.errorBody("server_error", message), headers);
}

export function document(asked: Asked, text: string): string {
  const encoding = isOpenAi(asked) ? openAiEncoding : anthropicEncoding;
  return JSON.stringify(encoding.document({ text }, { model: "hostile", serial: 1, usage: true }));
}

export function redirect(location: string): Answer {
  return whole(307, "text/plain", "moved", { location });
}

/** Pieces in the place of the text of a reply. */
export function between({ writer }: Asked, pieces: Iterable<Piece>): Iterable<Piece> {
  const [, ...rest] = writer.events({ parts: [{ text: ["x"] }], end: "end_turn" });
  const isDelta = rest.findIndex((event) => event.includes('"x"'));
  const [begin = ""] = writer.events({ parts: [], end: "cut" });
  return chain(begin, rest.slice(0, isDelta), pieces, rest.slice(isDelta + 1));
}
