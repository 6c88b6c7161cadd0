/**
 * A chat whose input is a pipe or a file: line by line, until one fails.
 * @module
 */
import { TextLineStream } from "@std/streams";
import type { Chat } from "./chat.ts";
import { understand } from "./slash.ts";

/** Holds the conversation. Returns the exit status: that of the first turn that failed. */
export async function hold(chat: Chat): Promise<number> {
  const { signal } = chat.context;
  const lines = Deno.stdin.readable
    .pipeThrough(new TextDecoderStream(), { signal })
    .pipeThrough(new TextLineStream());
  let message = "";
  for await (const line of lines) {
    if (line.endsWith("\\")) {
      message += `${line.slice(0, -1)}\n`;
      continue;
    }
    const status = await take(chat, message + line);
    if (status !== undefined) return status;
    message = "";
  }
  return message === "" ? 0 : await take(chat, message) ?? 0;
}

/** One message. Returns a status if the chat ends with it. */
async function take(chat: Chat, line: string): Promise<number | undefined> {
  if (line.trim() === "") return undefined;
  const { signal } = chat.context;
  const meaning = await understand(chat, line, signal);
  if (meaning === "leave") return 0;
  if (meaning === "done") return undefined;
  return await chat.say(meaning.message, signal) || undefined;
}
