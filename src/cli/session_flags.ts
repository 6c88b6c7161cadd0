/**
 * `--session`, `--continue` and `--fork`.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { PawlError } from "../model/error.ts";
import type { AgentEvent } from "../model/event.ts";
import type { Message, TextBlock, ToolResultBlock } from "../model/message.ts";
import type { Context } from "./context.ts";
import type { Options } from "./flag_table.ts";
import type { Needs } from "./permissions.ts";
import { Session } from "./session.ts";
import { alongside, beginWith, type SystemSettings } from "./system_prompt.ts";
import { latestSession, sessionNeeds, sessionPath } from "./session_path.ts";

/** What the flags of a session need. */
export function sessionFlagNeeds({ session, fork, "dry-run": isDry }: Options): Needs {
  const path = session === undefined ? undefined : sessionPath(session);
  return isDry ? { read: sessionNeeds(path).read } : sessionNeeds(path, { fork: fork === true });
}

/**
 * Opens the session that the flags ask for; with `--dry-run` only in memory.
 *
 * @throws {PawlError} `invalid_session`
 */
export function openSession({ options, terminal }: Context): Session {
  const path = options.session === undefined ? latestSession() : sessionPath(options.session);
  if (path === undefined) {
    throw new PawlError("invalid_session", "Cannot go on: there is no session in ./.pawl/sessions");
  }
  const { fork, "dry-run": isDry } = options;
  const session = isDry
    ? Session.preview(path, { mustExist: fork === true })
    : fork
    ? Session.fork(path)
    : Session.open(path);
  for (const warning of session.warnings) terminal.note(`warning: ${warning}`);
  if (fork && !isDry) terminal.note(`the copy of the session is ${session.path}`);
  return session;
}

/** The session as {@linkcode run} needs it. */
export function openContinuation(context: Context, settings: SystemSettings): Continuation {
  return new Continuation(openSession(context), settings);
}

/**
 * Keeps a task that runs in a conversation of its own in a session: what is sent is the session with the task behind it. System messages
 * of the task hold for the task alone: a schema, or the skills that it may load.
 */
export class Continuation {
  readonly #session: Session;
  readonly #conversation: Conversation;
  #task: Conversation | undefined;
  #seen = 0;
  #isOver = false;

  constructor(session: Session, settings: SystemSettings) {
    this.#session = session;
    this.#conversation = beginWith(session.conversation, settings);
  }

  /** The file. */
  get path(): string {
    return this.#session.path;
  }

  /** Takes over what the task has said since, before a request. Returns what is to be sent. */
  prepare(task: Conversation): Conversation {
    this.#task = task;
    this.#sync();
    this.#session.save(this.#conversation);
    return alongside(this.#conversation, task.messages.filter(({ role }) => role === "system"));
  }

  /** Keeps what an event tells. */
  see(event: AgentEvent): void {
    this.#sync();
    this.#session.record(event);
  }

  /** Keeps what the end of the task has added, and closes the session. Idempotent. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      this.#sync();
      this.#session.save();
    } finally {
      this.#session.close();
    }
  }

  #sync(): void {
    const messages = this.#task?.messages ?? [];
    for (const message of messages.slice(this.#seen)) append(this.#conversation, message);
    this.#seen = messages.length;
  }
}

function append(conversation: Conversation, message: Message): void {
  const { role, content } = message;
  if (role === "system") return;
  if (role === "assistant") conversation.addAssistantMessage(message);
  else if (content.some(({ type }) => type === "tool_result")) {
    conversation.addToolResults(content as ToolResultBlock[]);
  } else conversation.addUserMessage(content as TextBlock[]);
}
