/**
 * The readers that all decoders share: from the data of one event to checked JSON, and from a finish word to its meaning. What the
 * wire says is `unknown` until one of them has looked at it.
 * @module
 */
import type { StopReason } from "../model/message.ts";
import type { Decoder, MessageSink } from "./dialect.ts";
import { violation } from "./failure.ts";
import { isObject, parse } from "./tool_input.ts";

/** A JSON object of which nothing else is known. */
export type Json = Record<string, unknown>;

/** What a dialect does with the JSON that {@linkcode createDecoder} finds. */
export interface EventReader {
  /** Reads one event or a whole reply: `true` at the protocol's own end, `undefined` if it says nothing in this dialect. */
  take(event: Json): boolean | undefined;
  /** Whether JSON that says nothing in this dialect belongs to another protocol (quirk A-34). */
  isForeign(value: Json): boolean;
  /** Whether a document is a whole reply of this dialect. */
  isReply(document: Json): boolean;
  /** Whether `[DONE]` is the protocol's own end. */
  done(): boolean;
}

/**
 * Makes a decoder of a reader: finds the JSON in an event, also where several documents share one (quirk S-13), and every shape of an
 * error in it.
 *
 * @param sink Told about errors and broken JSON.
 * @param reader Given all else.
 */
export function createDecoder(sink: MessageSink, reader: EventReader): Decoder {
  function check(value: unknown): unknown {
    const report = Array.isArray(value) ? value[0] : value;
    if (says(report?.error)) sink.fail(value);
    return value;
  }
  function take(value: unknown): boolean {
    const event = objectOf(check(value));
    const isEnd = reader.take(event);
    if (isEnd !== undefined) return isEnd;
    rejectStranger(event);
    sink.begin();
    return false;
  }
  /** What says nothing may be ignored, unless it belongs to another protocol or reports an error (quirk O-85). */
  function rejectStranger(value: Json): void {
    if (reader.isForeign(value)) violation("it speaks another protocol, look at the option dialect");
    if (value.type === "error" || says(value.message || value.detail || value.error_message)) sink.fail(value);
  }
  return {
    event(name, data) {
      if (name === "error") sink.fail(data);
      const value = parse(data);
      if (value !== undefined) return take(value);
      for (const line of data.split("\n")) {
        const document = parse(line), text = line.trim();
        if (text === "[DONE]") return reader.done();
        if (document !== undefined) {
          if (take(document)) return true;
        } else if (text !== "" && text[0] !== ":") {
          sink.garbled();
          break;
        }
      }
      return false;
    },
    document(value) {
      for (const part of [value, (value as Json | null)?.data]) {
        check(part);
        if (isObject(part) && reader.isReply(part)) {
          reader.take(part);
          return true;
        }
      }
      if (isObject(value)) rejectStranger(value);
      return false;
    },
  };
}

/** Whether a value holds anything, as an error does: null, `""` and `{}` come with healthy events (quirk O-38). */
export function says(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.values(value).some(Boolean) : Boolean(value);
}

/** A string, or `""` for whatever is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A string that holds content; `""` if it is absent. */
export function contentOf(value: unknown): string {
  return typeof value === "string" ? value : absent(value) ?? "";
}

/** An object that holds content; empty if it is absent. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : absent(value) ?? {};
}

/** A list that holds content; empty if it is absent. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : absent(value) ?? [];
}

/** A position on the wire, which is only ever a key: an array of such a length would be an attack. */
export function indexOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? value : absent(value);
}

/** What has the wrong type must at least be nothing: to pass over content would be to lose it. */
function absent(value: unknown): undefined {
  if (value) wrongType();
}

function wrongType(): never {
  violation("a value in it has the wrong type");
}

/** Arguments of a call as JSON text: some servers send the object itself (quirk O-64). */
export function argumentsOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value ?? undefined) ?? "";
  } catch {
    // It is nested deeper than the runtime can write.
    return wrongType();
  }
}

/** What the protocols themselves say about a call. */
const CALL_KEY = /^(index|id|type|name|input|function|arguments|custom)$/;

/** Vendor keys of a call, which go back with it (rule R-13); `undefined` if it has none. */
export function extraOf(call: Json): Json | undefined {
  const extra: [string, unknown][] = [];
  for (const key in call) if (call[key] !== null && !CALL_KEY.test(key)) extra.push([key, call[key]]);
  // The endpoint chose the keys: by assignment `__proto__` would become a prototype.
  return extra.length > 0 ? Object.fromEntries(extra) : undefined;
}

/**
 * Reads a finish word; an absent or empty one says that the reply goes on (quirk O-33).
 *
 * @param sink Told about the word.
 * @param value What stands in its place.
 * @param plain Meaning of a plain end.
 */
export function readStop(sink: MessageSink, value: unknown, plain: StopReason = "end_turn"): void {
  const word = contentOf(value);
  if (word === "") return;
  const reason = keyOf(MEANINGS, word);
  if (reason === "failure") sink.fail(word);
  sink.stop(reason === "end_turn" ? plain : reason ?? "other", word.slice(0, 64).toWellFormed());
}

/** Words of all dialects, for gateways mix them (quirks O-36, O-37, A-25). */
const MEANINGS: Partial<Record<StopReason | "failure", RegExp>> = {
  failure: /abort|error|insufficient/i,
  end_turn: /^(stop|end|eos)(_turn|_token)?$/i,
  max_tokens: /length|tokens|window/i,
  tool_use: /^(tool|function)_/i,
  refusal: /filter|sensitive|safety|refusal/i,
  stop_sequence: /^stop_/i,
  pause_turn: /^pause/i,
};

/** Options that endpoints do not understand, by what they say. */
const HINTS = {
  "compat.streamUsage": /stream_options/,
  "compat.maxTokensField": /max_completion_tokens/,
  thinking: /reasoning_effort|budget_tokens/,
  "compat.echoReasoning": /reasoning/,
  temperature: /temperature/,
};

/**
 * Finds the hint for an HTTP error of either dialect.
 *
 * @param status HTTP status.
 * @param text What the endpoint said.
 */
export function findHint(status: number, text: string): string | undefined {
  const option = status === 404 || status === 405
    ? /model/i.test(text) ? "model" : "baseUrl (its path)"
    : status === 400 || status === 422
    ? keyOf(HINTS, text)
    : undefined;
  return option && `look at the option ${option}`;
}

/** The first key whose pattern fits. */
function keyOf<K extends string>(patterns: Partial<Record<K, RegExp>>, text: string): K | undefined {
  return (Object.keys(patterns) as K[]).find((key) => patterns[key]!.test(text));
}
