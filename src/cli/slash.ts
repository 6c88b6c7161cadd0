/**
 * The commands inside a chat.
 * @module
 */
import { quote } from "../model/error.ts";
import { Conversation } from "../model/conversation.ts";
import { race } from "../wire/race.ts";
import type { Chat } from "./chat.ts";
import { usage } from "./exit.ts";
import { didYouMean } from "./flags.ts";
import { readText, textOrFile } from "./input.ts";
import { writeText } from "./output.ts";
import { describeUsage } from "./tally.ts";

/** A command inside a chat. */
interface Slash {
  /** What may stand behind it. */
  argument: string;
  help: string;
  run(chat: Chat, argument: string, signal: AbortSignal): unknown;
}

const COMMANDS: Record<string, Slash> = {
  help: { argument: "", help: "Show these commands", run: showHelp },
  reset: { argument: "", help: "Begin anew", run: reset },
  undo: { argument: "", help: "Take the last message and its reply back", run: undo },
  system: { argument: "[TEXT|@FILE]", help: 'Show or set the system prompt; "" is none', run: system },
  model: { argument: "[NAME]", help: "Choose another model", run: model },
  tools: { argument: "", help: "List the tools that the model may use", run: tools },
  usage: { argument: "", help: "Tell the tokens used so far", run: tokens },
  save: { argument: "FILE", help: "Write the conversation to FILE", run: save },
  load: { argument: "FILE", help: "Go on with the conversation in FILE", run: load },
  exit: { argument: "", help: "Leave", run: () => {} },
};

/** What a line means: a message for the model, a command that has been done, or the wish to leave. */
export type Meaning = { message: string } | "done" | "leave";

/**
 * Understands a line, and does what it commands. A line such as `/etc/passwd is odd` is a message, and so is `//word`, as `/word`.
 *
 * @param signal Gives a command up, also one that waits for a FIFO: nothing of it happens afterwards.
 * @throws {CliError} `usage`: there is no such command, or it cannot be done.
 * @throws `signal.reason`
 */
export async function understand(chat: Chat, line: string, signal: AbortSignal): Promise<Meaning> {
  if (line.startsWith("//")) return { message: line.slice(1) };
  const [, name, argument = ""] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(line.trimEnd()) ?? [];
  if (name === undefined) return { message: line };
  if (!Object.hasOwn(COMMANDS, name)) {
    const near = didYouMean(`/${name}`, Object.keys(COMMANDS).map((known) => `/${known}`));
    throw usage(`There is no command ${quote(`/${name}`)}${near || "; /help lists them"}`);
  }
  const command = COMMANDS[name]!;
  if (argument !== "" && command.argument === "") {
    throw usage(`Cannot use ${quote(argument)}: /${name} takes nothing behind it`);
  }
  if (argument === "" && /^[A-Z]/.test(command.argument)) throw usage(`Cannot do /${name} without ${command.argument}`);
  await command.run(chat, argument, signal);
  return name === "exit" ? "leave" : "done";
}

/** Completions of a line that begins a command. */
export function completeSlash(line: string): string[] {
  if (!/^\/[a-z]*$/.test(line)) return [];
  return Object.entries(COMMANDS).map(([name, { argument }]) => `/${name}${argument && " "}`).filter((text) =>
    text.startsWith(line)
  );
}

function showHelp({ context: { terminal } }: Chat): void {
  const lines = Object.entries(COMMANDS).map(([name, { argument, help }]) =>
    `${`/${name} ${argument}`.padEnd(22)} ${help}`
  );
  lines.push("A line that ends in \\ goes on; // begins a message with a slash.");
  terminal.line(lines.join("\n"));
}

function reset(chat: Chat): void {
  chat.reset();
  chat.context.terminal.note("(a new conversation)");
}

function undo(chat: Chat): void {
  if (!chat.undo()) throw usage("Cannot undo: nothing has been said yet");
  chat.context.terminal.note("(the last message is taken back)");
}

async function system(chat: Chat, argument: string, signal: AbortSignal): Promise<void> {
  if (argument === "") return chat.context.terminal.line(chat.system || "(no system prompt)");
  chat.setSystem(argument === '""' ? "" : await race(textOrFile(argument), signal));
}

async function model(chat: Chat, argument: string, signal: AbortSignal): Promise<void> {
  const { context, endpoint } = chat;
  let name = argument;
  if (name === "") {
    const models = await endpoint.listModels(signal);
    if (!chat.isTyped) return context.terminal.line([chat.provider.model, ...models].join("\n"));
    const { choose } = await import("./ask.ts");
    name = await choose("Model", models, signal);
  }
  chat.provider = endpoint.change({ model: name });
  context.terminal.note(`(the model is ${name})`);
}

function tools({ context: { terminal }, task }: Chat): void {
  terminal.line(
    task.tools.map(({ name, description }) => `${name}: ${description}`).join("\n") || "(no tools; see --tool)",
  );
}

function tokens(chat: Chat): void {
  chat.context.terminal.line(describeUsage(chat.usage));
}

async function save(chat: Chat, file: string, signal: AbortSignal): Promise<void> {
  await race(writeText(file, JSON.stringify(chat.conversation, null, 1) + "\n", signal), signal);
  chat.context.terminal.note(`(saved to ${file})`);
}

async function load(chat: Chat, file: string, signal: AbortSignal): Promise<void> {
  const text = await race(readText(file), signal);
  try {
    chat.conversation = Conversation.fromJSON(JSON.parse(text));
  } catch (error) {
    throw usage(`Cannot load ${quote(file)}: ${(error as Error).message}`);
  }
  chat.context.terminal.note(`(messages loaded: ${chat.conversation.messages.length})`);
}
