/**
 * Reads a reply of Anthropic's messages protocol. Its events name their blocks; imitators break every rule about that.
 * @module
 */
import type { Usage } from "../model/message.ts";
import type { MessageSink } from "../provider/dialect.ts";
import {
  argumentsOf,
  contentOf,
  type EventReader,
  extraOf,
  FinishWord,
  isObject,
  type Json,
  listOf,
  objectOf,
  rejectStranger,
  textOf,
} from "../provider/read.ts";
import { parse } from "../provider/tool_input.ts";

/** A block of the wire; the object itself is its key. */
interface Block {
  type: string;
  /** The block as it began. */
  value: Json;
  /** Text of the last start event: the first delta may repeat it (quirk A-21). */
  given: string;
  signed: boolean;
  open: boolean;
  /** Arguments have come in deltas; they outrank those of the start event (quirk A-12). */
  begun: boolean;
  /** Input of a vendor block so far; absent for blocks that pawl understands. */
  input?: string[];
}

/** Reads one reply, event by event. */
export class MessagesReader implements EventReader {
  readonly #sink: MessageSink;
  readonly #finish: FinishWord;
  /** The newest block of each index, open or closed: blocks may overlap, and indexes be reused (quirk A-18). */
  readonly #blocks = new Map<unknown, Block>();
  /** Calls and vendor blocks may still lack what their start gave. */
  readonly #unfilled: Block[] = [];
  #id: string | undefined;
  #cacheWritten = 0;
  #cacheRead = 0;

  /** @param sink Told what arrives. */
  constructor(sink: MessageSink) {
    this.#sink = sink;
    this.#finish = new FinishWord(sink);
  }

  take(event: Json): boolean {
    const sink = this.#sink;
    switch (event.type) {
      case "content_block_delta":
        sink.begin();
        this.#delta(event.index, objectOf(sink, event.delta, "delta"));
        return false;
      case "content_block_start":
        sink.begin({ choice: true });
        this.#start(event.index, objectOf(sink, event.content_block, "content_block"));
        return false;
      case "content_block_stop":
        sink.begin();
        this.#close(this.#blocks.get(event.index));
        return false;
      case "message_start":
        this.#message(objectOf(sink, event.message, "message") ?? {});
        return false;
      case "message_delta":
        sink.begin();
        this.#usage(event.usage);
        this.#stop(objectOf(sink, event.delta, "delta")?.stop_reason);
        return false;
      case "message_stop":
        sink.begin();
        this.#fillAll();
        return true;
      case "message":
        return this.document(event);
      case "ping":
        return false;
      default:
        rejectStranger(sink, this, event);
        sink.begin();
        return false;
    }
  }

  /** `[DONE]` is foreign here (quirk A-30): it ends a complete reply, and completes none. */
  done(): boolean {
    return this.#finish.reason !== undefined;
  }

  isForeign({ choices }: Json): boolean {
    return Boolean(choices);
  }

  document(reply: Json): boolean {
    if (!Array.isArray(reply.content) || (reply.type !== "message" && reply.role !== "assistant")) return false;
    this.#message(reply);
    return true;
  }

  #message(message: Json): void {
    const first = this.#id === undefined, id = textOf(message.id);
    // Two replies in one stream: nothing of either can be trusted, and no call of them may run (quirk A-32).
    if (this.#id && id && id !== this.#id) this.#sink.violation("a second reply began inside it");
    this.#id ||= id;
    this.#sink.begin({ id, model: message.model });
    this.#usage(message.usage);
    if (!first) return;
    for (const value of listOf(this.#sink, message.content, "content")) {
      const index = {};
      this.#start(index, objectOf(this.#sink, value, "a content block"));
      this.#close(this.#blocks.get(index));
    }
    this.#stop(message.stop_reason);
  }

  #stop(word: unknown): void {
    if (word) this.#fillAll();
    this.#finish.take(word);
  }

