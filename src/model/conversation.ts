/**
 * The conversation: an ordered list of messages, and nothing of any protocol.
 * @module
 */
import type { ContentBlock, ImageBlock, Message, Role, TextBlock, ToolResultBlock } from "./message.ts";

/** The JSON form of a conversation. */
export interface ConversationJson {
  /** Of this form. */
  version: 1;
  /** All messages, oldest first. */
  messages: Message[];
}

/** Block types with the fields that must be strings. */
const BLOCK_STRINGS: Record<string, string> = {
  // A type may be named like something that every object inherits.
  __proto__: null!,
  text: "text",
  thinking: "text",
  tool_use: "id name input",
  tool_result: "toolUseId content",
  image: "mediaType data",
  opaque: "type",
};

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
  #messages: Message[] = [];

  /** All messages, oldest first. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Appends a system text. Providers put all system texts first, wherever they stand. */
  addSystemMessage(text: string): void {
    this.#add("system", text);
  }

  /** Appends what the user says: a text, or text and image blocks. */
  addUserMessage(content: string | readonly (TextBlock | ImageBlock)[]): void {
    this.#add("user", content);
  }

  /** Appends a reply: its blocks, or the message that a provider completed, with its origin. */
  addAssistantMessage(reply: readonly ContentBlock[] | Message): void {
    const message = "content" in reply ? reply : { content: reply };
    this.#add("assistant", message.content, message);
  }

  /** Appends the answers to the calls of the reply before, as one user message. */
  addToolResults(results: readonly ToolResultBlock[]): void {
    this.#add("user", results);
  }

  #add(role: Role, content: string | readonly ContentBlock[], about?: object): void {
    this.#messages.push({
      ...about,
      role,
      content: typeof content === "string" ? [{ type: "text", text: content }] : [...content],
    });
  }

  /** The JSON form: plain data that {@linkcode Conversation.fromJSON} reads back. */
  toJSON(): ConversationJson {
    return { version: 1, messages: [...this.#messages] };
  }

  /**
   * Reads the JSON form.
   *
   * @param json Parsed JSON; every message and block is checked.
   * @returns A conversation of its own, which shares the messages with what was given.
   * @throws {TypeError} It is no conversation of version 1; names the first message that is wrong.
   */
  static fromJSON(json: unknown): Conversation {
    const { version, messages } = (json ?? {}) as Partial<ConversationJson>;
    if (version !== 1 || !Array.isArray(messages)) {
      throw new TypeError("Cannot read the conversation: it is none of version 1");
    }
    const wrong = messages.findIndex((message) => !isMessage(message));
    if (wrong >= 0) throw new TypeError(`Cannot read the conversation: messages[${wrong}] is no message`);
    const conversation = new Conversation();
    conversation.#messages = [...messages];
    return conversation;
  }
}

/** Tells whether parsed JSON is a {@linkcode Message}: a known role, known blocks, strings where strings belong. */
export function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Record<string, unknown>;
  return ["system", "user", "assistant"].includes(role as Role) && Array.isArray(content) &&
    content.every((block) => BLOCK_STRINGS[block?.type]?.split(" ").every((key) => typeof block[key] === "string"));
}
