/**
 * The blocks of a reply in order of arrival: which of them is open, which wait behind it, and the events that tell it. Block events are
 * made here and nowhere else.
 * @module
 */
import type { StreamEvent } from "../model/event.ts";
import type { OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock } from "../model/message.ts";
import { type InputScan, normalizeInput } from "./tool_input.ts";

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
  ended?: true;
  /** Reasoning that was found in text. */
  leaked?: true;
  /** Text that is nothing but blank space so far. */
  blank: boolean;
  /** At the start of a message or after a call; blank text there waits, and is dropped if nothing follows. */
  readonly leading: boolean;
  /** Id as the wire gave it; the block's may be another. */
  id?: string;
  /** Of a call. */
  readonly scan: InputScan | undefined;
  /** Arguments of a call, once they are judged. */
  parsed?: unknown;
  /** Arguments came after the call had closed. */
  late?: boolean;
}

const ID = /^[\x21-\x7e]{1,256}$/;

/** Drafts in order: closed ones, the open one, and those that wait behind it. */
export interface BlockQueue {
  /** All drafts, oldest first; who adds one behind them calls `advance`. */
  readonly drafts: Draft[];
  /**
   * Opens and closes what can be.
   *
   * @param final The message ends: everything opens and closes, or is dropped.
   */
  advance(final?: boolean): void;
  /** Adds well-formed content to a draft. */
  tell(draft: Draft, piece: string): void;
  /** Gives a call the id that arrived, or another one where it is unusable or taken. */
  identify(block: ToolUseBlock, id: string): void;
}

/**
 * Makes an empty queue.
 *
 * @param emit Takes the events of the blocks.
 */
export function createBlockQueue(emit: (event: StreamEvent) => void): BlockQueue {
  const ids = new Set<string>();
  const drafts: Draft[] = [];
  /** The first draft that is not closed: all before it are open in the message, so this is also its index. */
  let at = 0;

  function advance(final = false): void {
    for (let draft; (draft = drafts[at]);) {
      const { scan } = draft;
      const followed = at + (waits(drafts.at(-1)) ? 2 : 1) < drafts.length;
      const over = final || draft.ended || (followed && (!scan || scan.isComplete()));
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
      // A copy: what comes later is for the message alone, even if it came with the same chunk.
      emit({ type: "block_complete", index: at++, block: { ...draft.block } });
    }
  }

  function tell(draft: Draft, piece: string): void {
    const { block, scan, index } = draft;
    if (scan) (block as ToolUseBlock).input += piece;
    else (block as TextBlock).text += piece;
    if (draft.blank && piece.trim() !== "") draft.blank = false;
    if (index === at) emit({ type: "content_delta", index, delta: piece });
    else draft.late = index >= 0;
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
    emit({ type: "block_start", index, blockType: type, ...start });
    if (delta !== "") emit({ type: "content_delta", index, delta });
    return true;
  }

  function identify(block: ToolUseBlock, id: string): void {
    for (let n = ids.size; !ID.test(id) || ids.has(id);) id = `call_${++n}`;
    ids.add(id);
    block.id = id;
  }

  return { drafts, advance, tell, identify };
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

/** Blank text that is not told before something follows it. Half a surrogate pair is not blank: it is told as U+FFFD at the latest. */
export function waits(draft: Draft | undefined): boolean | undefined {
  return draft?.blank && draft.leading && draft.carry === "";
}
