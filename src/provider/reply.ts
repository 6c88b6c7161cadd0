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
import { createInputScan, parse } from "./tool_input.ts";

/** What a reply is read with. */
export interface ReplyParts<T> {
  /** Not sent yet. */
  connection: Exchange;
  /** Takes in what arrives, or `undefined` at the end; gives the result once the reply is finished. */
  take: (text: string | undefined) => T | undefined;
  /** Whether all has come, so that a connection that breaks harms no longer. */
  isWhole?: () => boolean;
  /** Tells it as events. */
  builder?: MessageBuilder;
}

/** Batches of events, each of what arrived together and none empty; at the end the message. Pulls must not overlap. */
export type Batches<T> = AsyncIterableIterator<StreamEvent[], T, undefined>;

/**
 * Sends a request and reads the reply. It is no generator function, which would cost each chunk of the network three times as much.
 *
 * @param begin Makes what it is read with, at the first pull.
 */
export function readReply<T>(begin: () => ReplyParts<T>): Batches<T> {
  let parts: ReplyParts<T> | undefined;
  let result: T | undefined;
  let isSent = false;
  /** Is thrown once what arrived before it has been told. */
  let failure: { error: unknown } | undefined;
  let isOver = false;

  const batches: Batches<T> = {
    [Symbol.asyncIterator]: () => batches,
    async next() {
      if (isOver) return batches.return!();
      let value: StreamEvent[] = [];
      try {
        const { connection, take, isWhole, builder } = parts ??= begin();
        if (!isSent) {
          const notice = await connection.send();
          if (notice) return { value: [{ type: "retry", ...notice }], done: false };
          isSent = true;
        }
        while (!result && !failure && value.length === 0) {
          let text: string | undefined;
          try {
            text = connection.take(await connection.next());
          } catch (error) {
            const reason = connection.failure(error);
            // A connection that breaks once the reply is complete has ended it (quirks O-31, A-28).
            if (!isWhole?.() || !(isPawlError(reason, "truncated") || isPawlError(reason, "timeout"))) {
              throw reason;
            }
          }
          result = take(text);
          value = builder?.take() ?? [];
        }
      } catch (error) {
        failure = { error };
        if (parts?.builder && isPawlError(error)) {
          value = parts.builder.take();
          error.partial = parts.builder.partial();
        }
      }
      if (value.length > 0) return { value, done: false };
      const end = batches.return!();
      if (failure) throw failure.error;
      return end;
    },
    return() {
      isOver = true;
      parts?.connection.close();
      return Promise.resolve({ value: result!, done: true });
    },
  };
  return batches;
}

/** Makes the functions that take in what arrives of a message. */
export function createTake(
  connection: Exchange,
  builder: MessageBuilder,
  decoder: Decoder,
): Pick<ReplyParts<Message>, "take" | "isWhole"> {
  const { limits } = connection;
  const parser = new SseParser({ ...limits, lenient: true });
  const reader = createEventReader(builder, decoder);
  let begun = false;
  /** What has come of a reply in one JSON document. */
  let document: string | undefined;

  /** The JSON of a reply in one document, perhaps with an end mark behind it (quirk S-18); `undefined` if it is none. */
  function parseDocument(text: string): unknown {
    return parse(text) ?? parse(firstOf(text, /[\r\n]data:/));
  }

  function readDocument(text: string): Message {
    const value = parseDocument(text), scan = createInputScan({ input: text });
    if (value === undefined) {
      // Where its first line is one by itself it is none that is cut, but lines of another protocol.
      if (scan.isOpen() && parse(firstOf(text, /[\r\n]/)) === undefined) throw truncated("its JSON is cut");
      rejectBody();
    }
    return builder.finish(reader.take(value, true) ?? rejectBody());
  }

  function rejectBody(): never {
    const type = connection.contentType;
    return violation(`it is no event stream${type && ` but "${type}"`}, look at the option baseUrl, its path`);
  }

  function take(text: string | undefined): Message | undefined {
    if (text === undefined) {
      if (document !== undefined) return readDocument(document);
      const isEnd = parser.flush().some(reader.event);
      if (reader.garbled && !builder.stopped) throw truncated("its JSON is cut");
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
  }

  return {
    take,
    isWhole: () => builder.stopped || document !== undefined && parseDocument(document) !== undefined,
  };
}

/** What stands before a separator. */
function firstOf(text: string, separator: RegExp): string {
  return text.split(separator, 1)[0]!;
}
