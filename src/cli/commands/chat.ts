/**
 * `pawl chat`: a conversation, typed or piped.
 * @module
 */
import { quote } from "../../model/error.ts";
import { Chat } from "../chat.ts";
import { type Context, keepOnly, makeReady } from "../context.ts";
import { openEndpoint } from "../endpoint.ts";
import { usage } from "../exit.ts";
import { openTask, taskNeeds, wantsSession } from "../task.ts";

/** awl's first words. */
const SYSTEM = "You are a helpful assistant.";

/** Holds a conversation until its input ends. */
export default async function (context: Context): Promise<number> {
  const { words, signal } = context;
  if (words.length > 0) {
    throw usage(`Cannot use ${quote(words[0]!)}: chat takes flags only; pawl run takes a prompt`);
  }
  const needs = await taskNeeds(context);
  const ready = await makeReady(context, { start: [needs.start], run: [needs.run] });
  if (ready === undefined) return 0;
  const isTyped = Deno.stdin.isTerminal();
  async function pick(models: readonly string[]): Promise<string> {
    const { choose } = await import("../ask.ts");
    return await choose("Model", models, signal);
  }
  const endpoint = await openEndpoint(context, ready, isTyped ? pick : undefined);
  const task = await openTask(context, endpoint, SYSTEM);
  const session = wantsSession(context.options)
    ? (await import("../session_flags.ts")).openSession(context)
    : undefined;
  // The commands /save and /load take files that nobody knows yet.
  keepOnly(context, ready, ["read", "write"]);
  try {
    const chat = new Chat(context, { ready, endpoint, task, isTyped, session });
    const { hold } = isTyped ? await import("../chat_typed.ts") : await import("../chat_piped.ts");
    return await hold(chat);
  } finally {
    session?.close();
  }
}
