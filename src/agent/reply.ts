/**
 * What a finished reply means for a run; pure functions.
 * @module
 */
import { PawlError, type PawlErrorCode } from "../model/error.ts";
import type { Message, Usage } from "../model/message.ts";

/** Makes an error of the loop. */
export function fault(code: PawlErrorCode, why: string, retryable = false): PawlError {
  return new PawlError(code, `Cannot go on: ${why}`, { retryable });
}

/** The text blocks of a message, joined with nothing. */
export function textOf({ content }: Message): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}

/** Adds field by field; what is absent on both sides stays absent. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const [field, tokens] of Object.entries(more) as [keyof Usage, number][]) {
    sum[field] = (sum[field] ?? 0) + tokens;
  }
}
