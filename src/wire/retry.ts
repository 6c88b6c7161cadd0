/**
 * When a request is repeated (quirks H-08 and H-09).
 * @module
 */
import { isRetryableStatus } from "../text/error_text.ts";

/**
 * How long an endpoint asks to wait: `retry-after-ms`, else `retry-after` in seconds, else its date.
 *
 * @param headers Of the reply.
 * @returns Whole milliseconds up to `Number.MAX_SAFE_INTEGER`; 0 if nothing usable is there.
 */
export function retryWish(headers: Headers): number {
  const after = headers.get("retry-after") ?? "";
  const wish = decimal(headers.get("retry-after-ms") ?? "") || 1000 * decimal(after) || Date.parse(after) - Date.now();
  return Math.min(Math.max(0, Math.ceil(wish || 0)), Number.MAX_SAFE_INTEGER);
}

/** `Number` would take `0x10` and `1e3` as well. */
function decimal(text: string): number {
  return /^[\d.]+$/.test(text) ? Number(text) : 0;
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
