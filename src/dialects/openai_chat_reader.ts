/**
 * Reads a reply of OpenAI's chat completions: finds what a delta says and which call a fragment belongs to.
 * @module
 */
import type { Usage } from "../model/message.ts";
import type { MessageSink } from "../provider/dialect.ts";
import {
  argumentsOf,
  type EventReader,
  extraOf,
  FinishWord,
  isObject,
  type Json,
  listOf,
  objectOf,
  rejectStranger,
  says,
  textOf,
} from "../provider/read.ts";

/** Where servers put reasoning; the first that is not empty counts, for some fill two (quirks O-20…O-22). */
export const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];
const TEXT = 1, THINKING = 2;

/** A call in the making; the object itself is its key. */
interface Call {
  /** The first id that came; later ones only find the call (quirk O-72). */
  id: string;
  name: string;
  index: unknown;
  /** Arguments have begun: the name is whole. */
  begun?: boolean;
  extra?: Json;
}

/** Reads one reply, event by event. */
export class ChatReader implements EventReader {
  readonly #sink: MessageSink;
  readonly #finish: FinishWord;
  readonly #byId = new Map<string, Call>();
  readonly #byIndex = new Map<unknown, Call>();
  #last: Call | undefined;
  /** Content has come in deltas. */
  #streamed = false;
  readonly #records: Json[] = [];

  /** @param sink Told what arrives. */
  constructor(sink: MessageSink) {
    this.#sink = sink;
    this.#finish = new FinishWord(sink);
  }

  take(chunk: Json): boolean {
    const sink = this.#sink;
    const choices = listOf(sink, chunk.choices, "choices");
    const usage = chunk.usage ?? (isObject(chunk.x_groq) ? chunk.x_groq.usage : undefined);
    if (choices.length === 0 && !isObject(usage)) rejectStranger(sink, this, chunk);
    sink.begin({ id: chunk.id, model: chunk.model, choice: choices.length > 0 });
    for (const entry of choices) {
      const choice = objectOf(sink, entry, "a choice") ?? {};
      if (says(choice.error)) sink.fail(choice);
      const delta = objectOf(sink, choice.delta, "delta");
      if (delta !== undefined) {
        this.#content(delta);
        this.#calls(delta);
      }
      const message = objectOf(sink, choice.message, "message");
      if (message !== undefined) this.#message(message);
      this.#finish.take(choice.finish_reason);
      this.#usage(choice.usage);
    }
    this.#usage(usage);
    return false;
  }

  isForeign({ type }: Json): boolean {
    return /^(message|content_block|response)/.test(textOf(type));
  }

  document(reply: Json): boolean {
    const { choices } = reply;
    const isWhole = Array.isArray(choices) && choices.every((choice) => !isObject(choice) || isObject(choice.message));
    if (isWhole) this.take(reply);
    return isWhole;
  }

  /** A whole message repeats what was streamed, or stands in place of deltas (quirks O-10, O-11). */
  #message(message: Json): void {
    if (!this.#streamed) {
      this.#content(message);
      this.#streamed = false;
    }
    if (this.#last === undefined) this.#calls(message);
  }

  #content(part: Json): void {
    const { content } = part;
    this.#reasoning(part);
    if (typeof content === "string") this.#text(content);
    else for (const piece of listOf(this.#sink, content, "content")) this.#piece(piece);
    const refusal = textOf(part.refusal);
    if (refusal !== "") this.#finish.plain = "refusal";
    this.#text(refusal);
  }

  #calls({ tool_calls, function_call }: Json): void {
    if (tool_calls) listOf(this.#sink, tool_calls, "tool_calls").forEach((call, i) => this.#call(call, i));
    if (function_call) this.#call({ index: 0, function: function_call }, 0);
  }

  #text(text: string): void {
    if (text === "") return;
    this.#streamed = true;
    this.#sink.text(TEXT, text);
  }

