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
    if (entry === "end") terminal.line("");
    signal.throwIfAborted();
    if (entry === "end") return 0;
    if (entry === "interrupt") {
      context.onInterrupt();
      terminal.line(leaves ? "" : "\n(Ctrl-C again leaves)");
      continue;
    }
    if (entry.text.trim() === "") continue;
    turn = new AbortController();
    const status = await take(chat, entry.text, AbortSignal.any([signal, turn.signal]));
    if (status !== undefined) return status;
    signal.throwIfAborted();
  }
  return EXIT_INTERRUPTED;
}

/** One message; whatever fails, the chat goes on. Returns the exit status if it ends. */
async function take(chat: Chat, text: string, signal: AbortSignal): Promise<number | undefined> {
  const { context: { signal: whole, terminal }, endpoint: { host } } = chat;
  try {
    const meaning = await understand(chat, text, signal);
    if (meaning === "leave") return 0;
    if (meaning === "done") return;
    const status = await chat.say(meaning.message, signal);
    // Then it has been told already.
    if (whole.aborted) return status;
  } catch (error) {
    if (whole.aborted) throw error;
    if (error === signal.reason) terminal.line("(stopped; Ctrl-C again leaves)", "yellow");
    else tellFailure(terminal, error, { host });
  }
}
