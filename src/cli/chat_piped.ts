/**
 * A chat whose input is a pipe or a file: line by line, until one fails.
 * @module
 */
import { TextLineStream } from "@std/streams";
import type { Chat } from "./chat.ts";
import { MAX_INPUT_BYTES, tooLarge } from "./input.ts";
import { understand } from "./slash.ts";

/** Holds the conversation. Returns the exit status: that of the first turn that failed. */
export async function hold(chat: Chat): Promise<number> {
  const { signal } = chat.context;
  const lines = Deno.stdin.readable
    .pipeThrough(boundLines(), { signal })
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  let message = "";
  for await (const line of lines) {
    if (line.endsWith("\\")) {
      message += `${line.slice(0, -1)}\n`;
      if (message.length > MAX_INPUT_BYTES) throw tooLarge("a message of standard input");
      continue;
    }
    const status = await take(chat, message + line);
    if (status !== undefined) return status;
    message = "";
  }
  return message === "" ? 0 : await take(chat, message) ?? 0;
}

/** Passes bytes on, until a line is larger than a file may be: what reads lines holds each of them whole. */
function boundLines(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const LINE_FEED = 10;
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const first = chunk.indexOf(LINE_FEED);
      size += first < 0 ? chunk.length : first;
      if (size > MAX_INPUT_BYTES) throw tooLarge("a line of standard input");
      if (first >= 0) size = chunk.length - 1 - chunk.lastIndexOf(LINE_FEED);
      controller.enqueue(chunk);
    },
  });
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
