/**
 * The readers that all decoders share: from the data of one event to checked JSON, and from a finish word to its meaning. What the
 * wire says is `unknown` until one of them has looked at it.
 * @module
 */
import type { StopReason } from "../model/message.ts";
import { keyOf } from "../text/error_text.ts";
import type { SseEvent } from "../wire/sse.ts";
import type { Decoder, MessageSink } from "./dialect.ts";
import { violation } from "./failure.ts";
import { isObject, parse } from "./tool_input.ts";

/** A JSON object of which nothing else is known. */
export type Json = Record<string, unknown>;

/** The end mark of OpenAI's protocol. */
const DONE = "[DONE]";

/** Gives a decoder what arrives. */
export interface EventReader {
  /** The last event was no JSON: the reply is truncated if nothing follows, and malformed if anything does (quirks S-09, O-89). */
  garbled: boolean;
  /**
   * Reads one server-sent event; a gateway may have wrapped comments into it (quirk S-07).
   *
   * @returns `true` at the protocol's own end: reading stops there.
   */
  event(event: SseEvent): boolean;
  /**
   * Reads JSON, perhaps in an envelope.
   *
   * @returns As {@linkcode Decoder.take}.
   */
  take(value: unknown, isDocument?: boolean): boolean | undefined;
}

/**
 * Finds the JSON in an event, also where several documents share one (quirk S-13), and every shape of an error in it.
 *
 * @param sink Told about errors.
 * @param decoder Given all else.
 */
export function createEventReader(sink: MessageSink, decoder: Decoder): EventReader {
  const reader: EventReader = {
    garbled: false,
    event({ event, data }) {
      if (event === "error") sink.fail(data);
      // A blank keep-alive is no event, nor is a ping, whatever it holds (quirk S-08).
      if (event === "ping" || data.trim() === "") return false;
      if (reader.garbled) violation("it is no JSON");
      // The mark is no JSON, and an error that is thrown and caught costs as much as ten events.
      const value = data === DONE ? undefined : parse(data);
      if (value !== undefined) return take(value);
      for (const line of data.split("\n")) {
        const text = line.trim();
        if (text === DONE) return decoder.done();
        const document = parse(text);
        if (document !== undefined) {
          if (take(document)) return true;
        } else if (text !== "" && text[0] !== ":") {
          reader.garbled = true;
          break;
        }
      }
      return false;
    },
    take(value, isDocument) {
      const isEnd = takePart(value, isDocument) ?? takePart((value as Json | null)?.data, isDocument);
      if (isEnd !== undefined || !isObject(value)) return isEnd;
      // What says nothing may be ignored, unless it belongs to another protocol (quirk A-34) or reports an error (quirk O-85).
      if (says(value.choices) || /^(message(_start)?$|response)/.test(textOf(value.type))) {
        violation("it speaks another dialect");
      }
      const report = reportIn(value);
      if (report) sink.fail(report);
      return undefined;
    },
  };
  function takePart(part: unknown, isDocument?: boolean): boolean | undefined {
    const report = Array.isArray(part) ? part[0] : part;
    if (says(report?.error)) sink.fail(part);
    // MiniMax tells an error beside a healthy shape; status 0 is none.
    if (says(report?.base_resp?.status_code)) sink.fail(report.base_resp);
    return isObject(part) ? decoder.take(part, isDocument) : undefined;
  }
  function take(value: unknown): boolean {
    const isEnd = reader.take(value);
    if (isEnd === undefined) {
      if (!isObject(value)) wrongType();
      sink.begin();
    }
    return isEnd ?? false;
  }
  return reader;
}

/** Where an event that is nothing else tells an error (quirk O-85). */
const REPORTS = /^(errors|error_\w+|message|msg|detail|\w+Exception)$/;

/** The error that an event tells which says nothing in its dialect. A message that is an object is one of another protocol. */
function reportIn(said: Json): unknown {
  const key = Object.keys(said).find((key) =>
    REPORTS.test(key) && says(said[key]) && !(key === "message" && isObject(said[key]))
  );
  // Bedrock's gateways name the kind of the error and nothing else.
  if (key?.endsWith("Exception")) return { type: key, error: said[key] };
  const code = said.code ?? said.status;
  // An object may have no number to be asked for.
  const isFailure = typeof code !== "object" && Number(code) >= 400;
  return key || isFailure || [said.type, said.object, said.status].includes("error") ? said : undefined;
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
  violation("a value has the wrong type");
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
const CALL_KEYS: ReadonlySet<string> = new Set(
  "index id type name input function arguments custom partial_json".split(" "),
);

/** Vendor keys of a call, which go back with it (rule R-13); `undefined` if it has none. */
export function extraOf(call: Json): Json | undefined {
  const extra: [string, unknown][] = [];
  for (const key in call) if (!CALL_KEYS.has(key) && call[key] !== null) extra.push([key, call[key]]);
  // The endpoint chose the keys: by assignment `__proto__` would become a prototype.
  return extra[0] ? Object.fromEntries(extra) : undefined;
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
  failure: /abort|error|insufficient|fail|cancel|overload|malformed|incomplete|time/i,
  end_turn: /^(stop|end|eos)(_turn|_token)?$/i,
  max_tokens: /length|tokens|token_limit|window/i,
  tool_use: /^(tool|function)_/i,
  refusal: /filter|sensitive|safety|refusal|guardrail|recitation|block|prohibit/i,
  stop_sequence: /^stop_/i,
  pause_turn: /^pause/i,
};

/** Options to look at, by status and what an endpoint says; where it names the option itself there is none. */
const HINTS = {
  "compat.streamUsage": /stream_options/,
  "compat.maxTokensField": /max_completion_tokens/,
  "compat.echoReasoning": /reasoning(?!_effort)/,
  "baseUrl, its path": /^40[45](?!.*model)/is,
};

/**
 * Finds the hint for an HTTP error of either dialect.
 *
 * @param status HTTP status.
 * @param text What the endpoint said.
 */
export function findHint(status: number, text: string): string | undefined {
  const option = keyOf(HINTS, `${status} ${text}`);
  return option && status < 500 ? `look at the option ${option}` : undefined;
}