  #start(index: unknown, value: Json = {}): void {
    const type = textOf(value.type), id = textOf(value.id);
    if (type === "") return;
    const isText = type === "text" || type === "thinking";
    let block = this.#blocks.get(index);
    // Some begin a block anew before every token (quirk A-20); some leave out its end.
    if (
      !block?.open || block.type !== type ||
      (isText ? block.signed : id === "" || id !== block.value.id)
    ) {
      this.#close(block);
      block = this.#add(index, type, value);
      if (type === "tool_use") {
        const extra = extraOf(value);
        this.#sink.call(block, { id, name: textOf(value.name), ...(extra && { extra }) });
      } else if (type === "redacted_thinking" && textOf(value.data) !== "") {
        this.#sink.redacted(block, textOf(value.data));
      } else if (!isText) {
        block.input = [];
        this.#sink.opaque(block, value);
      }
    }
    if (!isText) return;
    const text = textOf(value[type]);
    block.given = "";
    this.#say(block, type, text);
    block.given = text;
    this.#sign(block, textOf(value.signature));
  }

  #delta(index: unknown, delta: Json = {}): void {
    const sink = this.#sink;
    switch (delta.type) {
      case "text_delta":
      case "thinking_delta": {
        const type = delta.type === "text_delta" ? "text" : "thinking";
        this.#say(this.#blocks.get(index) ?? this.#add(index, type), type, contentOf(sink, delta[type], type));
        break;
      }
      case "signature_delta":
        this.#sign(this.#blocks.get(index) ?? this.#add(index, "thinking"), textOf(delta.signature));
        break;
      case "input_json_delta":
        this.#input(this.#blocks.get(index), contentOf(sink, delta.partial_json, "partial_json"));
        break;
      default: {
        // What belongs to a vendor block goes back with it (quirk A-22); citations of a text do not.
        const block = this.#blocks.get(index);
        if (block?.input === undefined) break;
        for (const [key, piece] of Object.entries(delta)) {
          if (key !== "type" && typeof piece === "string") block.value[key] = textOf(block.value[key]) + piece;
        }
      }
    }
  }

  #add(index: unknown, type: string, value: Json = {}): Block {
    const block = { type, value, given: "", signed: false, begun: false, open: true };
    this.#blocks.set(index, block);
    this.#unfilled.push(block);
    return block;
  }

  #say(block: Block, type: "text" | "thinking", text: string): void {
    const repeats = text === block.given;
    block.given = "";
    if (text === "" || repeats) return;
    // Text may be addressed to a call (quirk A-17): it becomes a block of its own, and the arguments stay whole.
    this.#sink[type](block.type === type ? block : type, text);
  }

  #sign(block: Block, signature: string): void {
    if (block.type !== "thinking" || signature === "") return;
    block.signed = true;
    this.#sink.signature(block, signature);
  }

  #input(block: Block | undefined, fragment: string): void {
    if (block?.input) block.input.push(fragment);
    else if (block?.type === "tool_use") {
      block.begun ||= fragment.trim() !== "";
      this.#sink.input(block, fragment);
    } else if (fragment.trim() !== "") this.#sink.unsupported("it has no name");
  }

  #close(block: Block | undefined): void {
    if (!block?.open) return;
    block.open = false;
    this.#fill(block);
    this.#sink.end(block);
  }

  #fill(block: Block): void {
    const { type, value, begun, input } = block;
    if (type === "tool_use" && !begun) {
      block.begun = true;
      const given = argumentsOf(this.#sink, value.input);
      if (given !== "{}") this.#sink.input(block, given);
    }
    if (input?.length) value.input = parse(input.join("")) ?? value.input;
  }

  /** Ends without their mark (quirk A-19). A block is closed by the end of the message, as in a protocol that has no such mark. */
  #fillAll(): void {
    for (const block of this.#unfilled.splice(0)) this.#fill(block);
  }

  /** Cached input is counted beside the rest, and a gateway that cannot count reports 0 (quirk A-33). */
  #usage(usage: unknown): void {
    if (!isObject(usage)) return;
    const { input_tokens: input, cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
    if (typeof written === "number") this.#cacheWritten = written;
    if (typeof read === "number") this.#cacheRead = read;
    const report = {
      inputTokens: typeof input === "number" && input > 0 ? input + this.#cacheWritten + this.#cacheRead : undefined,
      outputTokens: usage.output_tokens,
      cachedInputTokens: read,
    };
    this.#sink.usage(report as Usage);
  }
}
