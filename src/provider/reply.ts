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
import { truncated } from "./failure.ts";
import type { MessageBuilder } from "./message_builder.ts";
import { parse } from "./tool_input.ts";

const OPENING_BRACE = 123;

/** Reads one reply from its connection: server-sent events, or one JSON document. */
export class Reply {
  readonly #connection: Exchange;
  readonly #builder: MessageBuilder;
  readonly #decoder: Decoder;
  readonly #limits: Limits;
  readonly #parser: SseParser;
  #begun = false;

  /**
   * @param connection Sent, with a 2xx head.
   * @param builder Told what the decoder reads.
   * @param decoder The dialect's reader, bound to the builder.
   * @param limits Bounds of events and documents.
   */
  constructor(connection: Exchange, builder: MessageBuilder, decoder: Decoder, limits: Limits) {
    this.#connection = connection;
    this.#builder = builder;
    this.#decoder = decoder;
    this.#limits = limits;
    this.#parser = new SseParser({ maxEventBytes: limits.maxEventBytes });
  }

  /** Reads on, until the reply is finished. */
  async read(): Promise<Message | undefined> {
    const text = await this.#next();
    if (text === undefined) {
      for (const event of this.#parser.flush()) this.#decode(event);
      return this.#finish(false);
    }
    if (!this.#begun) {
      const first = text.trimStart()[0];
      if (first === "{" || first === "[") return await this.#document(text);
      if (first === "<" || first === "\x1f") this.#notEvents();
      this.#begun = first !== undefined;
    }
    for (const event of this.#parser.feed(text)) {
      if (this.#decode(event)) return this.#finish(true);
    }
    if (this.#builder.takeProgress()) this.#connection.progress();
  }

  /** The next text; a connection that breaks once the reply is complete has ended it (quirks O-31, A-28). */
  async #next(): Promise<string | undefined> {
    try {
      return await this.#connection.read();
    } catch (error) {
      if (this.#builder.stopped && (isPawlError(error, "truncated") || isPawlError(error, "timeout"))) return undefined;
      throw error;
    }
  }

  #decode({ event, data }: SseEvent): boolean {
    const builder = this.#builder;
    if (data.charCodeAt(0) !== OPENING_BRACE) {
      const first = data.trimStart()[0];
      if (event === "error" && first === undefined) builder.fail("");
      // A blank keep-alive, or a comment that a gateway wrapped into data, is no event (quirks S-07, S-08).
      if (first === undefined || first === ":") return false;
    }
    if (builder.isGarbled) builder.violation("an event is no JSON");
    return this.#decoder.event(event, data);
  }

  #finish(protocolEnd: boolean): Message {
    const builder = this.#builder;
    if (builder.isGarbled && !builder.stopped) throw truncated("its last event is cut");
    return builder.finish(protocolEnd);
  }

  /** A reply in one JSON document, perhaps with an end mark behind it (quirk S-18). */
  async #document(begin: string): Promise<Message> {
    const text = begin + await readAll(this.#connection, this.#limits.maxJsonBytes - begin.length);
    const mark = text.lastIndexOf("\ndata:");
    const value = parse(text) ?? (mark > 0 ? parse(text.slice(0, mark)) : undefined);
    if (value === undefined || !this.#decoder.document(value)) this.#notEvents();
    return this.#builder.finish(true);
  }

  #notEvents(): never {
    const { contentType } = this.#connection;
    this.#builder.violation(
      `it is no event stream${
        contentType && ` but ${JSON.stringify(contentType)}`
      }, look at the base URL: its path may be wrong`,
    );
  }
}
