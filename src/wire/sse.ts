/**
 * Server-sent events, by the WHATWG grammar (HTML, "9.2.6 Interpreting an event stream").
 *
 * Two departures, both from the wild: `flush()` hands out the event that the end of the stream cut (quirk S-09), and a field named
 * `error` makes an error event (quirk O-87), because dropping it turns a failure into an empty success.
 * @module
 */
import { DEFAULT_LIMITS, exceeded } from "../model/limits.ts";
import { createDecode } from "./utf8.ts";

const LF = 10;
const SPACE = 32;
const COLON = 58;
/** The most frequent first. */
const FIELDS = ["data", "event", "id", "retry", "error"];
/** Of JSON, in which U+2028 ends no line. */
const JSON_LINE = /^{\s*".*}\s*$/s;

/** One dispatched event. */
export interface SseEvent {
  /** Its type: `message` if the wire gave none, `error` also for an `error:` field. */
  event: string;
  /** Its data lines, joined with line feeds; may be empty. */
  data: string;
  /** The last event id in force; absent until the stream has set one, empty once it was reset. */
  id?: string;
  /** The reconnection time in force, in milliseconds; absent until the stream has set one. */
  retry?: number;
}

/** Options of {@linkcode SseParser}. */
export interface SseOptions {
  /** Bound of one event over all its lines, comments and empty ones included: UTF-16 units, of which there are never more than bytes. */
  maxEventBytes?: number;
  /**
   * A line that is a JSON object counts as data: servers report an error that way amid a stream. Default `false`.
   */
  lenient?: boolean;
}

/**
 * A push parser: feed it what arrives, cut anywhere, and take the events that became complete.
 *
 * @example
 * ```ts
 * import { SseParser } from "@pawl/pawl/sse";
 * import { assertEquals } from "@std/assert";
 *
 * const parser = new SseParser();
 * assertEquals(parser.feed("data: a\r"), []);
 * assertEquals(parser.feed("\n\ndata: b"), [{ event: "message", data: "a" }]);
 * assertEquals(parser.flush(), [{ event: "message", data: "b" }]);
 * ```
 */
export class SseParser {
  readonly #max: number;
  readonly #lenient: boolean | undefined;
  readonly #decode = createDecode();
  /** The last piece ended in a carriage return: a line feed may still belong to it. */
  #cr = false;
  /** The unfinished line; it has no line end in it, so only new text is ever searched. */
  #rest = "";
  /** Of the unfinished event, without the unfinished line; beyond the bound for ever once it broke it. */
  #size = 0;
  #data: string | undefined;
  #type = "";
  #sticky: Pick<SseEvent, "id" | "retry"> | undefined;

  /**
   * Starts at the begin of a stream.
   *
   * @param options The bound of one event, by default 4 MiB, and how strictly the grammar is kept.
   */
  constructor({ maxEventBytes = DEFAULT_LIMITS.maxEventBytes, lenient }: SseOptions = {}) {
    this.#max = maxEventBytes;
    this.#lenient = lenient;
  }

  /**
   * Takes the next piece of the stream.
   *
   * @param chunk Text, or bytes of UTF-8; one kind for the whole stream. Characters may be cut too. Bytes are not kept.
   * @returns The events that became complete, in order.
   * @throws {PawlError} `response_too_large`: an event exceeds the bound. Events before it are returned first, and the next call throws.
   */
  feed(chunk: string | Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    if (this.#size <= this.#max) this.#scan(this.#decode(chunk), events);
    if (this.#size + this.#rest.length > this.#max) {
      this.#size = Infinity;
      if (events.length === 0) throw exceeded("maxEventBytes", { maxEventBytes: this.#max });
    }
    return events;
  }

  /**
   * Ends the stream.
   *
   * @returns The event that had data but no blank line behind it, if there is one.
   * @throws {PawlError} `response_too_large`, as {@linkcode SseParser.feed}.
   */
  flush(): SseEvent[] {
    // Bytes, which end a cut character too.
    return this.feed(new Uint8Array([LF, LF]));
  }

  #scan(piece: string, events: SseEvent[]): void {
    let text = piece;
    if (this.#cr && text !== "") {
      this.#cr = false;
      if (text.charCodeAt(0) === LF) text = text.slice(1);
    }
    if (text.includes("\r")) {
      this.#cr = text.endsWith("\r");
      text = text.replace(/\r\n?/g, "\n");
    }
    let at = 0;
    // A blank line behind a line is so frequent that it is not searched.
    for (let end; (end = text.charCodeAt(at) === LF ? at : text.indexOf("\n", at)) >= 0; at = end + 1) {
      if (this.#rest !== "") {
        const line = this.#rest + text.slice(at, end);
        this.#rest = "";
        this.#take(line, 0, line.length);
      } else if (end > at) this.#take(text, at, end);
      else this.#dispatch(events);
      if (this.#size > this.#max) return;
    }
    this.#rest += text.slice(at);
  }

  /** Reads one line that is not blank. */
  #take(text: string, begin: number, end: number): void {
    this.#size += end + 1 - begin;
    // Counted, as an iterator would cost a fifth of the whole parser.
    for (let i = 0; i < FIELDS.length; i++) {
      const field = FIELDS[i]!;
      let at = begin + field.length;
      if (at < end && text.charCodeAt(at++) !== COLON || !text.startsWith(field, begin)) continue;
      if (text.charCodeAt(at) === SPACE) at++;
      const value = text.slice(at, end);
      if (field === "id") {
        if (!value.includes("\0")) (this.#sticky ??= {}).id = value;
      } else if (field === "retry") {
        if (/^\d+$/.test(value)) (this.#sticky ??= {}).retry = Number(value);
      } else {
        if (field !== "data") this.#type = field === "error" ? field : value;
        if (field !== "event") this.#append(value);
      }
      return;
    }
    const line = text.slice(begin, end);
    if (this.#lenient && JSON_LINE.test(line)) this.#append(line);
  }

  #append(value: string): void {
    this.#data = this.#data === undefined ? value : this.#data + "\n" + value;
  }

  /** A blank line. */
  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      const event = { event: this.#type || "message", data: this.#data };
      events.push(this.#sticky ? { ...event, ...this.#sticky } : event);
    }
    this.#data = undefined;
    this.#type = "";
    this.#size = 0;
  }
}
