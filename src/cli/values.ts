/**
 * How the text behind a flag becomes a value. Each reader returns the value or throws: a plain `Error` says what the text must be, and the
 * caller adds the flag's name and the text; a `TypeError` says all by itself.
 * @module
 */
import { DEFAULT_LIMITS } from "../model/limits.ts";
import type { Compat, Thinking } from "../provider/dialect.ts";

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const SIZES: Record<string, number> = { "": 1, b: 1, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 };

/** Bounds of the loop that `--limit` knows beside those of a reply. */
const LOOP_LIMITS = ["maxRepeats", "maxToolResultChars", "toolTimeoutMs", "deadlineMs"] as const;

/** Names that `--limit` takes. */
export const LIMIT_NAMES: readonly string[] = [...Object.keys(DEFAULT_LIMITS), ...LOOP_LIMITS];

const YES_NO = { true: true, false: false };

/** Switches that `--compat` takes, with their values: those of the library's `compat`, and the two options beside it. */
export const COMPAT: Record<keyof Compat | "thinkTags" | "promptCache", Record<string, string | boolean>> = {
  streamUsage: YES_NO,
  maxTokensField: words("auto", "max_tokens", "max_completion_tokens"),
  emptyContent: words("null", "empty"),
  echoReasoning: words("same-field", "never", "always"),
  toolIds: words("verbatim", "mistral9"),
  mergeRoles: YES_NO,
  thinkTags: words("auto", "off"),
  promptCache: YES_NO,
};

function words(...values: string[]): Record<string, string> {
  return Object.fromEntries(values.map((value) => [value, value]));
}

/** Any text, the empty one included. */
export function text(value: string): string {
  return value;
}

/** A text that is not empty. */
export function name(value: string): string {
  if (value.trim() === "") throw new Error("must not be empty");
  return value;
}

/** An integer above 0. */
export function count(value: string): number {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number < 1) throw new Error("must be an integer above 0");
  return number;
}

/** An integer, 0 included. */
export function whole(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new Error("must be an integer, 0 or more");
  return Number(value);
}

/** Rounds of a run: the library allows 1 to 32. */
export function turns(value: string): number {
  const number = /^\d{1,2}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > 32) throw new Error("must be an integer from 1 to 32");
  return number;
}

/** A sampling temperature. */
export function temperature(value: string): number {
  const number = /^\d{1,3}(\.\d{1,6})?$/.test(value) ? Number(value) : NaN;
  if (!(number >= 0 && number <= 2)) throw new Error("must be a number from 0 to 2");
  return number;
}

/** A length of time in milliseconds, written with a unit. */
export function duration(value: string): number {
  const [, number, unit] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(value) ?? [];
  const ms = Math.round(Number(number) * UNITS[unit ?? ""]!);
  if (!(ms >= 1)) throw new Error('must be a time above 0 with a unit, such as "90s", "5m" or "500ms"');
  if (!Number.isSafeInteger(ms)) throw new Error("must be a shorter time");
  return ms;
}

/** A size in bytes. */
function size(value: string): number {
  const [, number, unit] = /^(\d{1,12})(b|kib|mib|gib)?$/i.exec(value) ?? [];
  const bytes = Number(number) * SIZES[(unit ?? "").toLowerCase()]!;
  if (!Number.isSafeInteger(bytes) || bytes < 1) {
    throw new Error('must be a size above 0, such as "65536", "64KiB" or "8MiB"');
  }
  return bytes;
}

/** A level of thinking, or its budget in tokens. */
export function thinking(value: string): Thinking {
  if (value === "low" || value === "medium" || value === "high") return value;
  if (/^\d{1,15}$/.test(value) && Number(value) > 0) return { budgetTokens: Number(value) };
  throw new Error("must be low, medium, high or a number of tokens above 0");
}

/** JSON text of an object. */
export function jsonObject(value: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    // The parser's own words quote the text at length; the caller shows it once.
    throw new Error("must be JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error("must be a JSON object");
  return parsed as Record<string, unknown>;
}

/** `NAME=VALUE`, split at the first `=`. */
function pair(value: string): [string, string] {
  const at = value.indexOf("=");
  if (at < 1) throw new Error("must be NAME=VALUE");
  return [value.slice(0, at), value.slice(at + 1)];
}

/** One `--limit`. */
export function limit(value: string): [string, number] {
  const [key, amount] = pair(value);
  if (!LIMIT_NAMES.includes(key)) throw new Error(`must name one of ${LIMIT_NAMES.join(", ")}`);
  try {
    if (key.endsWith("Ms")) return [key, /^\d+$/.test(amount) ? count(amount) : duration(amount)];
    return [key, key.endsWith("Bytes") || key.endsWith("Chars") ? size(amount) : count(amount)];
  } catch (error) {
    throw new Error((error as Error).message.replace("must be", `must give ${key}`));
  }
}

/** One `--compat`. */
export function compat(value: string): [string, string | boolean] {
  const [key, choice] = pair(value);
  const choices = Object.hasOwn(COMPAT, key) ? COMPAT[key as keyof typeof COMPAT] : undefined;
  if (choices === undefined) throw new Error(`must name one of ${Object.keys(COMPAT).join(", ")}`);
  if (!Object.hasOwn(choices, choice)) throw new Error(`must give ${key} ${Object.keys(choices).join(" or ")}`);
  return [key, choices[choice]!];
}

/** One `--header`. */
export function header(value: string): [string, string] {
  const at = value.indexOf(":");
  if (at < 1) throw new Error('must be "Name: value"');
  return [value.slice(0, at).trim().toLowerCase(), value.slice(at + 1).trim()];
}
