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
  [/dns|lookup|ENOTFOUND|EAI_/i, "dns lookup failed"],
  [/tls|ssl|cert|handshake|corrupt message/i, "tls handshake failed"],
  [/reset|closed|broken pipe|EPIPE|UND_ERR_SOCKET|hang up/i, "connection reset"],
];

/** Codes and texts of an error and its causes, without URLs: a host may be called `tls.example`. */
function describe(error: unknown): string {
  let text = "";
  for (let depth = 0; depth < 4 && error instanceof Error; depth++) {
    text += ` ${error.message} ${(error as { code?: unknown }).code ?? ""}`;
    error = error.cause;
  }
  return text.replace(/\S*:\/\/\S*/g, "");
}

/**
 * A fetch that failed.
 *
 * @param error What it threw.
 * @param url Of the request; only an error that names a permission says its host and port.
 */
export function connectionFailure(error: unknown, url: string): PawlError {
  if (error instanceof Error && /^(NotCapable|PermissionDenied)$/.test(error.name)) {
    const { protocol, hostname, port } = new URL(url);
    const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
    return new PawlError("permission", `Cannot reach the endpoint: Deno needs --allow-net=${host}`);
  }
  const text = describe(error);
  const words = CONNECTION_FAILURES.find(([pattern]) => pattern.test(text))?.[1] ?? "other network failure";
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
    ? new PawlError("malformed_stream", "Cannot read the reply: it is not encoded as its content-encoding says")
    : new PawlError("truncated", "Cannot read the reply: the connection broke before its end", { retryable: true });
}

/** A status from 300 to 399. Where it leads is not told: there may be a key in it. */
export function redirected(status: number): PawlError {
  return new PawlError("redirect", `Cannot follow a redirect: HTTP status ${status}`, { status });
}

/** A reply that breaks the rules of HTTP, cleaned. */
export function unreadable(why: string): PawlError {
  return new PawlError("malformed_stream", `Cannot read the reply: ${why}`);
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
  const wish = retryWish(headers);
  const isAuth = status === 401 || status === 403;
  const cap = options.limits.maxRetryDelayMs;
  let text = "Cannot get a reply: ";
  if (isTooLong) text += "the conversation does not fit the context, ";
  text += `HTTP status ${status}`;
  if (isAuth) text += ", the endpoint refused the key";
  if (wish !== undefined && wish > cap) {
    text += `, it asks to wait ${wish} ms, longer than limits.maxRetryDelayMs (${cap} ms)`;
  }
  const hint = options.hint?.(status, report.text);
  if (hint) text += `, ${hint}`;
  const quote = isAuth ? "" : excerpt(report.text, options.redact);
  if (quote) text += `: "${quote}"`;
  return new PawlError(isTooLong ? "context_overflow" : "http_status", text, {
    status,
    retryable: !isTooLong && shouldRetry(status, headers),
    ...(wish !== undefined && { retryAfterMs: wish }),
  });
}
