/**
 * The failures of a reply, each made in one place.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { excerpt, isOverflow, isRetryable, readError } from "../text/error_text.ts";

/** A reply that broke off before its end. */
export function truncated(why: string): PawlError {
  return new PawlError("truncated", `Cannot read the reply: ${why}`, { retryable: true });
}

/** Ends a reply that violates the protocol; `what` is ours, never the endpoint's text. */
export function violation(what: string, retryable = false): never {
  throw new PawlError("malformed_stream", `Cannot read the reply: ${what}`, { retryable });
}

/** An error that the endpoint reported inside a reply: a message, an object of any known shape, or a failure word. */
export function reported(error: unknown, redact: (text: string) => string): PawlError {
  const report = readError(error);
  const said = excerpt(report.text, redact);
  const overflow = isOverflow(report);
  return new PawlError(
    overflow ? "context_overflow" : "backend",
    `The endpoint reported an error${said && `: ${said}`}`,
    { retryable: !overflow && isRetryable(report) },
  );
}
