/**
 * The text of a session: JSON lines. The first is `{"type":"session","version":1}`; then come, in the order in which they happened,
 * `{"type":"message","message"}`, `{"type":"start","toolUseId"}` right before a tool runs, and `{"type":"result","result"}`.
 * @module
 */
import { isMessage } from "../model/conversation.ts";
import { PawlError } from "../model/error.ts";
import type { ContentBlock, Message, ToolResultBlock, ToolUseBlock } from "../model/message.ts";

/** One line of a session behind the first. */
export type SessionRecord =
  | { type: "message"; message: Message }
  | { type: "start"; toolUseId: string }
  | { type: "result"; result: ToolResultBlock };

/** A message and where the file tells it. */
export interface StoredMessage {
  content: ContentBlock[];
  /** Byte offset of its first record. */
  start: number;
}

/** What a session file holds. */
export interface SessionContent {
  /** In order, with the truth about every call: it can be sent. */
  messages: Message[];
  /** The messages that the file tells in full. The last of `messages` may be missing: its results are told in part. */
  stored: StoredMessage[];
  /** Results behind the last stored message. */
  results: ToolResultBlock[];
  /** Byte offset behind the last stored message. */
  tail: number;
  /** Byte offset behind the last whole record. */
  size: number;
  /** The last record lacks its line feed. */
  isUnterminated: boolean;
  /** What was repaired, one clause each. */
  repairs: string[];
}

/** The first line, with its line feed. */
export const HEADER = '{"type":"session","version":1}\n';

const LINE_FEED = 10;

/** A line as it lies in the file. */
interface Line {
  /** Counted from 1. */
  number: number;
  start: number;
  end: number;
  /** Parsed JSON; absent if it is none. */
  value?: unknown;
  isTerminated: boolean;
}

/** The calls of a reply that is not yet followed by its results. */
interface Open {
  calls: ToolUseBlock[];
  started: Set<string>;
  results: ToolResultBlock[];
}

/**
 * Reads a session and repairs what a crash leaves behind: a last line that is cut off, calls without a result, and results without a call.
 *
 * @param bytes The file.
 * @param path For error texts.
 * @throws {PawlError} `invalid_session`: it is something else, or damaged in the middle; names the lines.
 */
export function readSession(bytes: Uint8Array, path: string): SessionContent {
  const lines = linesOf(bytes);
  const repairs: string[] = [];
  const header = new TextEncoder().encode(HEADER);
  if (lines.length <= 1 && bytes.length < header.length && bytes.every((byte, i) => byte === header[i])) {
    if (bytes.length > 0) repairs.push("its first line was cut off");
    return { messages: [], stored: [], results: [], tail: 0, size: 0, isUnterminated: false, repairs };
  }
  const { type, version } = (lines[0]?.value ?? {}) as Record<string, unknown>;
  if (type !== "session") throw damaged(path, "it is no session");
  if (version !== 1) throw damaged(path, `its version is ${JSON.stringify(version)?.slice(0, 20)} and not 1`);

  const records = lines.slice(1);
  const cut = records.at(-1);
  // One write may be cut short: what follows a record that cannot be read is not ours to throw away.
  if (cut && cut.value === undefined && (!cut.isTerminated || bytes.subarray(cut.start, cut.end).includes(0))) {
    records.pop();
    repairs.push("its last line was cut off");
  }
  const last = records.at(-1) ?? lines[0]!;
  const content: SessionContent = {
    messages: [],
    stored: [],
    results: [],
    tail: lines[0]!.end,
    size: last.end,
    isUnterminated: !last.isTerminated,
    repairs,
  };
  const [broken, faults] = replay(records, content);
  const offenders = [
    broken!.length > 0 && `no JSON in ${lineList(broken!)}`,
    faults!.length > 0 && `what is in ${lineList(faults!)} does not belong there`,
  ].filter(Boolean);
  if (offenders.length > 0) throw damaged(path, offenders.join("; "));
  return content;
}

