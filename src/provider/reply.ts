/**
 * Reads one reply off its connection: server-sent events, or one JSON document.
 * @module
 */
import { isPawlError } from "../model/error.ts";
import type { StreamEvent } from "../model/event.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import type { Message } from "../model/message.ts";
import type { Exchange } from "../wire/http.ts";
import { type SseEvent, SseParser } from "../wire/sse.ts";
import type { Decoder } from "./dialect.ts";
import { truncated, violation } from "./failure.ts";
import type { MessageBuilder } from "./message_builder.ts";
import { createEventReader } from "./read.ts";
import { asGenerator } from "./receiver.ts";
import { parse } from "./tool_input.ts";

const OPENING_BRACE = 123;

/** What a reply is read with. */
export interface ReplyParts {
  connection: Exchange;
  /** Told what the decoder reads. */
  builder: MessageBuilder;
  /** The dialect's reader, bound to the builder. */
  decoder: Decoder;
  limits: Limits;
}

/**
 * Makes the function that takes in what arrives, or `undefined` at the end. It gives the message once the reply is finished.
 *
 * @param parts The connection and who is told of it.
 */
function createTake(
  { connection, builder, decoder, limits }: ReplyParts,
): (text: string | undefined) => Message | undefined {
  const parser = new SseParser(limits);
  const reader = createEventReader(builder, decoder);
  let begun = false;
  /** What has come of a reply in one JSON document. */
  let document: string | undefined;

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
    if (!begun && text !== undefined) {
      const first = text.trimStart()[0];
      if (first === "{" || first === "[") document = "";
      if (first === "<" || first === "\x1f") rejectBody();
      begun = first !== undefined;
    }
    if (document !== undefined) {
      if (text === undefined) return readDocument(document);
      document += text;
      if (document.length > limits.maxJsonBytes) throw exceeded("maxJsonBytes", limits);
      return undefined;
    }
    if (text === undefined) {
      const isEnd = parser.flush().some(decode);
      if (reader.garbled && !builder.stopped) throw truncated("its last event is cut");
      return builder.finish(isEnd);
    }
    for (const event of parser.feed(text)) {
      if (decode(event)) return builder.finish(true);
    }
    if (builder.takeProgress()) connection.progress();
    return undefined;
  };
}

type Batch = IteratorResult<StreamEvent[], Message>;

/**
 * Sends a request and reads the reply. What comes are batches of events, each of what one chunk of the network held. It is no generator
 * function, which would cost each chunk three times as much.
 *
 * @param begin Makes what it is read with, at the first pull.
 */
export function readReply(begin: () => ReplyParts): AsyncGenerator<StreamEvent[], Message, undefined> {
  let parts: ReplyParts | undefined;
  let take: ReturnType<typeof createTake>;
  let isOpen = false, isPulling = false, isOver = false;
  /** How it ends, once there is nothing more to read. */
  let end: (() => Batch) | undefined;
  let last: Promise<unknown>;

  async function open(): Promise<Batch> {
    try {
      parts ??= begin();
      const notice = await parts.connection.send();
      if (notice) return give({ value: [{ type: "retry", ...notice }], done: false });
      take = createTake(parts);
      isOpen = true;
    } catch (error) {
      return onFailure(error);
    }
    return read();
  }

  function read(): Promise<Batch> {
    return parts!.connection.read().then(onText, onFailure);
  }

  function onText(text: string | undefined): Batch | Promise<Batch> {
    try {
      const message = take(text);
      if (message) end = () => give({ value: message, done: true });
    } catch (error) {
      return onFailure(error);
    }
    const value = parts!.builder.take();
    return value.length > 0 ? give({ value, done: false }) : read();
  }

  function onFailure(error: unknown): Batch | Promise<Batch> {
    if (isOver) return give({ value: undefined as never, done: true });
    if (!isPawlError(error)) fail(error);
    const { builder } = parts!;
    // A connection that breaks once the reply is complete has ended it (quirks O-31, A-28).
    if (builder.stopped && (error.code === "truncated" || error.code === "timeout")) return onText(undefined);
    const value = builder.take();
    error.partial = builder.partial();
    end = () => fail(error);
    return value.length > 0 ? give({ value, done: false }) : end();
  }

  function give(batch: Batch): Batch {
    isPulling = false;
    if (batch.done) close();
    return batch;
  }

  function fail(error: unknown): never {
    isPulling = false;
    close();
    throw error;
  }

  function close(): void {
    isOver = true;
    parts?.connection.close();
  }

  function next(): Promise<Batch> {
    // As in a generator, pulls wait for each other.
    if (isPulling) return last = last.then(next, next);
    isPulling = true;
    if (isOver) end = () => give({ value: undefined as never, done: true });
    return last = end ? new Promise<Batch>((resolve) => resolve(end!())) : isOpen ? read() : open();
  }

  return asGenerator(next, close);
}
