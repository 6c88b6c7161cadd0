/**
 * Sessions: a conversation kept in a file while it is held, so that no crash loses it and no tool runs twice.
 * All work on the file is synchronous: nothing can slip in between a record and the tool that it announces.
 * @module
 */
import { basename, dirname, join } from "node:path";
import { Conversation } from "../model/conversation.ts";
import { PawlError } from "../model/error.ts";
import type { AgentEvent } from "../model/event.ts";
import type { Message, ToolResultBlock, ToolUseBlock } from "../model/message.ts";
import { HEADER, readSession, type SessionContent, type SessionRecord, type StoredMessage } from "./session_format.ts";
import { cannotUse, checkRegular, isTaken, openFile, readAll } from "./session_path.ts";

/** How a session is opened. */
export interface OpenSessionOptions {
  /** It is an error if there is none. Default `false`: it is made. */
  mustExist?: boolean;
}

/**
 * A conversation and its file. Call {@linkcode record} with every event of the agent before the next one is pulled, and
 * {@linkcode save} whenever the conversation was changed by somebody else.
 */
export class Session {
  /** The file. */
  readonly path: string;
  /** What the file held. Every call in it has a result. */
  readonly conversation: Conversation;
  /** What had to be repaired, one line each. */
  readonly warnings: readonly string[];

  /** Absent: nothing is kept. */
  readonly #file: Deno.FsFile | undefined;
  #current: Conversation;
  #stored: StoredMessage[];
  /** Results in the file that the conversation does not yet hold. */
  #results: ToolResultBlock[];
  /** Behind the last stored message; starts and results of its calls follow. */
  #tail: number;
  #size: number;
  #isClosed = false;