function damaged(path: string, why: string): PawlError {
  return new PawlError("invalid_session", `Cannot read the session "${path}": ${why}`);
}

function lineList(numbers: readonly number[]): string {
  return (numbers.length === 1 ? "line " : "lines ") + numbers.slice(0, 20).join(", ") +
    (numbers.length > 20 ? ", …" : "");
}

function linesOf(bytes: Uint8Array): Line[] {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const lines: Line[] = [];
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    const line: Line = { number, start, end, isTerminated: feed >= 0 };
    start = end;
    try {
      const text = decoder.decode(bytes.subarray(line.start, end));
      if (text.trim() === "") continue;
      line.value = JSON.parse(text);
    } catch {
      // No value: whether that is damage or a cut depends on what follows.
    }
    lines.push(line);
  }
  return lines;
}

/**
 * Turns the records into messages.
 *
 * @returns Numbers of the lines that are no JSON, and of those that are no record.
 */
function replay(records: readonly Line[], content: SessionContent): [broken: number[], faults: number[]] {
  const { messages, stored, repairs } = content;
  const broken: number[] = [];
  const faults: number[] = [];
  let open: Open | undefined;
  let orphans = 0;
  let strays = 0;

  function settle(): ToolResultBlock[] {
    const { calls, results, started } = open!;
    open = undefined;
    return calls.map(({ id }) => {
      const result = results.find(({ toolUseId }) => toolUseId === id);
      if (!result) orphans++;
      return result ?? orphanResult(id, started.has(id));
    });
  }

  for (const { value, number, start, end } of records) {
    const record = value as SessionRecord;
    const id = record?.type === "start"
      ? record.toolUseId
      : record?.type === "result"
      ? record.result?.toolUseId
      : undefined;
    if (record?.type === "message" && isMessage(record.message)) {
      let { message } = record;
      let begin = start;
      if (open) {
        const answers = message.content.filter((block) => block.type === "tool_result");
        open.results.push(...answers);
        const results = settle();
        // A message that answers the calls itself is completed; any other comes behind the results.
        if (answers.length > 0) {
          begin = content.tail;
          message = {
            ...message,
            content: [...results, ...message.content.filter((block) => block.type !== "tool_result")],
          };
        } else {
          messages.push({ role: "user", content: results });
          stored.push({ content: results, start: content.tail });
        }
      }
      messages.push(message);
      stored.push({ content: message.content, start: begin });
      content.tail = end;
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (message.role === "assistant" && calls.length > 0) open = { calls, started: new Set(), results: [] };
    } else if (value === undefined) {
      broken.push(number);
    } else if (typeof id !== "string") {
      faults.push(number);
    } else {
      const isAwaited = open?.calls.some((call) => call.id === id) &&
        !open.results.some(({ toolUseId }) => toolUseId === id);
      if (record.type === "start") {
        if (isAwaited) open!.started.add(id);
      } else if (!isMessage({ role: "user", content: [(record as { result: unknown }).result] })) {
        faults.push(number);
      } else if (isAwaited) {
        open!.results.push((record as { result: ToolResultBlock }).result);
      } else {
        strays++;
      }
    }
  }
  if (open) {
    content.results = open.results;
    messages.push({ role: "user", content: settle() });
  }
  if (orphans > 0) repairs.push(orphans === 1 ? "a call had no result" : `${orphans} calls had no result`);
  if (strays > 0) repairs.push(strays === 1 ? "a result had no call" : `${strays} results had no call`);
  return [broken, faults];
}

/** The truth about a call whose result nobody knows, in the words of the agent. */
function orphanResult(toolUseId: string, isStarted: boolean): ToolResultBlock {
  const why = isStarted ? "interrupted while running, it may have taken effect" : "not run: interrupted";
  return { type: "tool_result", toolUseId, content: `error: ${why}`, isError: true };
}
