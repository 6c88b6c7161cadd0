/**
 * A chat whose input is typed on a terminal.
 * @module
 */
import type { Chat } from "./chat.ts";
import { Interruption } from "./exit.ts";
import { tellFailure } from "./failure.ts";
import { LineEditor } from "./line_editor.ts";
import { completeSlash, understand } from "./slash.ts";

const EXIT_INTERRUPTED = 130;
/** A second Ctrl-C within this time leaves. */
const TWICE_MS = 2000;

/** Holds the conversation. Returns the exit status. */
export async function hold(chat: Chat): Promise<number> {
  const { context } = chat;
  const { terminal, signal } = context;
  const { model, maxTokens } = chat.provider;
  terminal.note(
    `${model} at ${chat.endpoint.host}, replies of up to ${maxTokens} tokens; /help lists commands, Ctrl-D leaves`,
  );
  const editor = new LineEditor(completeSlash);
  let turn = new AbortController();
  let last = -Infinity;
  let leaves = false;
  context.onInterrupt = () => {
    leaves ||= performance.now() - last < TWICE_MS;
    last = performance.now();
    turn.abort(new Interruption("SIGINT"));
  };
  while (!leaves) {
    terminal.flush();
    const entry = await editor.read("> ", signal);
    signal.throwIfAborted();
    if (entry === "end") {
      terminal.line("");
      return 0;
    }
    if (entry === "interrupt") {
      context.onInterrupt();
      terminal.line(leaves ? "" : "\n(Ctrl-C again leaves)");
      continue;
    }
    if (entry.text.trim() === "") continue;
    turn = new AbortController();
    if (await take(chat, entry.text, AbortSignal.any([signal, turn.signal]))) return 0;
    signal.throwIfAborted();
  }
  return EXIT_INTERRUPTED;
}

/** One message; whatever fails, the chat goes on. Returns whether it ends. */
async function take(chat: Chat, text: string, signal: AbortSignal): Promise<boolean> {
  const { context: { signal: whole, terminal }, endpoint: { host } } = chat;
  try {
    const meaning = await understand(chat, text, signal);
    if (meaning === "leave") return true;
    if (meaning !== "done") await chat.say(meaning.message, signal);
  } catch (error) {
    if (whole.aborted) throw error;
    if (error === signal.reason) terminal.line("(stopped; Ctrl-C again leaves)", "yellow");
    else tellFailure(terminal, error, { host });
  }
  return false;
}
