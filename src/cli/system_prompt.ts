/**
 * The system prompt of a conversation that several runs may share.
 * @module
 */
import { Conversation } from "../model/conversation.ts";
import type { Message } from "../model/message.ts";

/** The parts that flags set apart. They are kept as blocks of one message, so that a later run can replace one of them. */
export interface SystemPrompt {
  /** What `--system` says; empty: nothing. */
  own: string;
  /** What `--append-system` and `--use-skill` add. */
  added: string;
}

/** What one run says about system prompts. */
export interface SystemSettings {
  /** That of a new conversation. */
  system: SystemPrompt;
  /** The parts of one that goes on which flags replace. */
  given: Partial<SystemPrompt>;
}

/** Makes a system message, a block a text. Providers leave blank ones out and join the others with a blank line. */
export function systemMessage(...texts: string[]): Message {
  return { role: "system", content: texts.map((text) => ({ type: "text", text })) };
}

/** Joins system texts as providers do. */
export function joinSystem(...texts: string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n\n");
}

/** The system texts of a conversation. */
export function systemTexts({ messages }: Conversation): string[] {
  return messages.filter(({ role }) => role === "system").flatMap(({ content }) =>
    content.map((block) => block.type === "text" ? block.text : "")
  );
}

/** A conversation with another system prompt, or none. */
export function withSystem(conversation: Conversation, { own, added }: SystemPrompt): Conversation {
  const system = joinSystem(own, added) === "" ? [] : [added === "" ? systemMessage(own) : systemMessage(own, added)];
  const rest = conversation.messages.filter(({ role }) => role !== "system");
  return Conversation.fromJSON({ version: 1, messages: [...system, ...rest] });
}

/** The conversation as a run begins with it: one that goes on keeps what no flag replaces. */
export function beginWith(conversation: Conversation, { system, given }: SystemSettings): Conversation {
  if (conversation.messages.length === 0) return withSystem(conversation, system);
  if (Object.keys(given).length === 0) return conversation;
  const texts = systemTexts(conversation);
  // More of them come from somewhere else: they are the prompt, whole.
  const [own = "", added = ""] = texts.length > 2 ? [joinSystem(...texts)] : texts;
  return withSystem(conversation, { own, added, ...given });
}

/** What is sent: a conversation with further system messages that it does not keep, behind its own. */
export function alongside(conversation: Conversation, further: readonly Message[]): Conversation {
  if (further.length === 0) return conversation;
  const { system = [], others = [] } = Object.groupBy(
    conversation.messages,
    ({ role }) => role === "system" ? "system" : "others",
  );
  return Conversation.fromJSON({ version: 1, messages: [...system, ...further, ...others] });
}
