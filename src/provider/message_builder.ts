/**
 * Turns what a decoder says into a message: finds leaked reasoning, hands content to the queue of blocks, and knows when a reply is
 * whole.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { MessageCompleteEvent, StreamEvent } from "../model/event.ts";
import type { Limits } from "../model/limits.ts";
import type {
  ContentBlock,
  Message,
  Origin,
  StopReason,
  ThinkingBlock,
  ToolUseBlock,
  Usage,
} from "../model/message.ts";
import { ReasoningSplitter } from "../text/reasoning.ts";
import { BlockQueue, type Draft, isNameless, judge, vendorData } from "./block_queue.ts";
import type { MessageSink } from "./dialect.ts";
import { reported, tooLarge, truncated } from "./failure.ts";
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
  /** Characters of text that were sent; asked for once, at the end. */
  promptLength: () => number;
}

const USAGE_FIELDS = ["inputTokens", "outputTokens", "cachedInputTokens", "reasoningTokens"] as const;

/** The {@linkcode MessageSink} of the provider. */
export class MessageBuilder implements MessageSink {
  readonly #options: BuilderOptions;
  readonly #blocks: BlockQueue;
  readonly #splitter: ReasoningSplitter | undefined;
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

  /** @param options Limits, origin and switches of the provider. */
  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#blocks = new BlockQueue(options.limits);
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

  begin(info?: { id?: unknown; model?: unknown; choice?: boolean }): void {
    if (!this.#started) {
      this.#started = true;
      this.#blocks.events.push({ type: "message_start", role: "assistant" });
    }
    if (info === undefined) return;
    if (info.choice) this.#choice = true;
    this.#id ??= label(info.id);
    this.#model ??= label(info.model);
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
    const { tail } = this.#blocks;
    const joins = tail?.block.type === "thinking" && tail.key === key && !tail.ended && !tail.leaked;
    const draft = joins
      ? tail
      : this.#append(key, { type: "thinking", text: "", ...(field !== undefined && { field }) });
    this.#blocks.grow(draft, delta);
  }

  signature(key: unknown, signature: string): void {
    if (signature === "") return;
    const block = this.#thought(key);
    block.signature = (block.signature ?? "") + signature.toWellFormed();
  }

  redacted(key: unknown, data: string): void {
    this.#settle();
    this.#append(key, { type: "thinking", text: "", redacted: data.toWellFormed() });
    this.#blocks.advance();
  }

  details(key: unknown, details: unknown): void {
    this.#thought(key).details = details;
  }

  call(key: unknown, about: { id?: string; name?: string; extra?: Record<string, unknown> } = {}): void {
    let draft = this.#blocks.find(key);
    if (draft?.block.type !== "tool_use") {
      this.#settle();
      draft = this.#append(key, { type: "tool_use", id: "", name: "", input: "" });
    }
    const block = draft.block as ToolUseBlock;
    if (about.id && about.id !== draft.id) this.#blocks.identify(block, draft.id = about.id);
    // Templates leak their channel marks into the name (quirk O-79).
    if (about.name) block.name = about.name.split("<|", 1)[0]!.toWellFormed();
    if (about.extra !== undefined) block.extra = about.extra;
    this.#blocks.advance();
  }

  input(key: unknown, fragment: string): void {
    const draft = this.#blocks.find(key);
    if (draft?.scan !== undefined && fragment !== "") this.#blocks.growInput(draft, draft.scan, fragment);
  }

  inputComplete(key: unknown): boolean {
    return this.#blocks.find(key)?.scan?.complete ?? false;
  }

  opaque(key: unknown, value: unknown): void {
    this.#settle();
    this.#append(key, { type: "opaque", value });
    this.#blocks.progressed = true;
    this.#blocks.advance();
  }

