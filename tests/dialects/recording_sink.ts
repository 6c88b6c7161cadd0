/**
 * A sink that writes down what a decoder says, one line a saying.
 * @module
 */
import type { StopReason, Usage } from "../../src/model/message.ts";
import type { Dialect, MessageSink } from "../../src/provider/dialect.ts";
import { InputScan } from "../../src/provider/tool_input.ts";

/** What ends a reply early. */
export class Ended extends Error {}

/** Keys are numbered as they first appear, so that a transcript is easy to read. */
export class RecordingSink implements MessageSink {
  readonly lines: string[] = [];
  readonly #keys = new Map<unknown, number>();
  readonly #scans = new Map<unknown, InputScan>();
  readonly #reasoning = new Set<unknown>();
  /** Left out of the lines unless asked for: nearly every event says it. */
  readonly begun: { id?: unknown; model?: unknown; choice?: boolean }[] = [];

  #say(word: string, key: unknown, ...rest: unknown[]): void {
    if (!this.#keys.has(key)) this.#keys.set(key, this.#keys.size);
    for (const part of rest) {
      if (typeof part !== "string" && part !== undefined) throw new Error(`${word} was given ${typeof part}`);
    }
    this.lines.push([`${word} ${this.#keys.get(key)}`, ...rest.filter((part) => part !== undefined)].join(" "));
  }

  begin(info?: { id?: unknown; model?: unknown; choice?: boolean }): void {
    this.begun.push(info ?? {});
  }
  text(key: unknown, delta: string): void {
    this.#say("text", key, delta);
  }
  thinking(key: unknown, delta: string, field?: string): void {
    this.#reasoning.add(key);
    this.#say("thinking", key, delta, field && `<${field}>`);
  }
  signature(key: unknown, signature: string): void {
    this.#say("signature", key, signature);
  }
  redacted(key: unknown, data: string): void {
    this.#say("redacted", key, data);
  }
  details(key: unknown, details: unknown): void {
    this.#say("details", key, JSON.stringify(details));
  }
  call(key: unknown, about: { id?: string; name?: string; extra?: Record<string, unknown> } = {}): void {
    if (!this.#scans.has(key)) this.#scans.set(key, new InputScan());
    const extra = about.extra && JSON.stringify(about.extra);
    this.#say("call", key, about.name || "?", `#${about.id || "?"}`, extra);
  }
  input(key: unknown, fragment: string): void {
    const scan = this.#scans.get(key);
    if (scan === undefined) throw new Error("input of an unknown call");
    scan.feed(fragment);
    if (fragment !== "") this.#say("input", key, fragment);
  }
  inputComplete(key: unknown): boolean {
    return this.#scans.get(key)?.complete ?? false;
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
    this.lines.push(`stop ${reason}${raw === undefined ? "" : ` (${raw})`}`);
  }
  fail(error: unknown): never {
    throw new Ended(`fail ${JSON.stringify(error)}`);
  }
  garbled(): void {
    this.lines.push("garbled");
  }
  violation(what: string): never {
    throw new Ended(`violation ${what}`);
  }
  unsupported(what: string): never {
    throw new Ended(`unsupported ${what}`);
  }
}

/** An event: its data as JSON or text, or name and data. */
export type Told = Record<string, unknown> | string | readonly [name: string, data: string];

/** What a dialect says to events; reading ends as it would on the wire. */
export function hear(dialect: Dialect, events: readonly Told[]): string[] {
  const sink = new RecordingSink();
  const decoder = dialect.decoder(sink);
  try {
    for (const told of events) {
      const [name, data] = typeof told === "string"
        ? ["message", told]
        : Array.isArray(told)
        ? told as [string, string]
        : ["message", JSON.stringify(told)];
      if (decoder.event(name, data)) {
        sink.lines.push("done");
        break;
      }
    }
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    sink.lines.push(error.message);
  }
  return sink.lines;
}

/** What a dialect says to a document, and whether it takes it for a reply. */
export function hearDocument(dialect: Dialect, value: unknown): string[] {
  const sink = new RecordingSink();
  try {
    sink.lines.push(String(dialect.decoder(sink).document(value)));
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    sink.lines.push(error.message);
  }
  return sink.lines;
}
