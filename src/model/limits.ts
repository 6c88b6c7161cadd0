/**
 * Every bound below the loop, with its default.
 * @module
 */

import { PawlError } from "./error.ts";

/**
 * Bounds of one reply: sizes after decoding, clocks in milliseconds. The clocks run only while pawl waits for the endpoint, never
 * while the caller holds an event.
 */
export interface Limits {
  /** Bytes of a streamed reply, whose envelope takes about 200 a token. Default 16 MiB. */
  maxResponseBytes: number;
  /** UTF-16 units, of which there are never more than bytes, of a reply that is one JSON document, or of a model list. Default 1 MiB. */
  maxJsonBytes: number;
  /** UTF-16 units of one event, over all its lines. Default 4 MiB. */
  maxEventBytes: number;
  /** Bytes that are read of the body of an HTTP error. Default 8 KiB. */
  maxErrorBytes: number;
  /** Content blocks of one message. Default 1024. */
  maxBlocks: number;
  /** Bytes of the arguments of one call. Default 1 MiB. */
  maxToolInputBytes: number;
  /** Nesting of the JSON that is kept: tool input and vendor data. Default 128. */
  maxJsonDepth: number;
  /** Milliseconds that an endpoint may ask to wait before a repetition; a longer wish ends the call. Default 1 minute. */
  maxRetryDelayMs: number;
  /** Milliseconds until the head of a reply, over all attempts: a local model may have to load. Default 10 minutes. */
  headersTimeoutMs: number;
  /** Milliseconds without a byte. Default 5 minutes. */
  idleTimeoutMs: number;
  /** Milliseconds without content; comments, pings and empty deltas are none. Default 10 minutes. */
  progressTimeoutMs: number;
  /** Milliseconds of a whole reply. Default 30 minutes. */
  totalTimeoutMs: number;
}

/** The defaults of {@linkcode Limits}. */
export const DEFAULT_LIMITS: Readonly<Limits> = Object.freeze({
  maxResponseBytes: 2 ** 24,
  maxJsonBytes: 2 ** 20,
  maxEventBytes: 2 ** 22,
  maxErrorBytes: 8192,
  maxBlocks: 1024,
  maxToolInputBytes: 2 ** 20,
  maxJsonDepth: 128,
  maxRetryDelayMs: 60_000,
  headersTimeoutMs: 600_000,
  idleTimeoutMs: 300_000,
  progressTimeoutMs: 600_000,
  totalTimeoutMs: 1_800_000,
});

/**
 * The error of a bound that was broken: names it, its value and the option.
 *
 * @param limit Which bound.
 * @param limits The bounds in force, this one at least.
 * @returns `timeout` for a clock, else `response_too_large`.
 */
export function exceeded(limit: keyof Limits, limits: Partial<Limits>): PawlError {
  const retryable = limit.endsWith("Ms");
  return new PawlError(
    retryable ? "timeout" : "response_too_large",
    `Cannot read the reply: it exceeds limits.${limit} (${limits[limit]})`,
    { retryable },
  );
}

/**
 * Completes limits with the defaults.
 *
 * @param limits What the caller set; `undefined` means the default. Unknown names are ignored.
 * @throws {RangeError} A limit is no integer above 0.
 */
export function resolveLimits(limits: Partial<Limits> = {}): Limits {
  const resolved = { ...DEFAULT_LIMITS };
  for (const name of Object.keys(resolved) as (keyof Limits)[]) {
    const { [name]: value = resolved[name] } = limits;
    resolved[name] = checkInteger(`limits.${name}`, value);
  }
  return resolved;
}

/**
 * Checks a number that a caller set.
 *
 * @param name How the caller calls it.
 * @param value What was set.
 * @param least The smallest that will do.
 * @param most The largest.
 * @returns The value.
 * @throws {RangeError} It is no integer of that range.
 */
export function checkInteger(name: string, value: number, least = 1, most: number = Infinity): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(
    `Cannot use ${name} as it must be an integer from ${least} to ${most}: current value is ${value}`,
  );
}
