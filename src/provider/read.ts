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
  /** Key that only events of another protocol have. */
  readonly foreignKey?: string;
  /** Reads one event that reports no error; `true` at the protocol's own end. */
  take(event: Json): boolean;
  /** Reads `[DONE]`; `true` if reading may stop there. */
  done(): boolean;
  /** Reads a whole reply; `false` if it is none of this dialect. */
  document(reply: Json): boolean;
}

/** Events of the dialects that pawl knows, and of OpenAI's other protocol; an unknown type alone is no reason to give up. */
const EVENT_TYPE = /^(?:message(?:_(?:start|delta|stop))?|content_block_(?:start|delta|stop)|response\..*)$/;

/** Keys that name an error where neither `error` nor content is (quirk O-85). */
const ERROR_KEYS = ["detail", "error_message", "error_type", "errors"];

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
  function isEnd(line: string): boolean {
    return line.length < 99 && line.trim() === "[DONE]";
  }
  return {
    event(name, data) {
      if (name === "error") sink.fail(data);
      const value = parse(data);
      if (value !== undefined) return take(value);
      if (isEnd(data)) return reader.done();
      for (const line of data.split("\n")) {
        const document = parse(line);
        if (document !== undefined) {
          if (take(document)) return true;
        } else if (isEnd(line)) return reader.done();
        else if (line.trim() !== "") {
          sink.garbled();
          return false;
        }
      }
      return false;
    },
    document(value) {
      const document = check(value);
      if (document === undefined) return false;
      for (const part of [document, document.data, document.result, document.response]) {
        const reply = check(part);
        if (reply !== undefined && reader.document(reply)) return true;
      }
      rejectStranger(sink, document, reader.foreignKey);
      return false;
    },
  };
}

/**
 * Looks at JSON that is no event of the dialect: ends the reply if it belongs to another protocol (quirk A-34) or reports an error;
 * anything else may be ignored.
 *
 * @throws What {@linkcode MessageSink.violation} and {@linkcode MessageSink.fail} throw.
 */
export function rejectStranger(sink: MessageSink, value: Json, foreignKey: string = ""): void {
  if (value[foreignKey] || EVENT_TYPE.test(textOf(value.type))) {
    sink.violation("it speaks another protocol, look at the option dialect");
  }
  if (
    value.object === "error" || value.type === "error" || textOf(value.message) !== "" ||
    ERROR_KEYS.some((key) => says(value[key]))
  ) sink.fail(value);
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

/** Vendor keys of a call, which go back with it (rule R-13); `undefined` if it has none. */
export function extraOf(call: Json, known: ReadonlySet<string>): Json | undefined {
  const extra = Object.entries(call).filter(([key, value]) => value !== null && !known.has(key));
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

/** What an endpoint may say to a request that it does not understand, and what to do then. */
export type Hints = readonly (readonly [RegExp, string])[];

/**
 * Finds the hint for an HTTP error.
 *
 * @param hints Hints of the dialect.
 * @param status HTTP status.
 * @param text What the endpoint said.
 */
export function findHint(hints: Hints, status: number, text: string): string | undefined {
  if (status === 404 || status === 405) {
    return /model/i.test(text) ? "look at the model name" : "look at the base URL: its path may lack or double /v1";
  }
  return status === 400 || status === 422 ? hints.find(([pattern]) => pattern.test(text))?.[1] : undefined;
}
