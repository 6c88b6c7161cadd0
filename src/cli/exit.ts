/**
 * Exit statuses, and how a failure is told: one line on standard error, or one JSON object.
 * @module
 */
import { isPawlError, type PartialReply, type PartialRun, type PawlErrorCode } from "../model/error.ts";
import type { Usage } from "../model/message.ts";

const STATUS: Record<PawlErrorCode, number> = {
  unreachable: 4,
  timeout: 4,
  http_status: 5,
  redirect: 5,
  backend: 5,
  malformed_stream: 5,
  empty_reply: 5,
  response_too_large: 5,
  unsupported_tool_call: 5,
  no_tool_calling: 5,
  truncated: 6,
  output_limit: 6,
  context_overflow: 6,
  iteration_limit: 7,
  budget: 7,
  no_progress: 7,
  not_json: 8,
  invalid_json: 8,
  permission: 9,
  invalid_skill: 3,
  invalid_session: 3,
};

/** The endpoint wants another key. */
const EXIT_REFUSED = 3;
/** Exit status of a command line that cannot be used. */
const EXIT_USAGE = 2;
/** What a shell reports for a program whose reader went away. */
const EXIT_CLOSED_PIPE = 141;

/** A failure of the command line itself: its text is one line, complete as it stands. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly exit: number;

  /**
   * @param code Word between `error:` and the text.
   * @param message What could not be done, why, and what to do about it.
   * @param options `exit`: status of the process, 1 unless given.
   */
  constructor(code: string, message: string, options: { exit?: number } = {}) {
    super(message);
    this.code = code;
    this.exit = options.exit ?? 1;
  }
}

/** Makes the error for something that the person at the keyboard has to change. */
export function usage(message: string): CliError {
  return new CliError("usage", message, { exit: EXIT_USAGE });
}

/** The reason of an abort that a signal or a second thought of the user caused. */
export class Interruption extends CliError {
  /** @param signal Which signal it was; Ctrl-C is `SIGINT`. */
  constructor(signal: "SIGINT" | "SIGTERM") {
    super("aborted", `Stopped by ${signal}`, { exit: signal === "SIGINT" ? 130 : 143 });
  }
}

/** The reason of an abort because all has been done that was asked for, as with `--dry-run`. */
export class Finished extends CliError {
  constructor() {
    super("finished", "All is done", { exit: 0 });
  }
}

/** The reason of an abort because nobody reads standard output any more. Nothing is told about it. */
export class ClosedPipe extends CliError {
  constructor() {
    super("closed_pipe", "Standard output was closed", { exit: EXIT_CLOSED_PIPE });
  }
}

/** Work done before a failure, as the JSON error tells it. */
export interface PartialJson {
  text: string;
  iterations: number;
  toolCalls: number;
  usage: Usage;
}

/** A failure in the form of `--json`. */
export interface ErrorJson {
  type: "error";
  code: string;
  message: string;
  status?: number;
  retryable: boolean;
  retryAfterMs?: number;
  exit: number;
  partial: PartialJson;
}

/** What the library calls otherwise than the command line. */
const FLAG_NAMES: Record<string, string> = {
  apiKey: "--api-key-env",
  baseUrl: "--base-url",
  deadlineMs: "--timeout",
  maxIterations: "--max-turns",
  maxRepeats: "--limit maxRepeats",
  maxTokens: "--max-tokens",
  maxTotalTokens: "--max-total-tokens",
  thinkTags: "--compat thinkTags",
  "thinking.budgetTokens": "--thinking",
};
const OPTION_NAME = new RegExp(`\\b(?:(limit|compat)s?\\.(?=\\w)|(?:${Object.keys(FLAG_NAMES).join("|")})\\b)`, "g");

/** A text of the library with the names of flags, where it tells which option to change. */
export function inFlags(text: string): string {
  return text.replace(/\bdeadlineMs \(\d+(?=\))/, "$& ms").replace(
    OPTION_NAME,
    (name, group) => group === undefined ? FLAG_NAMES[name]! : `--${group} `,
  );
}

/**
 * Reads any failure.
 *
 * @param error Whatever was thrown.
 * @param host Host and port of the endpoint, added where the library may not name them.
 */
export function describeError(error: unknown, host?: string): ErrorJson {
  const partial = partialOf(error);
  if (isPawlError(error)) {
    const { code, status, retryable, retryAfterMs } = error;
    // A recording that does not fit is not repeated, and has no host.
    const isHosts = code === "http_status" || code === "unreachable" && retryable;
    const where = host !== undefined && isHosts ? ` (${host})` : "";
    return {
      type: "error",
      code,
      message: inFlags(error.message) + where,
      ...status !== undefined && { status },
      retryable,
      ...retryAfterMs !== undefined && { retryAfterMs },
      exit: status === 401 || status === 403 ? EXIT_REFUSED : STATUS[code],
      partial,
    };
  }
  const message = firstLine(error);
  const [code, exit] = error instanceof CliError
    ? [error.code, error.exit]
    : error instanceof Deno.errors.NotCapable
    ? ["permission", STATUS.permission]
    : error instanceof TypeError || error instanceof RangeError
    ? ["usage", EXIT_USAGE]
    : ["failed", 1];
  return {
    type: "error",
    code,
    message: code === "usage" && !(error instanceof CliError) ? inFlags(message) : message,
    retryable: false,
    exit,
    partial,
  };
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim();
}

function partialOf(error: unknown): PartialJson {
  const partial = (error as { partial?: PartialReply | PartialRun } | null)?.partial;
  if (partial === undefined) return { text: "", iterations: 0, toolCalls: 0, usage: {} };
  if ("conversation" in partial) {
    const { text, iterations, toolCalls, usage } = partial;
    return { text, iterations, toolCalls, usage };
  }
  const text = partial.message.content.map((block) => block.type === "text" ? block.text : "").join("").trim();
  return { text, iterations: 0, toolCalls: 0, usage: partial.usage ?? {} };
}
