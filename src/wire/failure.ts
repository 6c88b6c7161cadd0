/**
 * What went wrong on the wire, in words of ours. Deno puts the URL into the cause of a failed fetch, and endpoints echo keys, so nothing
 * of either is taken over but what has been cleaned.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { Limits } from "../model/limits.ts";
import { excerpt, isOverflow, readError } from "../text/error_text.ts";
import { retryWish, shouldRetry } from "./retry.ts";

/** By what Deno, Node and Bun say. */
const CONNECTION_FAILURES: [pattern: RegExp, words: string][] = [
  [/refused/i, "connection refused"],
  [/dns|lookup|ENOTFOUND|EAI_/i, "dns failure"],
  [/tls|ssl|cert|corrupt message/i, "tls failure"],
  [/reset|closed|pipe|hang up/i, "connection reset"],
  [/^/, "other failure"],
];

/** Codes and texts of an error and its causes, without URLs: a host may be called `tls.example`. */
function describe(error: unknown): string {
  let text = "";
  let link = error;
  for (let depth = 0; depth < 4 && link instanceof Error; depth++) {
    text += `${link.message} ${(link as { code?: unknown }).code} `;
    link = link.cause;
  }
  return text.replace(/\S*:\/\/\S*/g, "");
}

/**
 * A fetch that failed.
 *
 * @param error What it threw. If it is Deno that did not permit it, host and port are told, for they are in the flag.
 */
export function connectionFailure(error: unknown): PawlError {
  const text = describe(error);
  const [, host] = /net access to "(.+?)"/.exec(text) ?? [];
  if (host) return new PawlError("permission", `Cannot reach the endpoint: Deno needs --allow-net=${host}`);
  const [, words] = CONNECTION_FAILURES.find(([pattern]) => pattern.test(text))!;
  return new PawlError("unreachable", `Cannot reach the endpoint: ${words}`, { retryable: true });
}

/**
 * A body that failed while it was read.
 *
 * @param error What its stream threw.
 * @param encoded The runtime was decoding it.
 */
export function bodyFailure(error: unknown, encoded: boolean): PawlError {
  return encoded && /invalid|incorrect|corrupt|crc|brotli error|Z_DATA/i.test(describe(error))
    ? new PawlError("malformed_stream", "Cannot read the reply: its content-encoding is broken")
    : new PawlError("truncated", "Cannot read the reply: the connection broke", { retryable: true });
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
  const isAuth = status === 401 || status === 403;
  const wish = retryWish(headers);
  const cap = options.limits.maxRetryDelayMs;
  const why = [
    `HTTP status ${status}`,
    isTooLong && "the conversation does not fit the context",
    isAuth && "the endpoint refused the key",
    wish > cap && `it asks to wait ${wish} ms, limits.maxRetryDelayMs is ${cap} ms`,
    options.hint?.(status, report.text),
  ].filter(Boolean).join(", ");
  const quote = isAuth ? "" : excerpt(report.text, options.redact);
  return new PawlError(
    isTooLong ? "context_overflow" : "http_status",
    `Cannot get a reply: ${why}${quote && `: "${quote}"`}`,
    { status, retryable: !isTooLong && shouldRetry(status, headers), retryAfterMs: wish || undefined },
  );
}
