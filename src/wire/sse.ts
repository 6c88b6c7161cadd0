/**
 * Server-sent events, by the WHATWG grammar (HTML, "9.2.6 Interpreting an event stream").
 *
 * Two departures, both from the wild: `flush()` hands out the event that the end of the stream cut (quirk S-09), and a field named
 * `error` makes an error event (quirk O-87), because dropping it turns a failure into an empty success.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";

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
  #decoder: TextDecoder | undefined;
  #begun = false;
  #cr = false;
  /** The unfinished line; it has no line end in it, so only new text is ever searched. */
  #rest = "";
  /** Of the unfinished event, without the unfinished line. */
  #size = 0;
  #data: string | undefined;
  #type = "";
  #id: string | undefined;
  #retry: number | undefined;

  /**
   * Starts at the begin of a stream.
   *
   * @param options The bound of one event. Default: 4 MiB.
   */
  constructor(options: SseOptions = {}) {
    this.#max = options.maxEventBytes ?? DEFAULT_LIMITS.maxEventBytes;
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
    if (this.#size > this.#max) this.#fits(0, events);
    let text = chunk as string;
    if (typeof chunk !== "string") {
      const decoder = this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
      // What ends in ASCII cannot end inside a character, and decoding without keeping a state is much faster.
      text = chunk[chunk.length - 1]! < 0x80 ? decoder.decode(chunk) : decoder.decode(chunk, { stream: true });
    }
    if (text !== "") this.#scan(text, events);
    return events;
  }

  /**
   * Ends the stream.
   *
   * @returns The event that had data but no blank line behind it, if there is one.
   * @throws {PawlError} `response_too_large`, as {@linkcode SseParser.feed}.
   */
  flush(): SseEvent[] {
    const events = this.feed(this.#decoder?.decode() ?? "");
    const rest = this.#rest;
    this.#rest = "";
    if (rest === "" || this.#take(rest, 0, rest.length, events)) this.#end(events);
    return events;
  }

  #scan(text: string, events: SseEvent[]): void {
    const length = text.length;
    let at = 0;
    if (!this.#begun) {
      this.#begun = true;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    if (this.#cr) {
      this.#cr = false;
      if (text.charCodeAt(at) === 10) at++;
    }
    let lf = text.indexOf("\n", at);
    let cr = text.indexOf("\r", at);
    for (;;) {
      const end = cr !== -1 && (cr < lf || lf === -1) ? cr : lf;
      if (end === -1) break;
      if (this.#rest !== "") {
        const line = this.#rest + text.slice(at, end);
        this.#rest = "";
        if (!this.#take(line, 0, line.length, events)) return;
      } else if (end === at) {
        this.#end(events);
      } else if (
        // The shape of almost every event: its only data line, then the blank line.
        this.#data === undefined && end === lf && text.charCodeAt(end + 1) === 10 && text.startsWith("data:", at) &&
        this.#size + end - at < this.#max
      ) {
        this.#data = text.slice(text.charCodeAt(at + 5) === 32 ? at + 6 : at + 5, end);
        this.#end(events);
        lf++;
      } else if (!this.#take(text, at, end, events)) return;
      if (end === cr) {
        at = cr + 1;
        if (at === length) this.#cr = true;
        else if (at === lf) at++;
        cr = text.indexOf("\r", at);
      } else at = lf + 1;
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
    }
    if (at < length) {
      this.#rest += at === 0 ? text : text.slice(at);
      this.#fits(this.#rest.length, events);
    }
  }

  /** Whether the unfinished event and `more` units are within the bound; if not, what came before it is handed out first. */
  #fits(more: number, events: SseEvent[]): boolean {
    if (this.#size + more <= this.#max) return true;
    this.#size = Infinity;
    this.#rest = this.#type = "";
    this.#data = undefined;
    if (events.length > 0) return false;
    throw new PawlError(
      "response_too_large",
      `Cannot read an event: it is larger than limits.maxEventBytes (${this.#max} bytes)`,
    );
  }

  /** Reads one line that is not blank; `false` if it breaks the bound. */
  #take(text: string, from: number, to: number, events: SseEvent[]): boolean {
    if (!this.#fits(to - from + 1, events)) return false;
    this.#size += to - from + 1;
    if (text.startsWith("event:", from)) {
      this.#type = text.slice(text.charCodeAt(from + 6) === 32 ? from + 7 : from + 6, to);
      return true;
    }
    const line = text.slice(from, to);
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
    if (field === "error") this.#type = field;
    if (field === "data" || field === "error") {
      this.#data = this.#data === undefined ? value : this.#data + "\n" + value;
    } else if (field === "event") this.#type = "";
    else if (field === "id") {
      if (!value.includes("\0")) this.#id = value;
    } else if (field === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
    return true;
  }

  /** A blank line. */
  #end(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      const event: SseEvent = { event: this.#type || "message", data: this.#data };
      if (this.#id !== undefined) event.id = this.#id;
      if (this.#retry !== undefined) event.retry = this.#retry;
      events.push(event);
      this.#data = undefined;
    }
    this.#type = "";
    this.#size = 0;
  }
}

/**
 * {@linkcode SseParser} as a stream, for text from a `TextDecoderStream`.
 *
 * @example
 * ```ts
 * import { SseParserStream } from "@pawl/pawl/sse";
 * import { assertEquals } from "@std/assert";
 *
 * const events = ReadableStream.from(["data: a\n", "\ndata: b\n\n"]).pipeThrough(new SseParserStream());
 * assertEquals(await Array.fromAsync(events, (event) => event.data), ["a", "b"]);
 * ```
 */
export class SseParserStream extends TransformStream<string, SseEvent> {
  /**
   * Starts at the begin of a stream.
   *
   * @param options As of {@linkcode SseParser}.
   */
  constructor(options?: SseOptions) {
    const parser = new SseParser(options);
    super({
      transform(chunk, controller) {
        for (const event of parser.feed(chunk)) controller.enqueue(event);
      },
      flush(controller) {
        for (const event of parser.flush()) controller.enqueue(event);
      },
    });
  }
}
