/**
 * When a request is repeated (design §4, quirks H-08 and H-09).
 * @module
 */
import { isRetryableStatus } from "../text/error_text.ts";

/**
 * How long an endpoint asks to wait: `retry-after-ms`, else `retry-after` in seconds, else its date.
 *
 * @param headers Of the reply.
 * @param now Current time, in milliseconds since 1970.
 * @returns Whole milliseconds from 0 to `Number.MAX_SAFE_INTEGER`; `undefined` if nothing usable is there.
 */
export function retryWish(headers: Headers, now: number = Date.now()): number | undefined {
  const after = headers.get("retry-after") ?? "";
  // `Date.parse` reads almost anything as a date, `-5` too.
  const date = /[a-z]{3}.*\d:\d/i.test(after) ? Date.parse(after) - now : NaN;
  for (const wish of [decimal(headers.get("retry-after-ms")), 1000 * decimal(after), Math.max(0, date)]) {
    if (wish >= 0) return Math.min(Math.ceil(wish), Number.MAX_SAFE_INTEGER);
  }
  return undefined;
}

function decimal(text: string | null): number {
  return /^\s*\d+(\.\d*)?\s*$/.test(text ?? "") ? Number(text) : NaN;
}

/**
 * Whether an HTTP error may pass by itself: the endpoint's word counts, else the status.
 *
 * @param status Outside 200–299.
 * @param headers Of the reply.
 */
export function shouldRetry(status: number, headers: Headers): boolean {
  const word = headers.get("x-should-retry");
  return word === "true" || word !== "false" && isRetryableStatus(status);
}

/**
 * The wait before a repetition, never shorter than 250 ms unless the cap is.
 *
 * @param count Repetitions so far.
 * @param wish What the endpoint asked for; at most `cap`.
 * @param cap `limits.maxRetryDelayMs`.
 * @returns Whole milliseconds.
 */
export function retryDelay(count: number, wish: number, cap: number): number {
  return Math.ceil(Math.max(wish, Math.min(cap, 250 + Math.random() * 500 * 2 ** count)));
}
