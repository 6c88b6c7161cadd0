/**
 * Requests of a conversation in each dialect, for tests of what is on the wire.
 * @module
 */
import {
  anthropicMessages,
  type ContentBlock,
  Conversation,
  createProvider,
  type Message,
  openAiChat,
  type ProviderOptions,
  type StreamOptions,
  type Tool,
  type ToolResultBlock,
} from "@pawl/pawl";
import { lintRequest } from "./request_lint.ts";

/** The key of these requests. */
export const KEY = "sk-requests-0001";

/** The model of these requests. */
export const MODEL = "syn-model";

/** What came from OpenAI, from Anthropic, and from elsewhere. */
export const FROM = {
  openai: { dialect: "openai_chat", model: MODEL },
  anthropic: { dialect: "anthropic_messages", model: MODEL },
  other: { dialect: "openai_chat", model: "another" },
};

/** A turn in short: what the user says, or a message. */
export type Turn = string | Message;

/** A system message. */
export function system(text: string): Message {
  return { role: "system", content: [{ type: "text", text }] };
}

/** A reply. */
export function reply(content: ContentBlock[], origin?: Message["origin"]): Message {
  return { role: "assistant", content, ...(origin && { origin }) };
}

/** Tool results. */
export function results(...content: ToolResultBlock[]): Message {
  return { role: "user", content };
}

/** A text block. */
export function text(text: string): ContentBlock {
  return { type: "text", text };
}

/** A call. */
export function use(
  id: string,
  name: string,
  input = "{}",
  more: { invalid?: true; extra?: Record<string, unknown> } = {},
): ContentBlock {
  return { type: "tool_use", id, name, input, ...more };
}

/** A result. */
export function result(toolUseId: string, content: string, isError?: boolean): ToolResultBlock {
  return { type: "tool_result", toolUseId, content, ...(isError !== undefined && { isError }) };
}

/** A tool that does nothing. */
export function tool(name: string, inputSchema: Record<string, unknown> = { type: "object" }): Tool {
  return { name, description: `The tool ${name}`, inputSchema, run: () => "" };
}

/** A conversation of these turns. */
export function conversationOf(...turns: Turn[]): Conversation {
  const messages = turns.map((turn) => typeof turn === "string" ? { role: "user", content: [text(turn)] } : turn);
  return Conversation.fromJSON({ version: 1, messages });
}

/** What may be set beside the conversation. */
export interface RequestOptions {
  provider?: Partial<ProviderOptions>;
  call?: StreamOptions;
  /** Rules that this request breaks on purpose. */
  breaks?: string[];
}

// deno-lint-ignore no-explicit-any -- a body is looked at from all sides
export type Body = any;

/** A request with its body parsed; it has passed the lint. */
export interface Sent {
  url: string;
  headers: Record<string, string>;
  text: string;
  body: Body;
}

function sent(dialect: typeof openAiChat, turns: readonly Turn[], options: RequestOptions): Sent {
  const provider = createProvider({
    dialect,
    baseUrl: "http://localhost:1",
    model: MODEL,
    maxTokens: 4096,
    apiKey: KEY,
    ...options.provider,
  });
  const { url, headers, body: raw } = provider.encode(conversationOf(...turns), options.call);
  const body = JSON.parse(raw);
  const found = lintRequest(dialect.name, { path: new URL(url).pathname, headers, body }, KEY)
    .filter((line) => !options.breaks?.some((rule) => line.startsWith(rule)));
  if (found.length > 0) throw new Error(`${dialect.name}: ${found.join("; ")}`);
  return { url, headers, text: raw, body };
}

/** The request of `openAiChat`. */
export function openAi(turns: readonly Turn[], options: RequestOptions = {}): Sent {
  return sent(openAiChat, turns, options);
}

/** The request of `anthropicMessages`. */
export function anthropic(turns: readonly Turn[], options: RequestOptions = {}): Sent {
  return sent(anthropicMessages, turns, options);
}
