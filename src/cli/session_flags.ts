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
import { latestSession, sessionNeeds, sessionPath } from "./session_path.ts";

/** What the flags of a session need. */
export function sessionFlagNeeds({ session, fork }: Options): Needs {
  return sessionNeeds(session === undefined ? undefined : sessionPath(session), fork === undefined ? {} : { fork });
}

/**
 * Opens the session that the flags ask for.
 *
 * @throws {PawlError} `invalid_session`
 */
export function openSession({ options, terminal }: Context): Session {
  const path = options.session === undefined ? latestSession() : sessionPath(options.session);
  if (path === undefined) {
    throw new PawlError("invalid_session", "Cannot go on: there is no session in ./.pawl/sessions");
  }
  const session = options.fork ? Session.fork(path) : Session.open(path);
  for (const warning of session.warnings) terminal.note(`warning: ${warning}`);
  if (options.fork) terminal.note(`the copy of the session is ${session.path}`);
  return session;
}

/** The session as {@linkcode run} needs it. */
export function openContinuation(context: Context): Continuation {
  return new Continuation(openSession(context));
}

/**
 * Keeps a task that runs in a conversation of its own in a session: what is sent is the session with the task behind it.
 */
export class Continuation {
  readonly #session: Session;
  #task: Conversation | undefined;
  #seen = 0;
  #isOver = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The file. */
  get path(): string {
    return this.#session.path;
  }

  /** Nothing has been said in it yet. */
  get isEmpty(): boolean {
    return this.#session.conversation.messages.length === 0;
  }

  /** Takes over what the task has said since, before a request. Returns what is to be sent. */
  prepare(task: Conversation): Conversation {
    this.#task = task;
    this.#sync();
    this.#session.save();
    return this.#session.conversation;
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
    for (const message of messages.slice(this.#seen)) append(this.#session.conversation, message);
    this.#seen = messages.length;
  }
}

function append(conversation: Conversation, message: Message): void {
  const { role, content } = message;
  if (role === "assistant") conversation.addAssistantMessage(message);
  else if (role === "system") conversation.addSystemMessage(content.map((block) => (block as TextBlock).text).join(""));
  else if (content.some(({ type }) => type === "tool_result")) {
    conversation.addToolResults(content as ToolResultBlock[]);
  } else conversation.addUserMessage(content as TextBlock[]);
}
