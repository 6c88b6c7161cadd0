/**
 * The conversation: an ordered list of messages, and nothing of any protocol.
 * @module
 */
import type { ContentBlock, ImageBlock, Message, TextBlock, ToolResultBlock } from "./message.ts";

/** The JSON form of a conversation. */
export interface ConversationJson {
  /** Of this form. */
  version: 1;
  /** All messages, oldest first. */
  messages: Message[];
}

/** Block types with the fields that must be strings. A map, since a type may be named like something every object inherits. */
const BLOCK_STRINGS = new Map<unknown, readonly string[]>([
  ["text", ["text"]],
  ["thinking", ["text"]],
  ["tool_use", ["id", "name", "input"]],
  ["tool_result", ["toolUseId", "content"]],
  ["image", ["mediaType", "data"]],
  ["opaque", []],
]);

/**
 * Messages in order. A provider only reads it; an agent appends to it.
 *
 * @example
 * ```ts
 * import { Conversation } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const conversation = new Conversation();
 * conversation.addSystemMessage("Be brief.");
 * conversation.addUserMessage("Hi");
 * const copy = Conversation.fromJSON(JSON.parse(JSON.stringify(conversation)));
 * assertEquals(copy.messages, conversation.messages);
 * ```
 */
export class Conversation {
  readonly #messages: Message[] = [];

  /** All messages, oldest first. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Appends a system text. Providers put all system texts first, wherever they stand. */
  addSystemMessage(text: string): void {
    this.#messages.push({ role: "system", content: [{ type: "text", text }] });
  }

  /** Appends what the user says: a text, or text and image blocks. */
  addUserMessage(content: string | readonly (TextBlock | ImageBlock)[]): void {
    this.#messages.push({
      role: "user",
      content: typeof content === "string" ? [{ type: "text", text: content }] : [...content],
    });
  }

  /** Appends a reply: its blocks, or the message that a provider completed, with its origin. */
  addAssistantMessage(reply: readonly ContentBlock[] | Message): void {
    this.#messages.push(
      "content" in reply ? { ...reply, role: "assistant" } : { role: "assistant", content: [...reply] },
    );
  }

  /** Appends the answers to the calls of the reply before, as one user message. */
  addToolResults(results: readonly ToolResultBlock[]): void {
    this.#messages.push({ role: "user", content: [...results] });
  }

  /** The JSON form: plain data that {@linkcode Conversation.fromJSON} reads back. */
  toJSON(): ConversationJson {
    return { version: 1, messages: this.#messages };
  }

  /**
   * Reads the JSON form.
   *
   * @param json Parsed JSON; every message and block is checked.
   * @throws {TypeError} It is no conversation of version 1; names the first message that is wrong.
   */
  static fromJSON(json: unknown): Conversation {
    const { version, messages } = (json ?? {}) as Partial<ConversationJson>;
    if (version !== 1 || !Array.isArray(messages)) {
      throw new TypeError("Cannot read the conversation: it is no object with version 1 and messages");
    }
    const conversation = new Conversation();
    for (const [i, message] of messages.entries()) {
      if (!isMessage(message)) throw new TypeError(`Cannot read the conversation: messages[${i}] is no message`);
      conversation.#messages.push(message);
    }
    return conversation;
  }
}

/** Tells whether parsed JSON is a {@linkcode Message}: a known role, known blocks, strings where strings belong. */
export function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Record<string, unknown>;
  return (role === "system" || role === "user" || role === "assistant") && Array.isArray(content) &&
    content.every((block: Record<string, unknown> | null) => {
      const strings = BLOCK_STRINGS.get(block?.type);
      return strings !== undefined && strings.every((key) => typeof block?.[key] === "string");
    });
}
