/**
 * Every bound below the loop, with its default.
 * @module
 */

import { PawlError } from "./error.ts";

/** Bounds of one reply. Sizes in bytes of the decoded body, clocks in milliseconds. */
export interface Limits {
  /** A streamed reply; about 200 bytes of envelope a token. */
  maxResponseBytes: number;
  /** A reply that is one JSON document. */
  maxJsonBytes: number;
  /** One event, counting every one of its lines. */
  maxEventBytes: number;
  /** What is read of the body of an HTTP error. */
  maxErrorBytes: number;
  /** Content blocks of one message. */
  maxBlocks: number;
  /** Arguments of one call. */
  maxToolInputBytes: number;
  /** Nesting of kept JSON: tool input and vendor data. */
  maxJsonDepth: number;
  /** A longer wish to wait ends the call instead. */
  maxRetryDelayMs: number;
  /** Until the head of a reply, over all attempts together: a local model may have to load. */
  headersTimeoutMs: number;
  /** Without a byte. */
  idleTimeoutMs: number;
  /** Without content; comments, pings and empty deltas are none. */
  progressTimeoutMs: number;
  /** A whole reply. */
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
  const unit = retryable ? " ms" : limit.endsWith("Bytes") ? " bytes" : "";
  return new PawlError(
    retryable ? "timeout" : "response_too_large",
    `Cannot read the reply: it exceeds limits.${limit} (${limits[limit]}${unit})`,
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
    resolved[name] = checkInteger(`limits.${name}`, limits[name] === undefined ? resolved[name] : limits[name]);
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
export function checkInteger(name: string, value: number, least = 1, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(
    `Cannot use ${name} as it must be an integer from ${least} to ${most}: current value is ${value}`,
  );
}
