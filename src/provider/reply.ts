/**
 * Reads one reply off its connection: server-sent events, or one JSON document.
 * @module
 */
import { isPawlError } from "../model/error.ts";
import type { Limits } from "../model/limits.ts";
import type { Message } from "../model/message.ts";
import { type Exchange, readAll } from "../wire/http.ts";
import { type SseEvent, SseParser } from "../wire/sse.ts";
import type { Decoder } from "./dialect.ts";
import { truncated, violation } from "./failure.ts";
import type { MessageBuilder } from "./message_builder.ts";
import { createEventReader } from "./read.ts";
import { parse } from "./tool_input.ts";

const OPENING_BRACE = 123;

/** What a reply is read with. */
export interface ReplyParts {
  /** Sent, with a 2xx head. */
  connection: Exchange;
  /** Told what the decoder reads. */
  builder: MessageBuilder;
  /** The dialect's reader, bound to the builder. */
  decoder: Decoder;
  limits: Limits;
}

/**
 * Makes the function that reads on: it takes in what arrives next, and gives the message once the reply is finished.
 *
 * @param parts The connection and who is told of it.
 */
export function createReader({ connection, builder, decoder, limits }: ReplyParts): () => Promise<Message | undefined> {
  const parser = new SseParser(limits);
  const reader = createEventReader(builder, decoder);
  let begun = false;

  function decode({ event, data }: SseEvent): boolean {
    if (data.charCodeAt(0) !== OPENING_BRACE) {
      const first = data.trimStart()[0];
      if (event === "error" && !first) builder.fail("");
      // A blank keep-alive is no event (quirk S-08).
      if (!first) return false;
    }
    return reader.event(event, data);
  }

  /** A reply in one JSON document, perhaps with an end mark behind it (quirk S-18). */
  async function readDocument(begin: string): Promise<Message> {
    const text = begin + await readAll(connection, limits.maxJsonBytes - begin.length);
    const mark = text.lastIndexOf("\ndata:");
    const value = parse(text) ?? parse(text.slice(0, Math.max(mark, 0)));
    const isEnd = value === undefined ? undefined : reader.take(value);
    return isEnd === undefined ? rejectBody() : builder.finish(isEnd);
  }

  function rejectBody(): never {
    const type = connection.contentType;
    return violation(`it is no event stream${type && ` but "${type}"`}, look at the path of the base URL`);
  }

  return async function read() {
    let text: string | undefined;
    try {
      text = await connection.read();
    } catch (error) {
      // A connection that breaks once the reply is complete has ended it (quirks O-31, A-28).
      if (!builder.stopped || !(isPawlError(error, "truncated") || isPawlError(error, "timeout"))) throw error;
    }
    if (text === undefined) {
      const isEnd = parser.flush().some(decode);
      if (reader.garbled && !builder.stopped) throw truncated("its last event is cut");
      return builder.finish(isEnd);
    }
    if (!begun) {
      const first = text.trimStart()[0];
      if (first === "{" || first === "[") return await readDocument(text);
      if (first === "<" || first === "\x1f") rejectBody();
      begun = first !== undefined;
    }
    for (const event of parser.feed(text)) {
      if (decode(event)) return builder.finish(true);
    }
    if (builder.takeProgress()) connection.progress();
  };
}
