/**
 * The provider-neutral shape of a conversation: roles, content blocks, messages, usage.
 * Shapes follow the seeds (awl phase 1, "Data Model"); design §3 lists every field.
 * @module
 */

/** Who speaks. Tool results travel in user messages, as in the Anthropic protocol. */
export type Role = "system" | "user" | "assistant";

/** Text that is part of the conversation proper. */
export interface TextBlock {
  type: "text";
  text: string;
}

/** Reasoning of the model. It is never part of the answer. */
export interface ThinkingBlock {
  type: "thinking";
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
  type: "tool_use";
  /** Unique within its message. */
  id: string;
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
  type: "tool_result";
  toolUseId: string;
  content: string;
  isError?: boolean;
}

/** A picture in a user message. */
export interface ImageBlock {
  type: "image";
  /** For example `image/png`. */
  mediaType: string;
  /** Base64, without a `data:` prefix. */
  data: string;
}

/** A vendor block that pawl does not understand: echoed verbatim, never run (quirk A-22). */
export interface OpaqueBlock {
  type: "opaque";
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
  role: Role;
  content: ContentBlock[];
  /** Set by a provider on the replies it completes. */
  origin?: Origin;
}

/**
 * Tokens as the endpoint reported them. Absent means "not reported", never 0.
 * `inputTokens` counts all input, cached tokens included, in both dialects.
 */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cachedInputTokens?: number;
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
