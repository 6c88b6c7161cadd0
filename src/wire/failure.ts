/**
 * What went wrong on the wire, in words of ours. Deno puts the URL into the cause of a failed fetch, and endpoints echo keys, so nothing
 * of either is taken over but what has been cleaned.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { Limits } from "../model/limits.ts";
import { excerpt, isOverflow, isRetryable, keyOf, readError } from "../text/error_text.ts";

/** By what Deno, Node and Bun say. */
const CONNECTION_FAILURES: Record<string, RegExp> = {
  "connection refused": /refused/i,
  "dns failure": /dns|lookup|ENOTFOUND|EAI_/i,
  "tls failure": /tls|ssl|cert|corrupt message/i,
  "connection reset": /reset|closed|pipe|hang up/i,
  "blocked port": /blocked|bad port/i,
  "other failure": /^/,
};

/** Codes and texts of an error and its causes, without URLs: a host may be called `tls.example`. */
function describe(error: unknown, depth = 4): string {
  const { message, code, cause } = Object(error);
  return depth > 0 ? `${message} ${code} ${describe(cause, depth - 1)}`.replace(/\S*:\/\/\S*/g, "") : "";
}

/**
 * A fetch that failed.
 *
 * @param error What it threw. If it is Deno that did not permit it, host and port are told, for they are in the flag.
 */
export function connectionFailure(error: unknown): PawlError {
  const text = describe(error);
  const [, host] = /net access to "(.+?)"/.exec(text) ?? [];
  const why = host ? `Deno needs --allow-net=${host}` : keyOf(CONNECTION_FAILURES, text);
  return new PawlError(host ? "permission" : "unreachable", `Cannot reach the endpoint: ${why}`, { retryable: !host });
}

/**
 * A body that failed while it was read.
 *
 * @param error What its stream threw.
 * @param encoded The runtime was decoding it.
 */
export function bodyFailure(error: unknown, encoded: boolean): PawlError {
  const isGarbled = encoded && /invalid|incorrect|corrupt|crc|brotli error|Z_DATA/i.test(describe(error));
  const why = isGarbled ? "its content-encoding is broken" : "the connection broke";
  return new PawlError(isGarbled ? "malformed_stream" : "truncated", `Cannot read the reply: ${why}`, {
    retryable: !isGarbled,
  });
}

/** How an HTTP error is told. */
export interface StatusOptions {
  /** All of them. */
  limits: Limits;
  /** Takes secrets out of what is quoted. */
  redact: (text: string) => string;
  /** Advice of the dialect. */
  hint?: ((status: number, text: string) => string | undefined) | undefined;
}

/**
 * A status outside 200–299.
 *
 * @param response Its head.
 * @param body What was read of the body.
 */
export function statusFailure({ status, headers }: Response, body: string, options: StatusOptions): PawlError {
  const report = readError(body);
  const isTooLong = status === 413 || status === 400 && isOverflow(report);
  const isAuth = [401, 403].includes(status);
  const wish = retryWish(headers);
  const cap = options.limits.maxRetryDelayMs;
  const word = headers.get("x-should-retry");
  const why = [
    `HTTP status ${status}`,
    isTooLong && "the model's context is full",
    isAuth && "look at the option apiKey",
    wish > cap && `it asks to wait ${wish} ms, limits.maxRetryDelayMs is ${cap} ms`,
    options.hint?.(status, report.text),
  ].filter(Boolean).join(", ");
  const quote = isAuth ? "" : excerpt(report.text, options.redact);
  return new PawlError(
    isTooLong ? "context_overflow" : "http_status",
    `Cannot get a reply: ${why}${quote && `: "${quote}"`}`,
    {
      status,
      retryable: !isTooLong && (word === "true" || word !== "false" && isRetryable({ status })),
      retryAfterMs: wish || undefined,
    },
  );
}

/** Whole milliseconds that an endpoint asks to wait: `retry-after-ms`, else `retry-after` in seconds, else its date (quirk H-08). */
function retryWish(headers: Headers): number {
  // `Number` would take `0x10` and `1e3` as well.
  const decimal = (name: string) => Number(/^[\d.]+$/.exec(headers.get(name) ?? ""));
  const wish = decimal("retry-after-ms") || 1000 * decimal("retry-after") ||
    Date.parse(headers.get("retry-after") ?? "") - Date.now();
  return Math.min(Math.max(0, Math.ceil(wish || 0)), 2 ** 53 - 1);
}