  /** Use {@linkcode Session.open}, {@linkcode Session.fork} or {@linkcode Session.preview}. */
  constructor(path: string, file: Deno.FsFile | undefined, content: SessionContent) {
    this.path = path;
    this.#file = file;
    this.conversation = this.#current = Conversation.fromJSON({ version: 1, messages: content.messages });
    this.warnings = content.repairs.map((repair) => `The session "${path}" was repaired: ${repair}`);
    this.#stored = content.stored;
    this.#results = content.results;
    this.#tail = content.tail;
    this.#size = content.size;
    file?.truncateSync(content.size);
    if (this.#size === 0) {
      this.#write(HEADER);
      this.#tail = this.#size;
    } else if (content.isUnterminated) {
      if (this.#tail === this.#size) this.#tail++;
      this.#write("\n");
    }
    this.save();
  }

  /**
   * Opens a session, or makes it, and locks it until it is closed or the process ends.
   *
   * @throws {PawlError} `invalid_session`: another process has it open, it is damaged or no session, or the file cannot be opened.
   * `permission`.
   * @throws {Error} It cannot be written.
   */
  static open(path: string, options: OpenSessionOptions = {}): Session {
    checkRegular(path, options.mustExist === true);
    const file = openFile(path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      if (!tryLock(file)) {
        throw new PawlError("invalid_session", `Cannot use the session "${path}": another process is using it`);
      }
      const content = readSession(readAll(file, path), path);
      if ((Deno.statSync(path).mode ?? 0) & 0o077) Deno.chmodSync(path, 0o600);
      return new Session(path, file, content);
    } catch (error) {
      file.close();
      throw cannotUse(path, error);
    }
  }

  /**
   * Goes on in a copy; the original is not touched, and may be in use.
   *
   * @param from The original.
   * @param to The copy, which must not exist. Default: `from` with `-2`, `-3`, … behind its name.
   * @throws {PawlError} As {@linkcode Session.open}.
   */
  static fork(from: string, to?: string): Session {
    checkRegular(from, true);
    const content = readFile(from);
    const stem = join(dirname(from), basename(from, ".jsonl"));
    for (let number = 2;; number++) {
      const path = to ?? `${stem}-${number}.jsonl`;
      try {
        const file = openFile(path, { read: true, write: true, createNew: true, mode: 0o600 });
        try {
          file.lockSync(true);
          const empty = readSession(new Uint8Array(), path);
          return new Session(path, file, { ...empty, messages: content.messages, repairs: content.repairs });
        } catch (error) {
          file.close();
          throw error;
        }
      } catch (error) {
        if (to !== undefined || !isTaken(error)) throw cannotUse(path, error);
      }
    }
  }

  /**
   * A session in memory: begins with what a file holds, if there is one, and neither changes nor locks nor makes it.
   *
   * @throws {PawlError} As {@linkcode Session.open}.
   */
  static preview(path: string, options: OpenSessionOptions = {}): Session {
    const isThere = checkRegular(path, options.mustExist === true);
    return new Session(path, undefined, isThere ? readFile(path) : readSession(new Uint8Array(), path));
  }

  /**
   * Keeps what an event tells: a complete message before its tools run, a tool's start before it runs, its result before the next.
   *
   * @throws {Error} It cannot be written; the file is as it was before. Stop the run: the tool has not started.
   */
  record(event: AgentEvent): void {
    if (event.type === "message_complete") this.save();
    else if (event.type === "tool_start") this.toolStart(event.call);
    else if (event.type === "tool_result") this.toolResult(event.result);
  }

  /** As {@linkcode record}, for `onToolStart` of a receiver. */
  toolStart(call: ToolUseBlock): void {
    this.save();
    this.#append({ type: "start", toolUseId: call.id });
  }

  /** As {@linkcode record}, for `onToolResult` of a receiver. */
  toolResult(result: ToolResultBlock): void {
    this.save();
    this.#append({ type: "result", result });
    this.#results.push(result);
  }

  /**
   * Brings the file in line with the conversation: appends what is new, and takes away what the conversation no longer holds.
   *
   * @param conversation From now on this one is kept. Default: the one kept so far.
   * @throws {Error} As {@linkcode record}.
   */
  save(conversation: Conversation = this.#current): void {
    this.#current = conversation;
    const { messages } = conversation;
    let same = 0;
    while (same < this.#stored.length && same < messages.length && this.#isStored(same, messages[same]!)) same++;
    if (same < this.#stored.length) {
      this.#cut(this.#stored[same]!.start);
      this.#stored.length = same;
    }
    for (const message of messages.slice(same)) this.#store(message);
  }

  /** Closes the file and gives the lock back. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#file?.close();
  }

  /** As {@linkcode close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #isStored(index: number, message: Message): boolean {
    const stored = this.#stored[index]!;
    if (stored.content !== message.content && JSON.stringify(stored.content) !== JSON.stringify(message.content)) {
      return false;
    }
    stored.content = message.content; // the comparison by reference is the fast one
    return true;
  }

  #store(message: Message): void {
    const start = this.#tail;
    const calls = this.#stored.at(-1)?.content.some((block) => block.type === "tool_use");
    const results = message.content.filter((block) => block.type === "tool_result");
    if (calls && message.role === "user" && results.length === message.content.length) {
      const known = this.#results.length;
      if (JSON.stringify(results.slice(0, known)) !== JSON.stringify(this.#results)) this.#cut(this.#tail);
      this.#append(...results.slice(this.#results.length).map((result) => ({ type: "result" as const, result })));
    } else {
      if (this.#size > this.#tail) this.#cut(this.#tail);
      this.#append({ type: "message", message });
    }
    this.#stored.push({ content: message.content, start });
    this.#results = [];
    this.#tail = this.#size;
  }

  #cut(size: number): void {
    this.#file?.truncateSync(size);
    this.#size = this.#tail = size;
    this.#results = [];
  }

  #append(...records: SessionRecord[]): void {
    this.#write(records.map((record) => JSON.stringify(record) + "\n").join(""));
  }

  /** Writes behind the last whole record. Half a record is taken away again: the file stays a session. */
  #write(text: string): void {
    const file = this.#file;
    if (text === "" || file === undefined) return;
    const bytes = new TextEncoder().encode(text);
    try {
      file.seekSync(this.#size, Deno.SeekMode.Start);
      for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
      file.syncDataSync();
    } catch (error) {
      try {
        file.truncateSync(this.#size);
      } catch {
        // Then half a record stays, as after a crash, and is taken away when the session is opened again.
      }
      throw cannotUse(this.path, error, "write");
    }
    this.#size += bytes.length;
  }
}

/** Reads a session that stays as it is. */
function readFile(path: string): SessionContent {
  const file = openFile(path, { read: true });
  try {
    return readSession(readAll(file, path), path);
  } finally {
    file.close();
  }
}

/**
 * Locks a file for itself. A program that is just being started holds a copy of our descriptors, and with them a lock that we have
 * given back, until it has begun; so a lock that is taken is looked at again for a tenth of a second.
 */
function tryLock(file: Deno.FsFile): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 5; !file.tryLockSync(true); tries--) {
    if (tries === 0) return false;
    Atomics.wait(pause, 0, 0, 20);
  }
  return true;
}