  end(key: unknown): void {
    if (key === this.#textKey) this.#settle();
    const draft = this.#blocks.find(key);
    if (draft === undefined || draft.ended) return;
    draft.ended = true;
    this.#blocks.advance();
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
    throw reported(error, this.#options.redact);
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
    const { drafts } = this.#blocks;
    if (this.#stop === undefined) {
      if (!protocolEnd) throw truncated("it ended without its end mark");
      if (drafts.some(({ scan }) => scan?.open)) throw truncated("it ended inside the arguments of a call");
      if (!this.#choice && drafts.length === 0) {
        throw new PawlError("empty_reply", "The endpoint sent an end mark and no reply", { retryable: true });
      }
    }
    this.#settle();
    this.begin();
    const stopReason = this.#stopReason();
    for (const draft of drafts) this.#check(draft, stopReason);
    this.#blocks.advance(true);
    if (stopReason === "tool_use" && !this.#hasCalls) {
      this.violation("it says that tools are called and holds no call", true);
    }
    const content = drafts.map(({ block }) => block);
    const warnings = warningsOf(content, this.#usage, this.#options.promptLength);
    this.#blocks.events.push(
      {
        type: "message_complete",
        message: { role: "assistant", content, origin: this.#options.origin },
        stopReason,
        ...(this.#rawStop !== undefined && { rawStopReason: this.#rawStop }),
        ...(this.#usage && { usage: this.#usage }),
        ...(this.#model !== undefined && { model: this.#model }),
        ...(this.#id !== undefined && { id: this.#id }),
        ...(warnings.length > 0 && { warnings }),
      } satisfies MessageCompleteEvent,
    );
  }

  /** What has arrived of a reply that failed; open and waiting blocks as far as they got. */
  partial(): { message: Message; usage?: Usage } {
    // Letting go of held text may begin a block.
    this.#blocks.uncap();
    this.#settle();
    const drafts = this.#blocks.drafts.filter(({ blank, block }) => !blank && !isNameless(block));
    for (const draft of drafts) judge(draft);
    return {
      message: { role: "assistant", content: drafts.map(({ block }) => block), origin: this.#options.origin },
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  /** Lets go of what the splitter holds, before anything else may begin. */
  #settle(): void {
    this.#splitter?.flush();
  }

  #append(key: unknown, block: ContentBlock): Draft {
    this.begin();
    return this.#blocks.append(key, block);
  }

  #text(piece: string): void {
    const { tail } = this.#blocks;
    const joins = tail?.block.type === "text" && tail.key === this.#textKey && !tail.ended;
    this.#blocks.grow(joins ? tail : this.#append(this.#textKey, { type: "text", text: "" }), piece);
  }

  #leak(piece: string): void {
    let { tail } = this.#blocks;
    if (!tail?.leaked || tail.ended) {
      tail = this.#append(this.#textKey, { type: "thinking", text: "" });
      tail.leaked = true;
    }
    this.#blocks.grow(tail, piece);
  }

  #endThought(): void {
    const { tail } = this.#blocks;
    if (!tail?.leaked) return;
    tail.ended = true;
    this.#blocks.advance();
  }

  /** A closing tag without opener: the template ate the opener, so the open text was reasoning (rig's third rule). */
  #retract(): void {
    const { tail } = this.#blocks;
    if (tail?.block.type !== "text" || tail.ended || tail.blank) return;
    tail.block = { type: "thinking", text: tail.block.text };
    tail.leaked = tail.ended = true;
    this.#blocks.advance();
  }

  /** The reasoning under `key`, begun if there is none. */
  #thought(key: unknown): ThinkingBlock {
    let draft = this.#blocks.find(key);
    if (draft?.block.type !== "thinking") {
      this.#settle();
      draft = this.#append(key, { type: "thinking", text: "" });
      this.#blocks.advance();
    }
    return draft.block as ThinkingBlock;
  }

  /** Holds a block against what only the whole reply can tell. */
  #check(draft: Draft, stopReason: StopReason): void {
    const { block, late } = draft;
    // Where the output limit cut a call before its name, there is no call.
    if (isNameless(block) && stopReason !== "max_tokens") this.unsupported("it has no name");
    if (late) judge(draft);
    const { limits } = this.#options;
    if (isDeeper(vendorData(block), limits.maxJsonDepth)) {
      throw tooLarge("the nesting of vendor data", "maxJsonDepth", limits, "levels");
    }
  }

  #stopReason(): StopReason {
    const reason = this.#stop ?? "end_turn";
    if (reason === "max_tokens" || reason === "refusal") return reason;
    return this.#hasCalls ? "tool_use" : reason;
  }

  get #hasCalls(): boolean {
    return this.#blocks.drafts.some(({ scan }) => scan);
  }
}

/** Ids and model names are shown to people: a short, well-formed string or nothing. */
function label(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 256).toWellFormed() : undefined;
}
