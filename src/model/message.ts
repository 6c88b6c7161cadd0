/**
 * The provider-neutral shape of a conversation: roles, content blocks, messages, usage.
 * @module
 */

/** Who speaks. Tool results travel in user messages, as in the Anthropic protocol. */
export type Role = "system" | "user" | "assistant";

/** Text that is part of the conversation proper. */
export interface TextBlock {
  /** What kind of block this is. */
  type: "text";
  /** The text. */
  text: string;
}

/** Reasoning of the model. It is never part of the answer. */
export interface ThinkingBlock {
  /** What kind of block this is. */
  type: "thinking";
  /** What the model thought; empty if the endpoint shows only a signature or an encrypted form of it. */
  text: string;
  /** Proof that an endpoint wants back, byte for byte (quirk A-06). */
  signature?: string;
  /** Reasoning that the endpoint encrypted; echoed verbatim (quirk A-08). */
  redacted?: string;
  /** Wire field the reasoning arrived in, since it must go back under the same name (rule R-10). Absent: it leaked into the text. */
  field?: string;
  /** Vendor reasoning records, echoed unmodified (rule R-12). */
  details?: unknown;
}

/** A call that the model asks for. */
export interface ToolUseBlock {
  /** What kind of block this is. */
  type: "tool_use";
  /** Unique within its message. */
  id: string;
  /** Name of the tool, as the model wrote it: perhaps of one that does not exist. */
  name: string;
  /** The raw JSON text of one object, so that 64-bit integers survive (quirk O-71); with `invalid`, whatever arrived. */
  input: string;
  /** The input is not exactly one JSON object: the call is answered with an error and never run. */
  invalid?: true;
  /** Vendor keys of the call, echoed on the same call (rule R-13). */
  extra?: Record<string, unknown>;
}

/** What a tool answered. */
export interface ToolResultBlock {
  /** What kind of block this is. */
  type: "tool_result";
  /** `id` of the call that this answers. */
  toolUseId: string;
  /** The answer, for the model to read. */
  content: string;
  /** The tool failed or was not run: the model reads `error: ` in front of `content`. */
  isError?: boolean;
}

/** A picture in a user message. */
export interface ImageBlock {
  /** What kind of block this is. */
  type: "image";
  /** For example `image/png`. */
  mediaType: string;
  /** Base64, without a `data:` prefix. */
  data: string;
}

/** A vendor block that pawl does not understand: echoed verbatim, never run (quirk A-22). */
export interface OpaqueBlock {
  /** What kind of block this is. */
  type: "opaque";
  /** The block as the endpoint sent it. */
  value: unknown;
}

/** One piece of a message. */
export type ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ImageBlock | OpaqueBlock;

/** The block types that a reply can hold, in the words of the events. */
export type BlockType = "text" | "thinking" | "tool_use" | "opaque";

/** Where a reply came from: reasoning and vendor data go back only there (rule R-41). */
export interface Origin {
  /** `dialect.name` of the provider. */
  dialect: string;
  /** Model id as it was requested. */
  model: string;
}

/** One turn. */
export interface Message {
  /** Who speaks. */
  role: Role;
  /** What is said, in order. */
  content: ContentBlock[];
  /** Set by a provider on the replies it completes. */
  origin?: Origin;
}

/**
 * Tokens as the endpoint reported them. Absent means "not reported", never 0.
 * `inputTokens` counts all input, cached tokens included, in both dialects.
 */
export interface Usage {
  /** Tokens of the prompt, cached ones included. */
  inputTokens?: number;
  /** Tokens of the reply, its reasoning included where the endpoint counts it so. */
  outputTokens?: number;
  /** Tokens of the prompt that came out of a cache. */
  cachedInputTokens?: number;
  /** Tokens of the reply that were reasoning. */
  reasoningTokens?: number;
}

/**
 * Why a reply ended, in one vocabulary for all dialects.
 * `tool_use` whenever the reply holds calls that may run, whatever word the endpoint used (quirks O-60, A-14).
 */
export type StopReason =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "stop_sequence"
  | "refusal"
  | "pause_turn"
  | "other";
