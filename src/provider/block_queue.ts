/**
 * The blocks of a reply in order of arrival: which of them is open, which wait behind it, and the events that tell it. Block events are
 * made here and nowhere else (design §3).
 * @module
 */
import type { StreamEvent } from "../model/event.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import type { ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock } from "../model/message.ts";
import { InputScan, normalizeInput } from "./tool_input.ts";

/** A block in the making. */
export interface Draft {
  /** What the decoder calls it. */
  readonly key: unknown;
  /** What it began as: text may turn out to be reasoning before it opens. */
  readonly type: ContentBlock["type"];
  block: ContentBlock;
  /** Position in the message, −1 until it opens. */
  index: number;
  /** Arrived but not yet told. Kept apart from the block: cutting the untold rest out of a growing string would be quadratic. */
  held: string;
  /** A trailing high surrogate, kept until its other half comes. */
  carry: string;
  /** No neighbour may be added: the wire closed it, or a closing tag did. */
  ended: boolean;
  closed: boolean;
  /** Reasoning that was found in text. */
  leaked: boolean;
  /** Text that is nothing but blank space so far. */
  blank: boolean;
  /** At the start of a message or after a call; blank text there is held, and dropped if nothing follows. */
  readonly leading: boolean;
  /** Id as the wire gave it; the block's may be another. */
  id: string;
  /** A call's arguments so far. */
  raw: string;
  readonly scan?: InputScan;
  /** Arguments came after the call had closed. */
  late: boolean;
}

const ID = /^[\x21-\x7e]{1,256}$/;

/** Drafts in order: closed ones, the open one, and those that wait behind it. */
export class BlockQueue {
  readonly #limits: Limits;
  readonly #byKey = new Map<unknown, Draft>();
  readonly #ids = new Set<string>();
  /** The first draft that is not closed. */
  #at = 0;
  #opened = 0;
  #capped = true;

  /** All drafts, oldest first. */
  readonly drafts: Draft[] = [];
  /** Events not yet handed out. */
  events: StreamEvent[] = [];
  /** Content has arrived since the provider last looked. */
  progressed = false;

  /** @param limits Bounds on number, size and nesting. */
  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** The newest draft: the only one that content without a key of its own may join. */
  get tail(): Draft | undefined {
    return this.drafts[this.drafts.length - 1];
  }

  /** The newest draft under a key. */
  find(key: unknown): Draft | undefined {
    return this.#byKey.get(key);
  }

  /** Lifts the cap on blocks: after a failure, gathering what has arrived must not fail again. */
  uncap(): void {
    this.#capped = false;
  }

