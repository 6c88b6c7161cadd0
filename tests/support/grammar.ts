/**
 * The grammar of a reply's events, as a checker that holds for every reply of every dialect.
 * @module
 */
import type { AgentEvent, BlockStartEvent, ContentBlock, MessageCompleteEvent, StreamEvent } from "@pawl/pawl";

const STOP_REASONS = new Set([
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "refusal",
  "pause_turn",
  "other",
]);
const BLOCK_TYPES = new Set(["text", "thinking", "tool_use", "opaque"]);
const ID = /^[\x21-\x7e]{1,256}$/;

/** Checks the events of one reply as they come. The first fault throws. */
export class ReplyGrammar {
  #started = false;
  #ended = false;
  #retries = 0;
  #open: BlockStartEvent | undefined;
  #joined = "";
  #deltas = 0;
  readonly #blocks: ContentBlock[] = [];

  /** The reply has begun. */
  get started(): boolean {
    return this.#started;
  }

  /** The completed message has come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Takes the next event. */
  push(event: StreamEvent): void {
    if (this.#ended) fault(`${event.type} behind message_complete`);
    if (!this.#started && event.type !== "retry" && event.type !== "message_start") {
      fault(`${event.type} before message_start`);
    }
    wellFormed(event);
    switch (event.type) {
      case "retry":
        if (this.#started) fault("retry behind message_start");
        if (event.attempt !== ++this.#retries) fault(`retry ${event.attempt}, wanted ${this.#retries}`);
        break;
      case "message_start":
        if (this.#started) fault("a second message_start");
        if (event.role !== "assistant") fault(`message_start of ${event.role}`);
        this.#started = true;
        break;
      case "block_start":
        if (this.#open) fault(`block ${event.index} starts inside block ${this.#open.index}`);
        if (event.index !== this.#blocks.length) fault(`block ${event.index}, wanted ${this.#blocks.length}`);
        if (!BLOCK_TYPES.has(event.blockType)) fault(`block_start of ${event.blockType}`);
        if ((event.blockType === "tool_use") !== (event.toolId !== undefined && event.toolName !== undefined)) {
          fault(`toolId and toolName do not go with ${event.blockType}`);
        }
        this.#open = event;
        this.#joined = "";
        this.#deltas = 0;
        break;
      case "content_delta":
        if (this.#open?.index !== event.index) fault(`a delta for block ${event.index}, which is not open`);
        if (event.delta === "") fault("an empty delta");
        this.#joined += event.delta;
        this.#deltas++;
        break;
      case "block_complete":
        if (this.#open?.index !== event.index) fault(`block ${event.index} completes and is not open`);
        this.#complete(this.#open, event.block);
        this.#blocks.push(event.block);
        this.#open = undefined;
        break;
      case "message_complete":
        if (this.#open) fault(`message_complete inside block ${this.#open.index}`);
        this.#finish(event);
        this.#ended = true;
    }
  }

  #complete(start: BlockStartEvent, block: ContentBlock): void {
    const was = start.blockType;
    // Text may turn out to be reasoning whose opening tag the template ate; nothing else changes its type.
    if (block.type !== was && !(was === "text" && block.type === "thinking")) {
      fault(`${was} completes as ${block.type}`);
    }
    switch (block.type) {
      case "text":
        if (block.text === "") fault("an empty text block");
        if (block.text !== this.#joined) fault("a text block that is not its deltas");
        break;
      case "thinking":
        if (block.text.trim() !== this.#joined.trim()) fault("a thinking block that is not its deltas");
        if (block.text === "" && !block.signature && block.redacted === undefined && block.details === undefined) {
          fault("a thinking block that holds nothing");
        }
        break;
      case "tool_use":
        if (block.name === "" || start.toolName === "") fault("a call without a name");
        checkInput(block.input, block.invalid ?? false);
        break;
      case "opaque":
        if (this.#deltas > 0) fault("a delta of an opaque block");
    }
  }

  #finish({ message, stopReason, usage }: MessageCompleteEvent): void {
    if (!STOP_REASONS.has(stopReason)) fault(`stopReason ${stopReason}`);
    if (message.role !== "assistant") fault(`a message of ${message.role}`);
    if (message.origin === undefined) fault("a message without origin");
    if (message.content.length !== this.#blocks.length) {
      fault(`${message.content.length} blocks in the message, ${this.#blocks.length} completed`);
    }
    const ids = new Set<string>();
    for (const [i, block] of message.content.entries()) {
      if (block.type !== this.#blocks[i]!.type) fault(`block ${i} of the message is ${block.type}`);
      if (block.type !== "tool_use") continue;
      if (!ID.test(block.id)) fault(`id ${JSON.stringify(block.id)}`);
      if (ids.has(block.id)) fault(`id ${block.id} twice in a message`);
      ids.add(block.id);
      checkInput(block.input, block.invalid ?? false);
    }
    const calls = ids.size > 0;
    if (stopReason === "tool_use" && !calls) fault("tool_use without calls");
    if (calls && !["tool_use", "max_tokens", "refusal"].includes(stopReason)) fault(`${stopReason} with calls`);
    for (const [name, tokens] of Object.entries(usage ?? {})) {
      if (!(typeof tokens === "number" && tokens >= 0)) fault(`usage.${name} is ${tokens}`);
    }
  }
}

/**
 * Checks the events of one reply and how it ended: exactly one terminal event, which is either the completed message or the error.
 *
 * @param error What was thrown, if anything was.
 */
export function checkReply(events: readonly StreamEvent[], error?: unknown): void {
  const grammar = new ReplyGrammar();
  for (const event of events) grammar.push(event);
  if (grammar.ended && error !== undefined) fault(`message_complete and an error: ${error}`);
  if (!grammar.ended && error === undefined) fault("neither message_complete nor an error");
}

/** Checks the events of a run: replies, and the tools between them. */
export function checkRun(events: readonly AgentEvent[], error?: unknown): void {
  let grammar = new ReplyGrammar();
  let started: string | undefined;
  for (const event of events) {
    if (event.type === "tool_start") {
      if (grammar.started) fault("tool_start inside a reply");
      if (started !== undefined) fault("tools side by side");
      started = event.call.id;
    } else if (event.type === "tool_result") {
      if (grammar.started) fault("tool_result inside a reply");
      if (started !== undefined && started !== event.call.id) fault("the result of another call");
      if (event.result.toolUseId !== event.call.id) fault("a result with another id than its call");
      started = undefined;
    } else {
      if (started !== undefined) fault(`${event.type} while a tool runs`);
      grammar.push(event);
      if (grammar.ended) grammar = new ReplyGrammar();
    }
  }
  if (error === undefined && grammar.started) fault("the run ends inside a reply");
}

/**
 * The same events with neighbouring deltas of one block joined: what two dialects, or two chunkings, must agree on.
 */
export function joinDeltas<T extends AgentEvent>(events: readonly T[]): T[] {
  const joined: T[] = [];
  for (const event of events) {
    const last = joined[joined.length - 1];
    if (event.type === "content_delta" && last?.type === "content_delta" && last.index === event.index) {
      joined[joined.length - 1] = { ...last, delta: last.delta + event.delta };
    } else joined.push(event);
  }
  return joined;
}

function checkInput(input: string, invalid: boolean): void {
  let value: unknown;
  try {
    value = JSON.parse(input);
  } catch {
    if (!invalid) fault(`the input of a call is no JSON and not marked invalid: ${input.slice(0, 80)}`);
    return;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject && !invalid) fault(`the input of a call is no object and not marked invalid: ${input.slice(0, 80)}`);
  if (isObject && invalid) fault(`the input of a call is an object and marked invalid: ${input.slice(0, 80)}`);
}

/** Vendor data is kept verbatim; the request that echoes it is repaired. */
const VERBATIM = new Set(["value", "details", "extra"]);

function wellFormed(value: unknown): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) fault(`a lone surrogate: ${JSON.stringify(value).slice(0, 80)}`);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) if (!VERBATIM.has(key)) wellFormed(inner);
  }
}

function fault(what: string): never {
  throw new Error(`The events are not legal: ${what}`);
}
