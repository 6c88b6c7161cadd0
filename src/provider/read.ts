/**
 * The readers that all decoders share: from the data of one event to checked JSON, and from a finish word to its meaning. What the
 * wire says is `unknown` until one of them has looked at it.
 * @module
 */
import type { StopReason } from "../model/message.ts";
import type { Decoder, MessageSink } from "./dialect.ts";
import { parse } from "./tool_input.ts";

/** A JSON object of which nothing else is known. */
export type Json = Record<string, unknown>;

/** What a dialect does with the JSON that {@linkcode createDecoder} finds. */
export interface EventReader {
  /** Whether JSON that says nothing in this dialect belongs to another protocol (quirk A-34). */
  isForeign(value: Json): boolean;
  /** Reads one event that reports no error; `true` at the protocol's own end. */
  take(event: Json): boolean;
  /** Reads `[DONE]`; `true` if reading may stop there, as it may by default. */
  done?(): boolean;
  /** Reads a whole reply; `false` if it is none of this dialect. */
  document(reply: Json): boolean;
}

/** Keys that name an error where neither `error` nor content is (quirk O-85). */
const ERROR_KEYS = ["message", "detail", "error_message", "error_type"];

/**
 * Makes a decoder of a reader: finds the JSON in an event, also where several documents share one (quirk S-13), and every shape of an
 * error in it.
 *
 * @param sink Told about errors and broken JSON.
 * @param reader Given all else.
 */
export function createDecoder(sink: MessageSink, reader: EventReader): Decoder {
  function check(value: unknown): Json | undefined {
    const report = Array.isArray(value) ? value[0] : value;
    if (isObject(report) && says(report.error)) sink.fail(value);
    return isObject(value) ? value : undefined;
  }
  function take(value: unknown): boolean {
    return reader.take(check(value) ?? sink.violation("an event is no JSON object"));
  }
  return {
    event(name, data) {
      if (name === "error") sink.fail(data);
      const value = parse(data);
      if (value !== undefined) return take(value);
      for (const line of data.split("\n")) {
        const document = parse(line), text = line.trim();
        if (text === "[DONE]") return reader.done?.() ?? true;
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
      const document = check(value);
      if (document === undefined) return false;
      for (const part of [document, document.data]) {
        const reply = check(part);
        if (reply !== undefined && reader.document(reply)) return true;
      }
      rejectStranger(sink, reader, document);
      return false;
    },
  };
}

/**
 * Looks at JSON that says nothing in a dialect: ends the reply if it is foreign or reports an error; anything else may be ignored.
 *
 * @throws What {@linkcode MessageSink.violation} and {@linkcode MessageSink.fail} throw.
 */
export function rejectStranger(sink: MessageSink, reader: EventReader, value: Json): void {
  if (reader.isForeign(value)) sink.violation("it speaks another protocol, look at the option dialect");
  if (value.object === "error" || value.type === "error" || ERROR_KEYS.some((key) => says(value[key]))) {
    sink.fail(value);
  }
}

/** Whether a value in an error's place reports one: null, `""` and `{}` come with healthy events (quirk O-38). */
export function says(error: unknown): boolean {
  return typeof error === "object" && error !== null ? Object.values(error).some(Boolean) : Boolean(error);
}

/** Whether a value is an object, and no array. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A string, or `""` for whatever is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A string that holds content; `""` if it is absent. */
export function contentOf(sink: MessageSink, value: unknown, what: string): string {
  return typeof value === "string" ? value : absent(sink, value, what) ?? "";
}

/** An object that holds content. */
export function objectOf(sink: MessageSink, value: unknown, what: string): Json | undefined {
  return isObject(value) ? value : absent(sink, value, what);
}

/** A list that holds content; empty if it is absent. */
export function listOf(sink: MessageSink, value: unknown, what: string): readonly unknown[] {
  return Array.isArray(value) ? value : absent(sink, value, what) ?? [];
}

/** What has the wrong type must at least be nothing: to pass over content would be to lose it. */
function absent(sink: MessageSink, value: unknown, what: string): undefined {
  if (value) sink.violation(`the type of ${what} is wrong`);
}

/** Arguments of a call as JSON text: some servers send the object itself (quirk O-64). */
export function argumentsOf(sink: MessageSink, value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value);
  } catch {
    return sink.violation("the arguments of a call are nested too deep");
  }
}

/** What the protocols themselves say about a call. */
const CALL_KEYS: ReadonlySet<string> = new Set([
  "index",
  "id",
  "type",
  "name",
  "input",
  "function",
  "arguments",
  "custom",
]);

/** Vendor keys of a call, which go back with it (rule R-13); `undefined` if it has none. */
export function extraOf(call: Json): Json | undefined {
  const extra: [string, unknown][] = [];
  for (const key in call) if (!CALL_KEYS.has(key) && call[key] !== null) extra.push([key, call[key]]);
  // The endpoint chose the keys: by assignment `__proto__` would become a prototype.
  return extra.length > 0 ? Object.fromEntries(extra) : undefined;
}

/** Decides which of several finish words counts: the first that is no plain stop (quirk O-35), and an output limit above all. */
export class FinishWord {
  readonly #sink: MessageSink;
  /** Meaning of the word that counts. */
  reason: StopReason | undefined;
  /** Meaning of a plain stop. */
  plain: StopReason = "end_turn";

  /** @param sink Told about the word. */
  constructor(sink: MessageSink) {
    this.#sink = sink;
  }

  /** Takes a word; an absent or empty one says that the reply goes on (quirk O-33). */
  take(value: unknown): void {
    const word = contentOf(this.#sink, value, "the finish word");
    if (word === "") return;
    const reason = MEANINGS.find(([pattern]) => pattern.test(word))?.[1] ?? this.#sink.fail(word);
    if (this.reason !== undefined && this.reason !== this.plain && reason !== "max_tokens") return;
    this.reason = reason === "end_turn" ? this.plain : reason;
    this.#sink.stop(this.reason, word.slice(0, 64).toWellFormed());
  }
}

/** Words of all dialects, for gateways mix them (quirks O-36, O-37, A-25); without a meaning: failures. */
const MEANINGS: readonly (readonly [RegExp, StopReason?])[] = [
  [/abort|error|insufficient/i],
  [/^(stop|end|end_turn|eos|eos_token)$/i, "end_turn"],
  [/length|max_\w*tokens|window/i, "max_tokens"],
  [/^(tool_|function_)/i, "tool_use"],
  [/filter|sensitive|safety|refusal/i, "refusal"],
  [/^stop_sequence$/i, "stop_sequence"],
  [/^pause_turn$/i, "pause_turn"],
  [/^/, "other"],
];

/** Words of endpoints that do not understand a request, and what to do then. */
const HINTS = {
  stream_options: "set compat.streamUsage: false",
  max_completion_tokens: "set compat.maxTokensField",
  reasoning_effort: "leave thinking unset",
  budget_tokens: "leave thinking unset",
  reasoning: "set compat.echoReasoning",
  temperature: "leave temperature unset",
};

/**
 * Finds the hint for an HTTP error of either dialect.
 *
 * @param status HTTP status.
 * @param text What the endpoint said.
 */
export function findHint(status: number, text: string): string | undefined {
  if (status === 404 || status === 405) {
    return /model/i.test(text) ? "look at the model name" : "look at the base URL: its path may lack or double /v1";
  }
  if (status !== 400 && status !== 422) return undefined;
  return Object.entries(HINTS).find(([word]) => text.includes(word))?.[1];
}
