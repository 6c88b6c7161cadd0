/**
 * What a finished reply means for a run; pure functions.
 * @module
 */
import { PawlError, type PawlErrorCode } from "../model/error.ts";
import type { MessageCompleteEvent } from "../model/event.ts";
import type { Message, Usage } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import { stripReasoning } from "../text/reasoning.ts";

/** More calls in one reply are refused whole: rounds are bounded, and so is the work of one round (rig). */
const MAX_CALLS = 32;
/** The smallest prompt that can fill a context of today; below it a reply of no tokens is just empty (quirk O-42). */
const FULL_PROMPT_TOKENS = 2048;

/** Makes an error of the loop. */
export function fault(code: PawlErrorCode, why: string, retryable = false): PawlError {
  return new PawlError(code, `Cannot go on: ${why}`, { retryable });
}

/**
 * The error that a reply amounts to, if it is one. The order of the checks is the contract's: length, refusal, calls, pause, end.
 *
 * @param calls Number of calls in it.
 * @param isAnswer It may end the run: there is text, or a tool has run and nothing more to say is an answer (quirk A-23).
 * @param maxTokens The output limit that was sent.
 */
export function judge(
  { message, stopReason, rawStopReason, usage = {} }: MessageCompleteEvent,
  { calls, isAnswer, maxTokens }: { calls: number; isAnswer: boolean; maxTokens: number },
): PawlError | undefined {
  const isSilent = message.content.length === 0 && usage.outputTokens === 0;
  const isCut = stopReason === "max_tokens";
  if (isCut && !isSilent && rawStopReason !== "model_context_window_exceeded") {
    return fault("output_limit", `the reply was cut off at maxTokens (${maxTokens})`);
  }
  if (isCut || (isSilent && stopReason !== "refusal" && usage.inputTokens! >= FULL_PROMPT_TOKENS)) {
    return fault("context_overflow", "the conversation fills the model's context");
  }
  if (calls > MAX_CALLS && stopReason !== "refusal") {
    return fault("iteration_limit", `there are ${calls} calls, the cap is ${MAX_CALLS}`);
  }
  if (calls > 0 || isAnswer || stopReason === "refusal" || stopReason === "pause_turn") return undefined;
  return fault("empty_reply", "the reply has neither text nor calls", true);
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
