/**
 * What a finished reply means for a run; pure functions.
 * @module
 */
import { PawlError, type PawlErrorCode } from "../model/error.ts";
import type { Message, Usage } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import { stripReasoning } from "../text/reasoning.ts";

/** Makes an error of the loop. */
export function fault(code: PawlErrorCode, why: string, retryable = false): PawlError {
  return new PawlError(code, `Cannot go on: ${why}`, { retryable });
}

/** The text blocks of a message, joined with nothing. */
export function textOf({ content }: Message): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}

/** The text to hand out. With `auto` the provider has parted reasoning from text already, and an answer may quote a tag. */
export function cleanText({ thinkTags }: Pick<Provider, "thinkTags">, text: string): string {
  return thinkTags === "off" ? stripReasoning(text) : text.trim();
}

/** Adds field by field; what is absent on both sides stays absent. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const [field, tokens] of Object.entries(more) as [keyof Usage, number][]) {
    sum[field] = (sum[field] ?? 0) + tokens;
  }
}
