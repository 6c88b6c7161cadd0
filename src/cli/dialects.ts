/**
 * The dialects that the command line knows: one line for each.
 * @module
 */
import type { Dialect } from "../provider/dialect.ts";

/** What is known about a dialect before its module is loaded. */
export interface DialectEntry {
  /** Used when no base URL is given; nothing leaves the machine by omission. */
  baseUrl: string;
  load(): Promise<Dialect>;
}

/** By name, as in `--dialect`. The first one is the default. */
export const DIALECTS = {
  openai_chat: {
    baseUrl: "http://localhost:11434/v1",
    load: async () => (await import("../dialects/openai_chat.ts")).openAiChat,
  },
  anthropic_messages: {
    baseUrl: "https://api.anthropic.com",
    load: async () => (await import("../dialects/anthropic_messages.ts")).anthropicMessages,
  },
} satisfies Record<string, DialectEntry>;

/** Name of a dialect. */
export type DialectName = keyof typeof DIALECTS;

/** All names, the default first. */
export const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];
