/**
 * Turns what a decoder says into a message: finds leaked reasoning, hands content to the queue of blocks, and knows when a reply is
 * whole.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { CompletionInfo, StreamEvent } from "../model/event.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import type { Message, Origin, StopReason, TextBlock, ThinkingBlock, ToolUseBlock, Usage } from "../model/message.ts";
import { createSplitter, type ReasoningSplitter } from "../text/reasoning.ts";
import { BlockQueue, type Draft, isNameless, judge, type ReplyBlock } from "./block_queue.ts";
import type { MessageSink } from "./dialect.ts";
import { reported, truncated, violation } from "./failure.ts";
import { isDeeper } from "./tool_input.ts";
import { warningsOf } from "./warnings.ts";

/** What a builder must know beside what arrives. */
export interface BuilderOptions {
  limits: Limits;
  origin: Origin;
  /** Takes keys out of whatever the endpoint wrote. */
  redact: (text: string) => string;
  /** Find leaked reasoning in text. */
  splitText: boolean;
  /** What is asked. */
  sent: readonly Message[];
}

/** The {@linkcode MessageSink} of the provider. */
export class MessageBuilder implements MessageSink {
  readonly #options: BuilderOptions;
  readonly #blocks: BlockQueue;
  readonly #splitter: ReasoningSplitter | undefined;
  /** Key of the text that the splitter is in. */
  #textKey: unknown;
  #choice = false;
  #stop: StopReason | undefined;
  readonly #info: Omit<CompletionInfo, "stopReason"> = {};

