/**
 * The blocks of a reply in order of arrival: which of them is open, which wait behind it, and the events that tell it. Block events are
 * made here and nowhere else.
 * @module
 */
import type { StreamEvent } from "../model/event.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import type { OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock } from "../model/message.ts";
import { InputScan, normalizeInput } from "./tool_input.ts";

/** A block that a reply can hold. */
export type ReplyBlock = TextBlock | ThinkingBlock | ToolUseBlock | OpaqueBlock;

/** A block in the making. */
export interface Draft {
  /** What the decoder calls it. */
  readonly key: unknown;
  /** What it began as: text may turn out to be reasoning. */
  readonly type: ReplyBlock["type"];
  /** Its text or raw input grows as it arrives; untold as long as it waits. */
  block: ReplyBlock;
  /** Position in the message, −1 until it opens. */
  index: number;
  /** A trailing high surrogate, kept until its other half comes. */
  carry: string;
  /** No neighbour may be added: the wire closed it, or a closing tag did. */
  ended: boolean;
  closed: boolean;
  /** Reasoning that was found in text. */
  leaked: boolean;
  /** Text that is nothing but blank space so far. */
  blank: boolean;
  /** At the start of a message or after a call; blank text there waits, and is dropped if nothing follows. */
  readonly leading: boolean;
  /** Id as the wire gave it; the block's may be another. */
  id: string;
  /** Of a call. */
  readonly scan: InputScan | undefined;
  /** Arguments of a call, once they are judged. */
  parsed: unknown;
  /** Arguments came after the call had closed. */
  late: boolean;
}

const ID = /^[\x21-\x7e]{1,256}$/;

/** Drafts in order: closed ones, the open one, and those that wait behind it. */
export interface BlockQueue {
  /** All drafts, oldest first. */
  readonly drafts: Draft[];
  /** The newest draft: the only one that its neighbours may join. */
  tail(): Draft | undefined;
  /** The newest draft under a key. */
  find(key: unknown): Draft | undefined;
  /** The message starts, unless it has. */
  begin(): void;
  /** Begins a block behind all others. */
  append(key: unknown, block: ReplyBlock): Draft;
  /** Adds arrived content to a draft: well-formed, and within the caps. */
  grow(draft: Draft, arrived: string): void;
  /** Closes a draft as soon as those before it are closed. */
  end(draft: Draft): void;
  /** Gives a call the id that arrived, or another one where it is unusable or taken. */
  identify(block: ToolUseBlock, id: string): void;
  /**
   * Opens and closes what can be.
   *
   * @param final The message ends: everything opens and closes, or is dropped.
   */
  advance(final?: boolean): void;
  /** After a failure, gathering what has arrived must not fail again. */
  unbind(): void;
  /** Adds an event that is about no block. */
  emit(event: StreamEvent): void;
  /** Hands out the events since the last call. */
  take(): StreamEvent[];
}

/**
 * Makes an empty queue.
 *
 * @param limits Bounds on number, size and nesting.
 * @param progress Called when content arrives.
 */
