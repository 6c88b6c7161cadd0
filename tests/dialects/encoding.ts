/**
 * Encodes a conversation as a provider would, and conversations to encode.
 * @module
 */
import { Conversation } from "../../src/model/conversation.ts";
import type { ContentBlock, Message, ToolResultBlock, ToolUseBlock } from "../../src/model/message.ts";
import type { Tool } from "../../src/model/tool.ts";
import type { Dialect, DialectRequest } from "../../src/provider/dialect.ts";
import { repairEscapes } from "../../src/provider/tool_input.ts";

// deno-lint-ignore no-explicit-any -- a request body is looked at, not used
export type Body = any;

/** The model that every test asks, unless it says otherwise. */
export const MODEL = "test-model";

/** JSON text of the body that a provider would send. */
export function encodeText(
  dialect: Dialect,
  messages: readonly Message[],
  options: Partial<DialectRequest> = {},
): string {
  const { body } = dialect.encode({
    conversation: Conversation.fromJSON({ version: 1, messages }),
    model: MODEL,
    maxTokens: 256,
    tools: [],
    compat: {},
    ...options,
  });
  return repairEscapes(JSON.stringify(body));
}

/** The body that a provider would send. */
export function encodeBody(
  dialect: Dialect,
  messages: readonly Message[],
  options: Partial<DialectRequest> = {},
): Body {
  return JSON.parse(encodeText(dialect, messages, options));
}

/** A turn of the system or the user. */
export function said(role: "system" | "user", ...texts: string[]): Message {
  return { role, content: texts.map((text) => ({ type: "text", text })) };
}

/** A reply without origin. */
export function replied(...content: (ContentBlock | string)[]): Message {
  return {
    role: "assistant",
    content: content.map((part) => typeof part === "string" ? { type: "text", text: part } : part),
  };
}

/** A reply of the model that is asked, or of another one. */
export function repliedBy(dialect: Dialect, content: (ContentBlock | string)[], model: string = MODEL): Message {
  return { ...replied(...content), origin: { dialect: dialect.name, model } };
}

/** A call. */
export function use(id: string, name: string, input: string = "{}", more: Partial<ToolUseBlock> = {}): ToolUseBlock {
  return { type: "tool_use", id, name, input, ...more };
}

/** A user turn of results. */
export function results(...parts: [id: string, content: string, isError?: boolean][]): Message {
  return {
    role: "user",
    content: parts.map(([toolUseId, content, isError]): ToolResultBlock => ({
      type: "tool_result",
      toolUseId,
      content,
      ...(isError && { isError }),
    })),
  };
}

/** A tool that does nothing. */
export function tool(name: string, inputSchema: Record<string, unknown> = { type: "object" }): Tool {
  return { name, description: `About ${name}`, inputSchema, run: () => "" };
}