  /** @param options Limits, origin and switches of the provider. */
  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#blocks = new BlockQueue(options.limits);
    if (options.splitText) {
      this.#splitter = createSplitter({
        text: (piece) => this.#add("text", this.#textKey, piece, false),
        thinking: (piece) => this.#add("thinking", this.#textKey, piece, true),
        endThinking: () => this.#endThought(),
        retract: () => this.#retract(),
      });
    }
  }

  /** A finish word has come: a broken connection no longer harms. */
  get stopped(): boolean {
    return this.#stop !== undefined;
  }

  /** Hands out the events since the last call. */
  take(): StreamEvent[] {
    const { events } = this.#blocks;
    if (events.length > 0) this.#blocks.events = [];
    return events;
  }

  /** Whether content has arrived since the last call. */
  takeProgress(): boolean {
    const { progressed } = this.#blocks;
    this.#blocks.progressed = false;
    return progressed;
  }

  begin(hasChoice = false, id?: unknown, model?: unknown): void {
    this.#blocks.begin();
    this.#choice ||= hasChoice;
    this.#label("id", id);
    this.#label("model", model);
  }

  text(key: unknown, delta: string): void {
    if (delta === "") return;
    if (this.#textKey !== key) {
      this.#settle();
      this.#textKey = key;
      // Reasoning that goes on behind text is a block of its own, even where the text was a tag that vanishes.
      const { tail } = this.#blocks;
      if (tail?.block.type === "thinking") tail.ended = true;
    }
    if (this.#splitter) this.#splitter.push(delta);
    else this.#add("text", key, delta, false);
  }

  thinking(key: unknown, delta: string, field?: string): void {
    if (delta === "") return;
    this.#settle();
    this.#textKey = undefined;
    if (this.#splitter) this.#splitter.native = true;
    this.#add("thinking", key, delta, false, field);
  }

  note(key: unknown, field: "signature" | "redacted" | "details", value: unknown): void {
    if (!value) return;
    let draft = this.#blocks.find(key);
    if (draft?.block.type !== "thinking") draft = this.#append(key, { type: "thinking", text: "" });
    const block = draft.block as ThinkingBlock;
    if (field === "details") block.details = value;
    else block[field] = (block[field] ?? "") + (value as string).toWellFormed();
    this.#blocks.advance();
  }

  call(key: unknown, about: Parameters<MessageSink["call"]>[1] = {}): void {
    let draft = this.#blocks.find(key);
    if (!draft?.scan) draft = this.#append(key, { type: "tool_use", id: "", name: "", input: "" });
    const block = draft.block as ToolUseBlock;
    if (about.id && about.id !== draft.id) this.#blocks.identify(block, draft.id = about.id);
    // Templates leak their channel marks into the name (quirk O-79).
    if (about.name) block.name = about.name.split("<|", 1)[0]!.toWellFormed();
    if (about.extra !== undefined) block.extra = about.extra;
    this.#blocks.advance();
  }

  input(key: unknown, fragment: string): void {
    if (fragment === "") return;
    const draft = this.#blocks.find(key);
    if (draft?.scan) return this.#blocks.grow(draft, fragment);
    this.call(key);
    this.input(key, fragment);
  }

  inputComplete(key: unknown): boolean {
    return this.#blocks.find(key)?.scan?.complete ?? false;
  }

  opaque(key: unknown, value: unknown): void {
    this.#append(key, { type: "opaque", value });
  }

  end(key: unknown): void {
    if (key === this.#textKey) this.#settle();
    const draft = this.#blocks.find(key);
    if (draft) this.#blocks.end(draft);
  }

  usage(report: Usage): void {
    for (const [field, tokens] of Object.entries(report)) {
      // JSON knows numbers beyond all counts, which would end a budget or a sum.
      if (Number.isSafeInteger(tokens) && tokens >= 0) (this.#info.usage ??= {})[field as keyof Usage] = tokens;
    }
  }

  stop(reason: StopReason, raw?: string): void {
    if (this.stopped && this.#stop !== "end_turn" && reason !== "max_tokens") return;
    this.#stop = reason;
    if (raw !== undefined) this.#info.rawStopReason = raw;
  }

  fail(error: unknown): never {
    throw reported(error, this.#options.redact);
  }

  /**
   * Ends the reply.
   *
   * @param protocolEnd The protocol's own end mark came; otherwise the body ended.
   * @throws {PawlError} The reply is not whole.
   */
  finish(protocolEnd: boolean): Message {
    const { drafts } = this.#blocks;
    if (!this.stopped) {
      if (!protocolEnd) throw truncated("it ended without its end mark");
      if (drafts.some(({ scan }) => scan?.open)) throw truncated("it ended inside the arguments of a call");
      if (!this.#choice && drafts.length === 0) {
        throw new PawlError("empty_reply", "The endpoint sent an end mark and no reply", { retryable: true });
      }
    }
    this.#settle();
    this.begin();
    const word = this.#stop ?? "end_turn";
    const hasCalls = drafts.some(({ scan }) => scan);
    const stopReason = hasCalls && word !== "max_tokens" && word !== "refusal" ? "tool_use" : word;
    for (const draft of drafts) this.#check(draft, stopReason);
    this.#blocks.advance(true);
    if (stopReason === "tool_use" && !hasCalls) {
      violation("it says that tools are called and holds no call", true);
    }
    const message = this.#message(drafts);
    const warnings = warningsOf(message.content, this.#info.usage, this.#options.sent);
    if (warnings.length > 0) this.#info.warnings = warnings;
    this.#blocks.events.push({ type: "message_complete", message, stopReason, ...this.#info });
    return message;
  }

  /** What has arrived of a reply that failed; open and waiting blocks as far as they got. */
  partial(): { message: Message; usage?: Usage } {
    // Letting go of held text may begin a block.
    this.#blocks.maxBlocks = Infinity;
    this.#settle();
    const drafts = this.#blocks.drafts.filter(({ blank, block }) => !blank && !isNameless(block));
    for (const draft of drafts) judge(draft);
    const { usage } = this.#info;
    return { message: this.#message(drafts), ...(usage && { usage }) };
  }

  #message(drafts: readonly Draft[]): Message {
    return { role: "assistant", content: drafts.map(({ block }) => block), origin: this.#options.origin };
  }

  /** Lets go of what the splitter holds, before anything else may begin. */
  #settle(): void {
    this.#splitter?.flush();
  }

  #append(key: unknown, block: ReplyBlock): Draft {
    this.#settle();
    return this.#blocks.append(key, block);
  }

  /** Adds to the newest block if it is the same, else begins one. */
  #add(type: "text" | "thinking", key: unknown, arrived: string, leaked: boolean, field?: string): void {
    let { tail } = this.#blocks, piece = arrived;
    if (tail?.block.type !== type || tail.key !== key || tail.ended || tail.leaked !== leaked) {
      // A leaked thought that a call interrupted may end without another word: that is no block.
      if (leaked && (piece = piece.trimStart()) === "") return;
      tail = this.#blocks.append(
        key,
        { type, text: "", ...(field !== undefined && { field }) } as TextBlock | ThinkingBlock,
      );
      tail.leaked = leaked;
    }
    this.#blocks.grow(tail, piece);
  }

  /** People are shown these: a short, well-formed string; the first one counts. */
  #label(name: "id" | "model", value: unknown): void {
    if (typeof value === "string" && value !== "") this.#info[name] ??= value.slice(0, 256).toWellFormed();
  }

  #endThought(): void {
    const { tail } = this.#blocks;
    if (tail?.leaked) this.#blocks.end(tail);
  }

  /** A closing tag without opener: the template ate the opener, so the open text was reasoning (rig's third rule). */
  #retract(): void {
    const { tail } = this.#blocks;
    if (tail?.block.type !== "text" || tail.ended || tail.blank) return;
    tail.block = { type: "thinking", text: tail.block.text };
    tail.leaked = true;
    this.#blocks.end(tail);
  }

  /** Holds a block against what only the whole reply can tell. */
  #check(draft: Draft, stopReason: StopReason): void {
    const { block, late } = draft;
    // Where the output limit cut a call before its name, there is no call.
    if (isNameless(block) && stopReason !== "max_tokens") {
      throw new PawlError("unsupported_tool_call", "Cannot execute a tool call: it names no function");
    }
    if (late) judge(draft);
    const { limits } = this.#options;
    // Only what the endpoint itself nested can be deep; the block around it is one level more.
    if (isDeeper(block, limits.maxJsonDepth + 1)) throw exceeded("maxJsonDepth", limits);
  }
}