  #thinking(text: string, field?: string): void {
    if (text === "") return;
    this.#streamed = true;
    this.#sink.thinking(THINKING, text, field);
  }

  /** A part of content that is a list (quirk O-12). */
  #piece(piece: unknown): void {
    if (typeof piece === "string") return this.#text(piece);
    const { type, text, thinking } = objectOf(this.#sink, piece, "a part of content") ?? {};
    if (type === "text") this.#text(textOf(text));
    else if (type === "thinking") {
      this.#thinking([thinking].flat().map((part) => textOf(isObject(part) ? part.text : part)).join(""));
    }
  }

  #reasoning(part: Json): void {
    const field = REASONING_FIELDS.find((name) => textOf(part[name]) !== "");
    if (field !== undefined) this.#thinking(textOf(part[field]), field);
    const records = part.reasoning_details;
    if (!Array.isArray(records) || records.length === 0) return;
    for (const record of records.filter(isObject)) {
      if (field === undefined) this.#thinking(textOf(record.text) || textOf(record.summary));
      this.#record(record);
    }
    this.#sink.details(THINKING, this.#records);
  }

  /** Joins the pieces of a streamed record, so that it goes back as one (rule R-12). */
  #record(record: Json): void {
    const last = this.#records[this.#records.length - 1];
    if (last === undefined || last.index !== record.index || last.type !== record.type || record.data !== undefined) {
      this.#records.push(record);
      return;
    }
    const text = textOf(last.text) + textOf(record.text), summary = textOf(last.summary) + textOf(record.summary);
    Object.assign(last, record, text && { text }, summary && { summary });
  }

  /** A fragment of a call (quirks O-50…O-80). */
  #call(value: unknown, position: number): void {
    const sink = this.#sink;
    const about = objectOf(sink, value, "a call");
    if (about === undefined) return;
    if (about.type === "custom" || about.custom) sink.unsupported("its tool is a custom one");
    const called = objectOf(sink, about.function, "function") ?? about;
    const id = textOf(about.id), name = textOf(called.name), input = argumentsOf(sink, called.arguments);
    const index = Number.isSafeInteger(about.index) ? about.index : undefined;
    const found = this.#find(id, name, input, index, position);
    // A phantom behind the last call (quirk O-78).
    if (!found && !id && !name && !input.trim()) return;
    const call = found ?? { id: "", name: "", index };
    if (!found && index !== undefined) this.#byIndex.set(index, call);
    if (id && (!found || !this.#byId.has(id))) this.#byId.set(id, call);
    this.#last = call;

    let isNews = !found;
    if (id && !call.id) {
      call.id = id;
      isNews = true;
    }
    const longer = name.startsWith(call.name)
      ? name
      : call.begun || call.name.length > 255
      ? call.name
      : call.name + name;
    if (longer !== call.name) {
      call.name = longer;
      isNews = true;
    }
    const extra = call.extra ? undefined : extraOf(about);
    if (extra) {
      call.extra = extra;
      isNews = true;
    }
    if (isNews) sink.call(call, call);
    call.begun ||= input.trim() !== "";
    sink.input(call, input);
  }

  /** The call that a fragment continues; `undefined` if it begins one. */
  #find(id: string, name: string, input: string, index: unknown, position: number): Call | undefined {
    const at = index === undefined ? undefined : this.#byIndex.get(index);
    const known = id ? at?.id === id ? at : this.#byId.get(id) : undefined;
    const call = known ?? at ?? (index === undefined || (!id && !name) ? this.#last : undefined);
    if (call === undefined) return undefined;
    const complete = this.#sink.inputComplete(call);
    const elsewhere = index !== undefined && index !== call.index;
    const another = name !== call.name;
    const begins = known
      ? elsewhere && name && (complete || another)
      : !name
      ? complete && input && (index === undefined ? id : elsewhere)
      : complete
      // Some repeat the name in a last fragment without arguments (quirk O-61).
      ? id || another || input
      : (id && call.id && another) || (index === undefined && position > 0);
    return begins ? undefined : call;
  }

  #usage(usage: unknown): void {
    if (!isObject(usage)) return;
    const { prompt_tokens_details: input, completion_tokens_details: output } = usage;
    const report: Record<keyof Usage, unknown> = {
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      cachedInputTokens: isObject(input) ? input.cached_tokens : usage.prompt_cache_hit_tokens,
      reasoningTokens: isObject(output) ? output.reasoning_tokens : undefined,
    };
    this.#sink.usage(report as Usage);
  }
}