  /** Begins a block behind all others. */
  append(key: unknown, block: ContentBlock): Draft {
    const { tail, drafts } = this;
    // Nothing has followed the blank text as text: it is dropped.
    if (waits(tail)) {
      drafts.pop();
      if (this.#byKey.get(tail.key) === tail) this.#byKey.delete(tail.key);
    }
    if (this.#capped && drafts.length >= this.#limits.maxBlocks) throw exceeded("maxBlocks", this.#limits);
    const before = this.tail?.block.type;
    const draft: Draft = {
      key,
      type: block.type,
      block,
      index: -1,
      held: "",
      carry: "",
      ended: false,
      closed: false,
      leaked: false,
      blank: block.type === "text",
      leading: before === undefined || before === "tool_use",
      id: "",
      raw: "",
      late: false,
      ...(block.type === "tool_use" && { scan: new InputScan() }),
    };
    drafts.push(draft);
    this.#byKey.set(key, draft);
    return draft;
  }

  /** Adds arrived content to a draft, as well-formed text. */
  grow(draft: Draft, arrived: string): void {
    this.progressed = true;
    let piece = arrived;
    if (draft.carry !== "") {
      piece = draft.carry + piece;
      draft.carry = "";
    }
    if (!piece.isWellFormed()) {
      if ((piece.charCodeAt(piece.length - 1) & 0xfc00) === 0xd800) {
        draft.carry = piece.slice(-1);
        piece = piece.slice(0, -1);
      }
      piece = piece.toWellFormed();
    }
    if (piece === "") return;
    this.#tell(draft, piece);
    if (draft.index < 0 || draft.scan?.complete) this.advance();
  }

  /** Adds raw arguments to a call, within the caps. */
  growInput(draft: Draft, scan: InputScan, fragment: string): void {
    scan.feed(fragment);
    if (scan.bytes > this.#limits.maxToolInputBytes) throw exceeded("maxToolInputBytes", this.#limits);
    if (scan.depth > this.#limits.maxJsonDepth) throw exceeded("maxJsonDepth", this.#limits);
    this.grow(draft, fragment);
  }

  /** Gives a call the id that arrived, or another one where it is unusable or taken. */
  identify(block: ToolUseBlock, id: string): void {
    if (!ID.test(id) || this.#ids.has(id)) {
      let n = this.#ids.size + 1;
      while (this.#ids.has(id = `call_${n}`)) n++;
    }
    this.#ids.add(id);
    block.id = id;
  }

  /**
   * Opens and closes what can be.
   *
   * @param final The message ends: everything opens and closes, or is dropped.
   */
  advance(final = false): void {
    for (let draft; (draft = this.drafts[this.#at]) !== undefined;) {
      const followed = this.#at + (waits(this.tail) ? 2 : 1) < this.drafts.length;
      const call = draft.scan;
      const over = final || draft.ended || (followed && (call === undefined || call.complete));
      if (draft.index < 0) {
        if (over) this.#endPair(draft);
        if (!canOpen(draft, over)) {
          // A call may get its name as late as the end.
          if (!over || (call && !final)) return;
          this.drafts.splice(this.#at, 1);
          continue;
        }
        this.#open(draft);
      }
      if (!over) return;
      this.#endPair(draft);
      judge(draft);
      draft.closed = true;
      this.#at++;
      this.events.push({ type: "block_complete", index: draft.index, block: draft.block });
    }
  }

  #tell(draft: Draft, piece: string): void {
    if (draft.scan) draft.raw += piece;
    else (draft.block as TextBlock).text += piece;
    if (draft.blank && piece.trim() !== "") draft.blank = false;
    if (draft.index < 0) draft.held += piece;
    else if (draft.closed) draft.late = true;
    else this.events.push({ type: "content_delta", index: draft.index, delta: piece });
  }

  /** The other half of a surrogate pair never came. */
  #endPair(draft: Draft): void {
    if (draft.carry === "") return;
    draft.carry = "";
    this.#tell(draft, "\ufffd");
  }

  #open(draft: Draft): void {
    const { block, held, type } = draft;
    const index = draft.index = this.#opened++;
    if (block.type === "tool_use") {
      if (block.id === "") this.identify(block, "");
      this.events.push({ type: "block_start", index, blockType: block.type, toolId: block.id, toolName: block.name });
    } else if (type === "text" || type === "thinking" || type === "opaque") {
      this.events.push({ type: "block_start", index, blockType: type });
    }
    if (held !== "") this.events.push({ type: "content_delta", index, delta: held });
    draft.held = "";
  }
}

/** Brings a block to the form that a message holds. */
export function judge({ block, raw, leaked }: Draft): void {
  if (block.type === "tool_use") {
    const { input, invalid } = normalizeInput(raw);
    block.input = input;
    if (invalid) block.invalid = true;
    else delete block.invalid;
  } else if (leaked) {
    (block as ThinkingBlock).text = (block as ThinkingBlock).text.trim();
  }
}

/** A call that nobody could run. */
export function isNameless(block: ContentBlock): boolean {
  return block.type === "tool_use" && block.name === "";
}

function canOpen(draft: Draft, over: boolean): boolean {
  const { block, held } = draft;
  switch (block.type) {
    case "tool_use":
      return !isNameless(block) && (over || (block.id !== "" && held !== ""));
    case "thinking":
      return held !== "" || block.redacted !== undefined ||
        (over && (block.signature !== undefined || block.details !== undefined));
    case "text":
      return held !== "" && !waits(draft);
    default:
      return true;
  }
}

/** Blank text that is not told before something follows it. */
function waits(draft: Draft | undefined): draft is Draft {
  return draft !== undefined && draft.blank && draft.leading;
}
