/**
 * The bounds of a run, and what it comes to: its result, its errors, its sums.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { PawlError, type PawlErrorCode } from "../model/error.ts";
import { checkInteger } from "../model/limits.ts";
import type { Message, StopReason, ToolUseBlock, Usage } from "../model/message.ts";
import { type Tool, type ToolChoice, validateTools } from "../model/tool.ts";
import type { StreamOptions } from "../provider/provider.ts";

/** Whether a call may run. */
export type Decision = { allow: true } | {
  allow: false;
  /** Told to the model. */
  reason?: string;
};

/** What makes an agent. Options of a call (`maxTokens`, `temperature`, `maxRetries`) go with every request. */
export interface AgentOptions extends Omit<StreamOptions, "signal"> {
  /** What the model may call. */
  tools?: readonly Tool[] | undefined;
  /** `required` or a name holds for the first request of a run; those after it are `auto`, or the run could never end. */
  toolChoice?: ToolChoice | undefined;
  /** Complete replies of one run, 1 to 32. Default 8. */
  maxIterations?: number | undefined;
  /** Asked before each call that could run. Anything but `allow: true` denies; an exception ends the run. */
  decide?: ((call: ToolUseBlock, context: { signal: AbortSignal }) => Decision | Promise<Decision>) | undefined;
  /** Called before each request; a conversation that it returns is sent this once instead. An exception ends the run. */
  prepare?:
    | ((
      conversation: Conversation,
      context: { signal: AbortSignal },
    ) => Conversation | undefined | void | Promise<Conversation | undefined | void>)
    | undefined;
  /** So many consecutive rounds with the same names, inputs and results end the run; 2 or more. Off unless set. */
  maxRepeats?: number | undefined;
  /** Tokens of all requests and replies; without reported usage, one token per 4 characters. Off unless set. */
  maxTotalTokens?: number | undefined;
  /** Milliseconds of a run, tools included. Off unless set. */
  deadlineMs?: number | undefined;
  /** Milliseconds of one tool; `timeoutMs` of a tool outranks it. Off unless set. */
  toolTimeoutMs?: number | undefined;
  /** UTF-16 units of one tool result; a longer one is cut in the middle, with a note. Default 65,536. */
  maxToolResultChars?: number | undefined;
}

/** Options that are checked and complete. */
export interface RunSettings extends AgentOptions {
  /** A snapshot. */
  tools: readonly Tool[];
  /** With its default. */
  maxIterations: number;
  /** With its default. */
  maxToolResultChars: number;
}

/** What a run came to. */
export interface RunResult {
  /** The text of the last message, and of paused turns before it, trimmed. */
  text: string;
  /** The parsed answer, with a `schema` or `validate`. */
  value?: Record<string, unknown>;
  /** Complete replies. */
  iterations: number;
  /** Tool functions started. */
  toolCalls: number;
  /** Sum over the replies; a field that no reply reported is absent. */
  usage: Usage;
  /** Why the last reply ended. */
  stopReason: StopReason;
  /** The last reply. */
  message: Message;
  /** The one that was given, or made by `run`. */
  conversation: Conversation;
}

/** The default of each bound, the smallest value, and the largest. */
const BOUNDS: { [name in keyof AgentOptions]: [fallback?: number | undefined, least?: number, most?: number] } = {
  maxIterations: [8, 1, 32],
  maxRepeats: [undefined, 2],
  maxTotalTokens: [],
  deadlineMs: [],
  toolTimeoutMs: [],
  maxToolResultChars: [65_536],
};

/**
 * Checks the options of an agent, and snapshots its tools.
 *
 * @throws {TypeError | RangeError} A tool or a number cannot be used.
 */
export function resolveOptions(options: AgentOptions): RunSettings {
  const tools = [...options.tools ?? []];
  validateTools(tools);
  const settings: Record<string, unknown> = { ...options, tools };
  for (const [name, [fallback, ...range]] of Object.entries(BOUNDS)) {
    settings[name] ??= fallback;
    if (settings[name] !== undefined) checkInteger(name, settings[name] as number, ...range);
  }
  return settings as unknown as RunSettings;
}

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
