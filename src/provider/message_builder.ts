/**
 * Turns what a decoder says into events. This file owns the whole grammar of a reply (design §3): order, indexes, held-back blocks,
 * leaked reasoning, the end.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { MessageCompleteEvent, StreamEvent, Warning } from "../model/event.ts";
import type { Limits } from "../model/limits.ts";
import type {
  ContentBlock,
  Message,
  Origin,
  StopReason,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  Usage,
} from "../model/message.ts";
import { excerpt, isOverflow, isRetryable, readError } from "../text/error_text.ts";
import { ReasoningSplitter } from "../text/reasoning.ts";
import type { MessageSink } from "./dialect.ts";
import { InputScan, normalizeInput } from "./tool_input.ts";

/** What a builder must know beside what arrives. */
export interface BuilderOptions {
  limits: Limits;
  origin: Origin;
  /** Takes keys out of whatever the endpoint wrote. */
  redact: (text: string) => string;
  /** Find leaked reasoning in text. */
  splitText: boolean;
  /** Characters of text that were sent, asked for once at the end. */
  promptLength: () => number;
}

/** A block in the making. Drafts before the open one are closed, those behind it are held back. */
interface Draft {
  key: unknown;
  block: ContentBlock;
  /** Position in the message, −1 until it opens. */
  index: number;
  /** Arrived but not yet told. Kept apart from the block: cutting the untold rest out of a growing string would be quadratic. */
  held: string;
  /** A trailing high surrogate, kept until its other half comes. */
  carry: string;
  /** Nothing may be added as a neighbour: the wire closed it, or a closing tag did. */
  ended: boolean;
  closed: boolean;
  /** Reasoning that was found in text. */
  leaked: boolean;
  /** Text that is nothing but blank space so far. */
  blank: boolean;
  /** Text at the start of a message or after a call: while blank it is held, and dropped if nothing follows. */
  leading: boolean;
  /** Id as the wire gave it; the block's may be another. */
  id: string;
  /** A call's arguments so far. */
  raw: string;
  scan?: InputScan;
  /** Arguments came after the call had closed. */
  late: boolean;
}

const USAGE_FIELDS = ["inputTokens", "outputTokens", "cachedInputTokens", "reasoningTokens"] as const;
const ID = /^[\x21-\x7e]{1,256}$/;
/** Tool-call syntax of the usual chat templates; seen in text it means that the server did not parse it (quirks O-82, O-83). */
const CALL_SYNTAX = /<tool_call\b|<function=|<invoke name=|<\|(?:tool_call|channel\|>)|<｜|\[TOOL_CALLS\]/;
/** Ordinary text has about four characters a token; from this many on, most of the prompt cannot have been read. */
const CHARACTERS_PER_TOKEN = 12;

/** The one {@linkcode MessageSink}: collects events for the provider to hand out. */
export class MessageBuilder implements MessageSink {
  readonly #options: BuilderOptions;
  readonly #splitter: ReasoningSplitter | undefined;
  readonly #drafts: Draft[] = [];
  readonly #byKey = new Map<unknown, Draft>();
  readonly #ids = new Set<string>();
  #events: StreamEvent[] = [];
  /** The first draft that is not closed. */
  #at = 0;
  #opened = 0;
  #maxBlocks: number;
  /** Key of the text that the splitter is in. */
  #textKey: unknown;
  #started = false;
  #choice = false;
  #garbled = false;
  #stop: StopReason | undefined;
  #rawStop: string | undefined;
  #usage: Usage | undefined;
  #id: string | undefined;
  #model: string | undefined;

  /** Content has arrived since the provider last looked. */
  progressed = false;

