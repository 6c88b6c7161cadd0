/**
 * Reads one reply off its connection: server-sent events, or one JSON document.
 * @module
 */
import { isPawlError } from "../model/error.ts";
import type { StreamEvent } from "../model/event.ts";
import { exceeded } from "../model/limits.ts";
import type { Message } from "../model/message.ts";
import type { Exchange } from "../wire/http.ts";
import { SseParser } from "../wire/sse.ts";
import type { Decoder } from "./dialect.ts";
import { truncated, violation } from "./failure.ts";
import type { MessageBuilder } from "./message_builder.ts";
import { createEventReader } from "./read.ts";
import { parse } from "./tool_input.ts";

/** What a reply is read with: a connection that has sent nothing yet, and the dialect's decoder, which tells the builder. */
export type ReplyParts = [connection: Exchange, builder: MessageBuilder, decoder: Decoder];

/** Batches of events, each of what arrived together and none empty; at the end the message. Pulls must not overlap. */
export type Batches = AsyncIterableIterator<StreamEvent[], Message, undefined>;

/**
 * Sends a request and reads the reply. It is no generator function, which would cost each chunk of the network three times as much.
 *
 * @param begin Makes what it is read with, at the first pull.
 */
export function readReply(begin: () => ReplyParts): Batches {
  let connection: Exchange | undefined, builder: MessageBuilder, decoder: Decoder;
  let take: ReturnType<typeof createTake> | undefined;
  let message: Message | undefined;
  /** Is thrown once what arrived before it has been told. */
  let failure: { error: unknown } | undefined;
  let isOver = false;

  const batches: Batches = {
    [Symbol.asyncIterator]: () => batches,
    async next() {
      if (isOver) return batches.return!();
      let value: StreamEvent[] = [];
      try {
        if (!connection) [connection, builder, decoder] = begin();
        if (!take) {
          const notice = await connection.send();
          if (notice) return { value: [{ type: "retry", ...notice }], done: false };
          take = createTake(connection, builder, decoder);
        }
        while (!message && !failure && value.length === 0) {
          let text: string | undefined;
          try {
            text = connection.take(await connection.next());
          } catch (error) {
            const reason = connection.failure(error);
            // A connection that breaks once the reply is complete has ended it (quirks O-31, A-28).
            if (!builder.stopped || !(isPawlError(reason, "truncated") || isPawlError(reason, "timeout"))) throw reason;
          }
          message = take(text);
          value = builder.take();
        }
      } catch (error) {
        failure = { error };
        if (connection && isPawlError(error)) {
          value = builder.take();
          error.partial = builder.partial();
        }
      }
      if (value.length > 0) return { value, done: false };
      const end = batches.return!();
      if (failure) throw failure.error;
      return end;
    },
    return() {
      isOver = true;
      connection?.close();
      return Promise.resolve({ value: message!, done: true });
    },
  };
  return batches;
}

/** Makes the function that takes in what arrives, or `undefined` at the end; it gives the message once the reply is finished. */
function createTake(
  connection: Exchange,
  builder: MessageBuilder,
  decoder: Decoder,
): (text: string | undefined) => Message | undefined {
  const { limits } = connection;
  const parser = new SseParser(limits);
  const reader = createEventReader(builder, decoder);
  let begun = false;
  /** What has come of a reply in one JSON document. */
  let document: string | undefined;

  /** A reply in one JSON document, perhaps with an end mark behind it (quirk S-18). */
  function readDocument(text: string): Message {
    const mark = text.lastIndexOf("\ndata:");
    const value = parse(text) ?? parse(text.slice(0, Math.max(mark, 0)));
    const isEnd = value === undefined ? undefined : reader.take(value);
    return isEnd === undefined ? rejectBody() : builder.finish(isEnd);
  }

  function rejectBody(): never {
    const type = connection.contentType;
    return violation(`it is no event stream${type && ` but "${type}"`}, look at the path of the base URL`);
  }

  return function take(text) {
    if (text === undefined) {
      if (document !== undefined) return readDocument(document);
      const isEnd = parser.flush().some(reader.event);
      if (reader.garbled && !builder.stopped) throw truncated("its last event is cut");
      return builder.finish(isEnd);
    }
    if (!begun) {
      const first = text.trimStart()[0];
      if (first === "{" || first === "[") document = "";
      if (first === "<" || first === "\x1f") rejectBody();
      begun = first !== undefined;
    }
    if (document !== undefined) {
      document += text;
      if (document.length > limits.maxJsonBytes) throw exceeded("maxJsonBytes", limits);
      return undefined;
    }
    for (const event of parser.feed(text)) {
      if (reader.event(event)) return builder.finish(true);
    }
    return undefined;
  };
}
