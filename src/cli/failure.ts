/**
 * How a failure is told.
 * @module
 */
import { ClosedPipe, describeError, type ErrorJson, Finished, type PartialJson } from "./exit.ts";
import { describeUsage } from "./tally.ts";
import type { Terminal } from "./terminal.ts";

/** What {@linkcode tellFailure} knows beside the error. */
export interface FailureOptions {
  host?: string;
  /** Work done, where the error itself carries none. */
  partial?: PartialJson;
  /** The text so far stands on standard output already. */
  isShown?: boolean;
  /** Also as JSON on standard output. */
  json?: boolean;
}

/** Tells a failure: a line on standard error, the work done so far below it. Returns the exit status. */
export function tellFailure(terminal: Terminal, error: unknown, options: FailureOptions = {}): number {
  const failure = describeError(error, options.host);
  if (error instanceof ClosedPipe || error instanceof Finished) return failure.exit;
  const partial = hasWork(failure.partial) ? failure.partial : options.partial ?? failure.partial;
  terminal.endOut();
  terminal.line(`error: ${failure.code}: ${failure.message}`, "red");
  if (options.json) terminal.json(JSON.stringify({ ...failure, partial } satisfies ErrorJson));
  else tellPartial(terminal, partial, options.isShown === true);
  return failure.exit;
}

function hasWork({ text, iterations, toolCalls }: PartialJson): boolean {
  return text !== "" || iterations > 0 || toolCalls > 0;
}

function tellPartial(terminal: Terminal, partial: PartialJson, isShown: boolean): void {
  if (!hasWork(partial)) return;
  const { text, iterations, toolCalls, usage } = partial;
  if (iterations > 0 && !terminal.quiet) {
    terminal.line(`done so far: replies: ${iterations}, tool calls: ${toolCalls}, ${describeUsage(usage)}`);
  }
  if (text !== "" && !isShown) terminal.line(`the text so far:\n${text}`);
}
