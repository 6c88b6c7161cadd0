/**
 * A sink that writes down what a decoder says, one line a saying.
 * @module
 */
import { isPawlError } from "../../src/model/error.ts";
import type { StopReason, Usage } from "../../src/model/message.ts";
import type { Dialect, MessageSink } from "../../src/provider/dialect.ts";
import { createEventReader, type EventReader } from "../../src/provider/read.ts";
import { createInputScan, type InputScan } from "../../src/provider/tool_input.ts";

/** What ends a reply early. */
export class Ended extends Error {}

/** Keys are numbered as they first appear, so that a transcript is easy to read. */
export class RecordingSink implements MessageSink {
  readonly lines: string[] = [];
  readonly #keys = new Map<unknown, number>();
  readonly #calls = new Map<unknown, { input: string; scan: InputScan }>();
  stopped = false;

  #say(word: string, key: unknown, ...rest: unknown[]): void {
    if (!this.#keys.has(key)) this.#keys.set(key, this.#keys.size);
    for (const part of rest) {
      if (typeof part !== "string" && part !== undefined) throw new Error(`${word} was given ${typeof part}`);
    }
    this.lines.push([`${word} ${this.#keys.get(key)}`, ...rest.filter((part) => part !== undefined)].join(" "));
  }

  /** No line: nearly every event says it. */
  begin(): void {}
  text(key: unknown, delta: string): void {
    if (delta !== "") this.#say("text", key, delta);
  }
  thinking(key: unknown, delta: string, field?: string): void {
    if (delta !== "") this.#say("thinking", key, delta, field && `<${field}>`);
  }
  note(key: unknown, field: "signature" | "redacted" | "details", value: unknown): void {
    if (value) this.#say(field, key, field === "details" ? JSON.stringify(value) : value);
  }
  call(key: unknown, about: Parameters<MessageSink["call"]>[1] = {}): void {
    if (!this.#calls.has(key)) {
      const raw = { input: "" };
      this.#calls.set(key, Object.assign(raw, { scan: createInputScan(raw) }));
    }
    const extra = about.extra && JSON.stringify(about.extra);
    this.#say("call", key, about.name || "?", `#${about.id || "?"}`, extra);
  }
  input(key: unknown, fragment: string): void {
    if (fragment === "") return;
    if (!this.#calls.has(key)) this.call(key);
    const called = this.#calls.get(key)!;
    called.scan.exceeds(Infinity, fragment);
    called.input += fragment;
    this.#say("input", key, fragment);
  }
  inputComplete(key: unknown): boolean {
    return this.#calls.get(key)?.scan.isComplete() ?? false;
  }
  opaque(key: unknown, value: unknown): void {
    this.#say("opaque", key, JSON.stringify(value));
  }
  end(key: unknown): void {
    if (this.#keys.has(key)) this.#say("end", key);
  }
  usage(report: Usage): void {
    const numbers = Object.entries(report).filter(([, value]) => typeof value === "number");
    if (numbers.length > 0) this.lines.push(`usage ${numbers.map(([name, value]) => `${name}=${value}`).join(" ")}`);
  }
  stop(reason: StopReason, raw?: string): void {
    this.stopped = true;
    this.lines.push(`stop ${reason}${raw === undefined ? "" : ` (${raw})`}`);
  }
  fail(error: unknown): never {
    throw new Ended(`fail ${JSON.stringify(error)}`);
  }
}

/** An event: its data as JSON or text, or name and data. */
export type Told = Record<string, unknown> | string | readonly [name: string, data: string];

/** What a dialect says; the last line tells what ended it early. */
function listen(dialect: Dialect, tell: (reader: EventReader) => string | undefined): string[] {
  const sink = new RecordingSink();
  let last: string | undefined;
  try {
    last = tell(createEventReader(sink, dialect.decoder(sink)));
  } catch (error) {
    if (!(error instanceof Ended || isPawlError(error))) throw error;
    last = error.message;
  }
  return last === undefined ? sink.lines : [...sink.lines, last];
}

/** What a dialect says to events; reading ends as it would on the wire. */
export function hear(dialect: Dialect, events: readonly Told[]): string[] {
  return listen(dialect, (reader) => {
    const ends = events.some((told) => {
      const [event, data] = typeof told === "string"
        ? ["message", told]
        : Array.isArray(told)
        ? told as [string, string]
        : ["message", JSON.stringify(told)];
      return reader.event({ event, data });
    });
    return ends ? "done" : reader.garbled ? "garbled" : undefined;
  });
}

/** What a dialect says to a document; `undefined` where it is nothing of this dialect. */
export function hearDocument(dialect: Dialect, value: unknown): string[] {
  return listen(dialect, (reader) => String(reader.take(value, true)));
}