  /** @param options Limits, origin and switches of the provider. */
  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#maxBlocks = options.limits.maxBlocks;
    if (options.splitText) {
      this.#splitter = new ReasoningSplitter({
        text: (piece) => this.#text(piece),
        thinking: (piece) => this.#leak(piece),
        endThinking: () => this.#endThought(),
        retract: () => this.#retract(),
      });
    }
  }

  /** A finish word has come: a broken connection no longer harms. */
  get stopped(): boolean {
    return this.#stop !== undefined;
  }

  /** The last event was no JSON. */
  get isGarbled(): boolean {
    return this.#garbled;
  }

  /** Hands out the events since the last call. */
  take(): StreamEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  begin(info?: { id?: unknown; model?: unknown; choice?: boolean }): void {
    if (!this.#started) {
      this.#started = true;
      this.#events.push({ type: "message_start", role: "assistant" });
    }
    if (info === undefined) return;
    if (info.choice) this.#choice = true;
    if (this.#id === undefined) this.#id = label(info.id);
    if (this.#model === undefined) this.#model = label(info.model);
  }

  text(key: unknown, delta: string): void {
    if (delta === "") return;
    if (this.#textKey !== key) {
      this.#settle();
      this.#textKey = key;
    }
    if (this.#splitter) this.#splitter.push(delta);
    else this.#text(delta);
  }

  thinking(key: unknown, delta: string, field?: string): void {
    if (delta === "") return;
    this.#settle();
    if (this.#splitter) this.#splitter.native = true;
    const tail = this.#tail;
    const open = tail?.block.type === "thinking" && tail.key === key && !tail.ended && !tail.leaked;
    this.#grow(
      open ? tail : this.#append(key, { type: "thinking", text: "", ...(field !== undefined && { field }) }),
      delta,
    );
  }

  signature(key: unknown, signature: string): void {
    if (signature === "") return;
    const block = this.#thought(key).block as ThinkingBlock;
    block.signature = (block.signature ?? "") + signature.toWellFormed();
  }

  redacted(key: unknown, data: string): void {
    this.#settle();
    this.#append(key, { type: "thinking", text: "", redacted: data.toWellFormed() });
    this.#advance();
  }

  details(key: unknown, details: unknown): void {
    (this.#thought(key).block as ThinkingBlock).details = details;
  }

  call(key: unknown, about: { id?: string; name?: string; extra?: Record<string, unknown> } = {}): void {
    let draft = this.#byKey.get(key);
    if (draft?.block.type !== "tool_use") {
      this.#settle();
      draft = this.#append(key, { type: "tool_use", id: "", name: "", input: "" });
    }
    const block = draft.block as ToolUseBlock;
    if (about.id && about.id !== draft.id) this.#name(block, draft.id = about.id);
    if (about.name) block.name = about.name.split("<|", 1)[0]!.toWellFormed();
    if (about.extra !== undefined) block.extra = about.extra;
    this.#advance();
  }

  input(key: unknown, fragment: string): void {
    const draft = this.#byKey.get(key);
    if (draft?.scan === undefined || fragment === "") return;
    draft.scan.feed(fragment);
    const { maxToolInputBytes, maxJsonDepth } = this.#options.limits;
    if (draft.scan.bytes > maxToolInputBytes) this.#tooLarge("the arguments of a call", "maxToolInputBytes", "bytes");
    if (draft.scan.depth > maxJsonDepth) this.#tooLarge("the nesting of a call's arguments", "maxJsonDepth", "levels");
    this.#grow(draft, fragment);
  }

  inputComplete(key: unknown): boolean {
    return this.#byKey.get(key)?.scan?.complete ?? false;
  }

  opaque(key: unknown, value: unknown): void {
    this.#settle();
    this.#append(key, { type: "opaque", value });
    this.progressed = true;
    this.#advance();
  }

  end(key: unknown): void {
    if (key === this.#textKey) this.#settle();
    const draft = this.#byKey.get(key);
    if (draft === undefined || draft.ended) return;
    draft.ended = true;
    this.#advance();
  }

  usage(report: Usage): void {
    for (const field of USAGE_FIELDS) {
      const tokens = report[field];
      if (typeof tokens === "number" && tokens >= 0) (this.#usage ??= {})[field] = tokens;
    }
  }

  stop(reason: StopReason, raw?: string): void {
    this.#stop = reason;
    this.#rawStop = raw;
  }

  fail(error: unknown): never {
    const report = readError(error);
    const said = excerpt(report.text, this.#options.redact);
    const overflow = isOverflow(report.text);
    throw new PawlError(
      overflow ? "context_overflow" : "backend",
      `The endpoint broke off with an error${said && `: ${said}`}`,
      { retryable: !overflow && isRetryable(report) },
    );
  }

  garbled(): void {
    this.#garbled = true;
  }

  violation(what: string, retryable = false): never {
    throw new PawlError("malformed_stream", `Cannot read the reply: ${what}`, { retryable });
  }

  unsupported(what: string): never {
    throw new PawlError("unsupported_tool_call", `Cannot execute a tool call: ${what}`);
  }

  /**
   * Ends the reply.
   *
   * @param protocolEnd The protocol's own end mark came; otherwise the body ended.
   * @throws {PawlError} The reply is not whole.
   */
  finish(protocolEnd: boolean): void {
    if (!this.#stop) {
      if (!protocolEnd) throw truncated("it ended without its end mark");
      if (this.#drafts.some(({ scan }) => scan?.open)) throw truncated("it ended inside the arguments of a call");
      if (!this.#choice && this.#drafts.length === 0) {
        throw new PawlError("empty_reply", "The endpoint sent an end mark and no reply", { retryable: true });
      }
    }
    this.#settle();
    this.begin();
    const stopReason = this.#stopReason();
    this.#closeAll(stopReason);
    const usage = this.#usage;
    const message = this.#message();
    const warnings = this.#warnings(message);
    this.#events.push(
      {
        type: "message_complete",
        message,
        stopReason,
        ...(this.#rawStop !== undefined && { rawStopReason: this.#rawStop }),
        ...(usage && { usage }),
        ...(this.#model !== undefined && { model: this.#model }),
        ...(this.#id !== undefined && { id: this.#id }),
        ...(warnings.length > 0 && { warnings }),
      } satisfies MessageCompleteEvent,
    );
  }

  /** What has arrived of a reply that failed; open and held blocks as far as they got. */
  partial(): { message: Message; usage?: Usage } {
    // Letting go of held text may begin a block: after a failure that must not fail again.
    this.#maxBlocks = Infinity;
    this.#settle();
    const drafts = this.#drafts.filter(({ blank, block }) =>
      !blank && !(block.type === "tool_use" && block.name === "")
    );
    for (const draft of drafts) this.#judge(draft);
    const content = drafts.map(({ block }) => block);
    return {
      message: { role: "assistant", content, origin: this.#options.origin },
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  get #tail(): Draft | undefined {
    return this.#drafts[this.#drafts.length - 1];
  }

  /** Lets go of what the splitter holds, before anything else may begin. */
  #settle(): void {
    this.#splitter?.flush();
  }

  #text(piece: string): void {
    const tail = this.#tail;
    const open = tail?.block.type === "text" && tail.key === this.#textKey && !tail.ended;
    this.#grow(open ? tail : this.#append(this.#textKey, { type: "text", text: "" }), piece);
  }

  #leak(piece: string): void {
    const tail = this.#tail;
    if (tail?.leaked && !tail.ended) return this.#grow(tail, piece);
    const draft = this.#append(this.#textKey, { type: "thinking", text: "" });
    draft.leaked = true;
    this.#grow(draft, piece);
  }

  #endThought(): void {
    const tail = this.#tail;
    if (!tail?.leaked) return;
    tail.ended = true;
    this.#advance();
  }

  /** A closing tag without opener: the template ate the opener, so the open text was reasoning (rig's third rule). */
  #retract(): void {
    const tail = this.#tail;
    if (tail?.block.type !== "text" || tail.ended) return;
    if (tail.blank) return;
    tail.block = { type: "thinking", text: tail.block.text };
    tail.leaked = tail.ended = true;
    this.#advance();
  }

  /** The reasoning under `key`, begun if there is none. */
  #thought(key: unknown): Draft {
    const draft = this.#byKey.get(key);
    if (draft?.block.type === "thinking") return draft;
    this.#settle();
    const begun = this.#append(key, { type: "thinking", text: "" });
    this.#advance();
    return begun;
  }

  #append(key: unknown, block: ContentBlock): Draft {
    this.begin();
    if (waits(this.#tail)) this.#drop(this.#tail);
    if (this.#drafts.length >= this.#maxBlocks) this.#tooLarge("the number of blocks", "maxBlocks", "blocks");
    const before = this.#tail?.block.type;
    const draft: Draft = {
      key,
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
    };
    if (block.type === "tool_use") draft.scan = new InputScan();
    this.#drafts.push(draft);
    this.#byKey.set(key, draft);
    return draft;
  }

  #drop(tail: Draft): void {
    this.#drafts.pop();
    if (this.#byKey.get(tail.key) === tail) this.#byKey.delete(tail.key);
  }

  #grow(draft: Draft, arrived: string): void {
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
    if (draft.index < 0 || draft.scan?.complete) this.#advance();
  }

  #tell(draft: Draft, piece: string): void {
    if (draft.scan) draft.raw += piece;
    else (draft.block as TextBlock).text += piece;
    if (draft.blank && piece.trim() !== "") draft.blank = false;
    if (draft.index < 0) draft.held += piece;
    else if (draft.closed) draft.late = true;
    else this.#events.push({ type: "content_delta", index: draft.index, delta: piece });
  }

  /** Opens and closes what can be: the one place where block events are made. */
  #advance(final = false): void {
    for (let draft; (draft = this.#drafts[this.#at]) !== undefined;) {
      const tail = this.#tail!;
      const followed = this.#at + (waits(tail) ? 2 : 1) < this.#drafts.length;
      const call = draft.scan;
      const over = final || draft.ended || (followed && (call === undefined || call.complete));
      if (draft.index < 0) {
        if (over) this.#flushCarry(draft);
        if (!this.#canOpen(draft, over)) {
          if (!over || (call && !final)) return;
          this.#drafts.splice(this.#at, 1);
          continue;
        }
        this.#open(draft);
      }
      if (!over) return;
      this.#flushCarry(draft);
      this.#judge(draft);
      draft.closed = true;
      this.#at++;
      this.#events.push({ type: "block_complete", index: draft.index, block: draft.block });
    }
  }

  #canOpen(draft: Draft, over: boolean): boolean {
    const { block, held } = draft;
    switch (block.type) {
      case "tool_use":
        return block.name !== "" && (over || (block.id !== "" && held !== ""));
      case "thinking":
        return held !== "" || block.redacted !== undefined ||
          (over && (block.signature !== undefined || block.details !== undefined));
      case "text":
        return held !== "" && !waits(draft);
      default:
        return true;
    }
  }

  #open(draft: Draft): void {
    const { block } = draft;
    const index = draft.index = this.#opened++;
    if (block.type === "tool_use") {
      if (block.id === "") this.#name(block, "");
      this.#events.push({ type: "block_start", index, blockType: "tool_use", toolId: block.id, toolName: block.name });
    } else {
      this.#events.push({ type: "block_start", index, blockType: block.type as "text" | "thinking" | "opaque" });
    }
    if (draft.held !== "") this.#events.push({ type: "content_delta", index, delta: draft.held });
    draft.held = "";
  }

  /** The other half never came. */
  #flushCarry(draft: Draft): void {
    if (draft.carry === "") return;
    draft.carry = "";
    this.#tell(draft, "\ufffd");
  }

  /** Gives a call the id that arrived, or another one where it is unusable or taken. */
  #name(block: ToolUseBlock, id: string): void {
    if (!ID.test(id) || this.#ids.has(id)) {
      let n = this.#ids.size + 1;
      while (this.#ids.has(id = `call_${n}`)) n++;
    }
    this.#ids.add(id);
    block.id = id;
  }

  /** Brings a block to the form that a message holds. */
  #judge(draft: Draft): void {
    const { block } = draft;
    if (block.type === "tool_use") {
      const { input, invalid } = normalizeInput(draft.raw);
      block.input = input;
      if (invalid) block.invalid = true;
      else delete block.invalid;
    } else if (draft.leaked) {
      (block as ThinkingBlock).text = (block as ThinkingBlock).text.trim();
    }
  }

  #closeAll(stopReason: StopReason): void {
    const { maxJsonDepth } = this.#options.limits;
    for (const draft of this.#drafts) {
      const { block } = draft;
      if (block.type === "tool_use" && block.name === "") {
        // Where the output limit cut a call before its name, there is no call.
        if (stopReason !== "max_tokens") this.unsupported("it has no name");
      }
      if (draft.late) this.#judge(draft);
      const kept = block.type === "opaque"
        ? block.value
        : block.type === "tool_use"
        ? block.extra
        : block.type === "thinking"
        ? block.details
        : 0;
      if (deeper(kept, maxJsonDepth)) this.#tooLarge("the nesting of vendor data", "maxJsonDepth", "levels");
    }
    this.#advance(true);
  }

  #stopReason(): StopReason {
    const reason = this.#stop ?? "end_turn";
    if (reason === "max_tokens" || reason === "refusal") return reason;
    if (this.#drafts.some(({ scan }) => scan)) return "tool_use";
    if (reason === "tool_use") this.violation("it says that tools are called and holds no call", true);
    return reason;
  }

  #message(): Message {
    return { role: "assistant", content: this.#drafts.map(({ block }) => block), origin: this.#options.origin };
  }

  #warnings({ content }: Message): Warning[] {
    const warnings: Warning[] = [];
    const warn = (kind: Warning["kind"], message: string) => warnings.push({ kind, message });
    if (
      !content.some(({ type }) => type === "tool_use") &&
      content.some((b) => b.type === "text" && CALL_SYNTAX.test(b.text))
    ) {
      warn(
        "tool_call_text",
        "A tool call came as text and was not run: the server does not parse the calls of this model",
      );
    }
    const sent = this.#usage?.inputTokens;
    if (this.#usage === undefined) warn("usage_missing", "The endpoint reported no token usage");
    else if (sent !== undefined && sent * CHARACTERS_PER_TOKEN < this.#options.promptLength()) {
      warn(
        "context_cut",
        `The endpoint counted ${sent} input tokens, too few for what was sent: it seems to have cut the prompt`,
      );
    }
    return warnings;
  }

  #tooLarge(what: string, limit: keyof Limits, unit: string): never {
    throw tooLarge(what, limit, this.#options.limits, unit);
  }
}

/** A reply that broke off before its end. */
export function truncated(why: string): PawlError {
  return new PawlError("truncated", `The reply is not whole: ${why}`, { retryable: true });
}

/** A cap was exceeded: names the cap, its value and the option. */
export function tooLarge(what: string, limit: keyof Limits, limits: Limits, unit: string): PawlError {
  return new PawlError(
    "response_too_large",
    `Cannot accept the reply: ${what} exceeds limits.${limit} (${limits[limit]} ${unit})`,
  );
}

/** Blank text that is not told before something follows. */
function waits(draft: Draft | undefined): draft is Draft {
  return draft !== undefined && draft.blank && draft.leading;
}

/** Ids and model names are shown to people: a short, well-formed string or nothing. */
function label(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 256).toWellFormed() : undefined;
}

/** Whether JSON data nests deeper than `max`; iterative, since the data may be nested as deep as a stack. */
function deeper(value: unknown, max: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > max) return true;
    level = level.flatMap((item) => typeof item === "object" && item !== null ? Object.values(item) : []);
  }
  return false;
}