export function createBlockQueue(limits: Limits, progress: () => void): BlockQueue {
  const byKey = new Map<unknown, Draft>();
  const ids = new Set<string>();
  const drafts: Draft[] = [];
  let { maxBlocks } = limits;
  /** The first draft that is not closed: all before it are open in the message, so this is also its index. */
  let at = 0;
  let started = false;
  let events: StreamEvent[] = [];

  function tail(): Draft | undefined {
    return drafts[drafts.length - 1];
  }

  function begin(): void {
    if (!started) events.push({ type: "message_start", role: "assistant" });
    started = true;
  }

  function append(key: unknown, block: ReplyBlock): Draft {
    const last = tail();
    // Blank text that something else follows is dropped.
    if (waits(last)) {
      drafts.pop();
      byKey.delete(last.key);
    }
    if (drafts.length >= maxBlocks) throw exceeded("maxBlocks", limits);
    const { type } = block;
    const before = tail();
    const draft: Draft = {
      key,
      type,
      block,
      index: -1,
      carry: "",
      ended: false,
      closed: false,
      leaked: false,
      blank: type === "text",
      leading: !before || before.scan !== undefined,
      id: "",
      late: false,
      parsed: undefined,
      scan: type === "tool_use" ? new InputScan() : undefined,
    };
    begin();
    progress();
    drafts.push(draft);
    byKey.set(key, draft);
    advance();
    return draft;
  }

  function grow(draft: Draft, arrived: string): void {
    const { scan } = draft;
    if (scan) {
      scan.feed(arrived);
      if (scan.exceeds(limits.maxToolInputBytes)) throw exceeded("maxToolInputBytes", limits);
    }
    progress();
    let piece = draft.carry + arrived;
    draft.carry = "";
    if (!piece.isWellFormed()) {
      const whole = piece.length - (/[\ud800-\udbff]$/.test(piece) ? 1 : 0);
      draft.carry = piece.slice(whole);
      piece = piece.slice(0, whole).toWellFormed();
    }
    if (piece !== "") tell(draft, piece);
    if (draft.index < 0 || draft !== tail()) advance();
  }

  function advance(final = false): void {
    for (let draft; (draft = drafts[at]);) {
      const { scan } = draft;
      const followed = at + (waits(tail()) ? 2 : 1) < drafts.length;
      const over = final || draft.ended || (followed && (!scan || scan.complete));
      // The other half of a surrogate pair never came.
      if (over && draft.carry !== "") {
        draft.carry = "";
        tell(draft, "\ufffd");
      }
      if (draft.index < 0 && !open(draft, over)) {
        // A call may get its name as late as the end.
        if (!over || (scan && !final)) return;
        drafts.splice(at, 1);
        continue;
      }
      if (!over) return;
      judge(draft);
      draft.closed = true;
      at++;
      events.push({ type: "block_complete", index: draft.index, block: draft.block });
    }
  }

  function tell(draft: Draft, piece: string): void {
    const { block, scan, index } = draft;
    if (scan) (block as ToolUseBlock).input += piece;
    else (block as TextBlock).text += piece;
    if (draft.blank && piece.trim() !== "") draft.blank = false;
    if (draft.closed) draft.late = true;
    else if (index >= 0) events.push({ type: "content_delta", index, delta: piece });
  }

  /** Opens a draft if it can be; then everything that waited comes as one delta. */
  function open(draft: Draft, over: boolean): boolean {
    const { block, type } = draft;
    let start = {}, delta = "";
    switch (block.type) {
      case "tool_use":
        delta = block.input;
        if (isNameless(block) || !(over || (block.id !== "" && delta !== ""))) return false;
        if (block.id === "") identify(block, "");
        start = { toolId: block.id, toolName: block.name };
        break;
      case "thinking":
        delta = block.text;
        if (delta === "" && block.redacted === undefined && !(over && (block.signature ?? block.details))) return false;
        break;
      case "text":
        delta = block.text;
        if (delta === "" || waits(draft)) return false;
    }
    const index = draft.index = at;
    events.push({ type: "block_start", index, blockType: type, ...start });
    if (delta !== "") events.push({ type: "content_delta", index, delta });
    return true;
  }

  function identify(block: ToolUseBlock, id: string): void {
    for (let n = ids.size; !ID.test(id) || ids.has(id);) id = `call_${++n}`;
    ids.add(id);
    block.id = id;
  }

  return {
    drafts,
    tail,
    find: (key) => byKey.get(key),
    begin,
    append,
    grow,
    end(draft) {
      draft.ended = true;
      advance();
    },
    identify,
    advance,
    unbind() {
      maxBlocks = Infinity;
    },
    emit(event) {
      events.push(event);
    },
    take() {
      // Never the list that grows on: what is told later would come with it.
      const told = events;
      events = [];
      return told;
    },
  };
}

/** Brings a block to the form that a message holds. */
export function judge(draft: Draft): void {
  const { block, leaked } = draft;
  if (block.type === "tool_use") {
    const { input, invalid, value } = normalizeInput(block.input);
    draft.parsed = value;
    block.input = input;
    if (invalid) block.invalid = true;
    else delete block.invalid;
  } else if (block.type === "thinking" && leaked) block.text = block.text.trim();
}

/** A call that nobody could run. */
export function isNameless(block: ReplyBlock): boolean {
  return block.type === "tool_use" && block.name === "";
}

/** Blank text that is not told before something follows it. */
function waits(draft: Draft | undefined): draft is Draft {
  return draft !== undefined && draft.blank && draft.leading;
}
