/**
 * The one error class, and the codes that tell failures apart.
 * @module
 */
import type { Conversation } from "./conversation.ts";
import type { Message, Usage } from "./message.ts";

/**
 * What failed. The command line maps each code to an exit status.
 *
 * | code | when |
 * | --- | --- |
 * | `unreachable` | no connection: refused, dns, tls, reset or other |
 * | `timeout` | a clock of {@linkcode Limits} ran out; the text names it |
 * | `http_status` | a status that is no success; in `status` |
 * | `redirect` | a status from 300 to 399: none is followed |
 * | `backend` | the endpoint reported an error inside its reply |
 * | `malformed_stream` | what came is no reply of the dialect |
 * | `empty_reply` | a finished reply with nothing in it |
 * | `response_too_large` | a size of {@linkcode Limits} was exceeded; the text names it |
 * | `unsupported_tool_call` | a call that cannot be executed |
 * | `no_tool_calling` | the model did not call the tool of the probe |
 * | `truncated` | the reply broke off before its end |
 * | `output_limit` | the reply reached `maxTokens` |
 * | `context_overflow` | the prompt does not fit into the model's context |
 * | `iteration_limit` | no answer after `maxIterations` replies, or more than 32 calls in one |
 * | `budget` | `maxTotalTokens` or `deadlineMs` was used up |
 * | `no_progress` | `maxRepeats` rounds of the same calls with the same results |
 * | `not_json`, `invalid_json` | the answer holds no JSON object, or none that fits |
 * | `permission` | Deno refused; the text names the flag |
 * | `invalid_skill`, `invalid_session` | a file cannot be used |
 */
export type PawlErrorCode =
  | "unreachable"
  | "timeout"
  | "http_status"
  | "redirect"
  | "backend"
  | "malformed_stream"
  | "empty_reply"
  | "response_too_large"
  | "unsupported_tool_call"
  | "no_tool_calling"
  | "truncated"
  | "output_limit"
  | "context_overflow"
  | "iteration_limit"
  | "budget"
  | "no_progress"
  | "not_json"
  | "invalid_json"
  | "permission"
  | "invalid_skill"
  | "invalid_session";

/** Work done before a provider failed. */
export interface PartialReply {
  /** The blocks so far; open ones as far as they got. */
  message: Message;
  /** What the endpoint reported before it failed. */
  usage?: Usage;
}

/** Work done before a run failed. */
export interface PartialRun {
  /** Text of the last message or of the broken reply. */
  text: string;
  /** The broken reply, which is not in the conversation. */
  message?: Message | undefined;
  /** Valid: it can be sent again. */
  conversation: Conversation;
  /** Sum over the replies of the run. */
  usage: Usage;
  /** Complete replies. */
  iterations: number;
  /** Tool functions started. */
  toolCalls: number;
}

/** Fields of a {@linkcode PawlError} beside code and message. */
export interface PawlErrorOptions {
  /** HTTP status, if the endpoint answered with one. */
  status?: number | undefined;
  /** The same request may succeed later. Default `false`. */
  retryable?: boolean | undefined;
  /** How long the endpoint asked to wait. */
  retryAfterMs?: number | undefined;
}

const BRAND: unique symbol = Symbol.for("pawl.error") as never;

/**
 * Every failure that a caller may want to catch.
 * The message is one line of at most 300 characters; it never holds a key, a URL, or more than a short cleaned excerpt of what the
 * endpoint wrote. There is no `cause`: the runtime puts the URL into it.
 *
 * @example
 * ```ts
 * import { isPawlError, PawlError } from "@pawl/pawl";
 * import { assert } from "@std/assert";
 *
 * const error = new PawlError("truncated", "The reply broke off", { retryable: true });
 * assert(isPawlError(error, "truncated") && error.retryable);
 * ```
 */
export class PawlError extends Error {
  /** Always `PawlError`. */
  override readonly name = "PawlError";
  /** Which failure it is. */
  declare readonly code: PawlErrorCode;
  /** HTTP status, if there was one. */
  declare readonly status?: number;
  /** The same request may succeed later. */
  declare readonly retryable: boolean;
  /** Milliseconds the endpoint asked to wait. */
  declare readonly retryAfterMs?: number;
  /** Work done so far; not enumerable, so that no log prints a conversation by accident. */
  declare partial?: PartialReply | PartialRun;

  /**
   * Makes an error; a tool or a dialect of your own may throw it too.
   *
   * @param code Which failure it is.
   * @param message One line; control characters become spaces, and it is cut at 300 characters.
   * @param options Status and retry advice.
   */
  constructor(
    code: PawlErrorCode,
    message: string,
    { status, retryable = false, retryAfterMs }: PawlErrorOptions = {},
  ) {
    // Whoever wrote it: it is one line.
    super(cut(message.replace(/[\p{Cc}\u2028\u2029]+/gu, " "), 300));
    this.code = code;
    this.retryable = retryable;
    if (status !== undefined) this.status = status;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    Object.defineProperties(this, { [BRAND]: { value: true }, partial: { writable: true } });
  }
}

/**
 * Shortens a text, never inside a pair.
 *
 * @param text May hold lone surrogates; the result does not.
 * @param max UTF-16 units of the result.
 */
export function cut(text: string, max: number): string {
  return (text.length > max ? text.slice(0, max - 1) + "…" : text).toWellFormed();
}

/** A name in an error, whoever gave it. */
export function quote(name: unknown): string {
  return JSON.stringify(cut(String(name), 64));
}

/**
 * Tells whether something caught is a {@linkcode PawlError}, also one made by another copy of the package.
 *
 * @param error Anything caught.
 * @param code Ask for this code only.
 * @returns Whether it is one, and of this code if one was asked for.
 */
export function isPawlError(error: unknown, code?: PawlErrorCode): error is PawlError {
  return (error as { [BRAND]?: true } | undefined)?.[BRAND] === true && (!code || (error as PawlError).code === code);
}
