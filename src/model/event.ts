/**
 * What a reply tells while it arrives. Grammar of one reply:
 * `retry* message_start (block_start content_delta* block_complete)* message_complete`;
 * indexes count 0, 1, 2, … and one block is open at a time.
 * @module
 */
import type { BlockType, ContentBlock, Message, StopReason, ToolResultBlock, ToolUseBlock, Usage } from "./message.ts";

/** The reply has begun: the first event that is no error, ping or comment. */
export interface MessageStartEvent {
  /** Which event this is. */
  type: "message_start";
  /** Who speaks; in a reply always the assistant. */
  role: "assistant";
}

/** A block opens. Its type is provisional: `block_complete` decides. */
export interface BlockStartEvent {
  /** Which event this is. */
  type: "block_start";
  /** Place of the block in `message.content`. */
  index: number;
  /** What the block seems to be. */
  blockType: BlockType;
  /** Id of the call, with `blockType: "tool_use"`. */
  toolId?: string;
  /** Name of the tool, with `blockType: "tool_use"`. */
  toolName?: string;
}

/** A non-empty, well-formed piece of text, reasoning or raw JSON arguments. Provisional. */
export interface ContentDeltaEvent {
  /** Which event this is. */
  type: "content_delta";
  /** Place of the block in `message.content`. */
  index: number;
  /** The piece. */
  delta: string;
}

/** A block is finished; `block` outranks its deltas. */
export interface BlockCompleteEvent {
  /** Which event this is. */
  type: "block_complete";
  /** Place of the block in `message.content`. */
  index: number;
  /** The whole block; of another type than its start said if it turned out to be reasoning. */
  block: ContentBlock;
}

/** Something that a person who runs the endpoint should know. */
export interface Warning {
  /**
   * `tool_call_text`: a tool call leaked into the text (quirks O-82, O-83); it was not run.
   * `usage_missing`: no token usage was reported. `context_cut`: the endpoint seems to have cut the prompt (rule R-43).
   */
  kind: "tool_call_text" | "usage_missing" | "context_cut";
  /** One line that says so, for a person. */
  message: string;
}

/** What is known about a finished reply, beside its message. */
export interface CompletionInfo {
  /** Why the reply ended. */
  stopReason: StopReason;
  /** The endpoint's own word. */
  rawStopReason?: string;
  /** Tokens as reported; absent if nothing was. */
  usage?: Usage;
  /** Model id as the endpoint named it. */
  model?: string;
  /** Reply id as the endpoint named it. */
  id?: string;
  /** Absent if there are none. */
  warnings?: Warning[];
}

/** The reply is finished; `message` outranks every event before it. */
export interface MessageCompleteEvent extends CompletionInfo {
  /** Which event this is. */
  type: "message_complete";
  /** The whole reply. */
  message: Message;
}

/** A request failed and is sent again after `delayMs`; comes before the wait and before `message_start`. */
export interface RetryEvent {
  /** Which event this is. */
  type: "retry";
  /** 1 for the first repetition. */
  attempt: number;
  /** Milliseconds until it is sent again. */
  delayMs: number;
  /** Error code of the failed attempt. */
  code: string;
  /** HTTP status of the failed attempt, if there was one. */
  status?: number | undefined;
}

/** Events of one reply. */
export type StreamEvent =
  | MessageStartEvent
  | BlockStartEvent
  | ContentDeltaEvent
  | BlockCompleteEvent
  | MessageCompleteEvent
  | RetryEvent;

/** A tool function is about to run. */
export interface ToolStartEvent {
  /** Which event this is. */
  type: "tool_start";
  /** The call that is served. */
  call: ToolUseBlock;
}

/** A call has its answer. Denied, unknown and invalid calls have it without a `tool_start`. */
export interface ToolResultEvent {
  /** Which event this is. */
  type: "tool_result";
  /** The call that is answered. */
  call: ToolUseBlock;
  /** The answer, as it goes to the model. */
  result: ToolResultBlock;
}

/** Events of an agent run: those of every reply, and those of the tools between them. */
export type AgentEvent = StreamEvent | ToolStartEvent | ToolResultEvent;
