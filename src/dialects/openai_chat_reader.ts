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
const CALL_KEYS: ReadonlySet<string> = new Set(["index", "id", "type", "function", "custom", "name", "arguments"]);
const TEXT = 1, THINKING = 2, CALLS = 4;

/** A call in the making; the object itself is its key. */
interface Call {
  /** The first id that came; later ones only find the call (quirk O-72). */
  id: string;
  name: string;
  index: unknown;
  /** Arguments have begun: the name is whole. */
  begun: boolean;
  extra?: Json;
}

/** Reads one reply, event by event. */
export class ChatReader implements EventReader {
  readonly #sink: MessageSink;
  readonly #finish: FinishWord;
  readonly #byId = new Map<string, Call>();
  readonly #byIndex = new Map<unknown, Call>();
  #last: Call | undefined;
  /** Kinds of content that came in deltas. */
  #streamed = 0;
  /** Kind of the newest block. */
  #kind = 0;
  #details: Json[] = [];
  /** There is reasoning to which records can belong. */
  #thought = false;

  /** @param sink Told what arrives. */
  constructor(sink: MessageSink) {
    this.#sink = sink;
    this.#finish = new FinishWord(sink);
  }

  take(chunk: Json): boolean {
    const sink = this.#sink;
    const choices = listOf(sink, chunk.choices, "choices");
    const usage = chunk.usage ?? (isObject(chunk.x_groq) ? chunk.x_groq.usage : undefined);
    if (choices.length === 0 && !isObject(usage)) rejectStranger(sink, chunk);
    sink.begin({ id: chunk.id, model: chunk.model, choice: choices.length > 0 });
    for (const entry of choices) {
      const choice = objectOf(sink, entry, "a choice");
      if (choice === undefined) continue;
      if (says(choice.error)) sink.fail(choice);
      const delta = objectOf(sink, choice.delta, "delta");
      if (delta !== undefined) this.#streamed |= this.#content(delta, 0);
      // A whole message repeats what was streamed, or is all there is (quirks O-10, O-11).
      const message = objectOf(sink, choice.message, "message");
      if (message !== undefined) this.#content(message, this.#streamed);
      this.#finish.take(choice.finish_reason);
      this.#usage(choice.usage);
    }
    this.#usage(usage);
    return false;
  }

  done(): boolean {
    if (this.#finish.reason === undefined && this.#finish.plain !== "end_turn") this.#sink.stop(this.#finish.plain);
    return true;
  }

  document(reply: Json): boolean {
    const { choices } = reply;
    if (!Array.isArray(choices) || choices.some((choice) => isObject(choice) && !isObject(choice.message))) {
      return false;
    }
    this.take(reply);
    return true;
  }

  /** Reads a delta or a whole message without the kinds in `skip`; returns the kinds that it held. */
  #content(part: Json, skip: number): number {
    let held = skip === 0 ? this.#reasoning(part) : 0;
    const { content } = part;
    if ((skip & TEXT) === 0) {
      if (typeof content === "string") held |= this.#text(content);
      else for (const piece of listOf(this.#sink, content, "content")) held |= this.#piece(piece);
      const refusal = textOf(part.refusal);
      if (refusal !== "") {
        this.#finish.plain = "refusal";
        held |= this.#text(refusal);
      }
    }
    if ((skip & CALLS) === 0) {
      if (part.tool_calls) {
        listOf(this.#sink, part.tool_calls, "tool_calls").forEach((call, position) => {
          held |= this.#call(call, position);
        });
      }
      if (part.function_call) held |= this.#call({ index: 0, function: part.function_call }, 0);
    }
    return held;
  }

  #text(text: string): number {
    if (text === "") return 0;
    this.#sink.text(TEXT, text);
    return this.#kind = TEXT;
  }

  #thinking(text: string, field?: string): number {
    if (text === "") return 0;
    // Records belong to one block; those of the next begin anew.
    if (this.#kind !== THINKING) this.#details = [];
    this.#thought = true;
    this.#sink.thinking(THINKING, text, field);
    return this.#kind = THINKING;
  }

  /** A part of content that is a list (quirk O-12). */
  #piece(piece: unknown): number {
    if (typeof piece === "string") return this.#text(piece);
    if (!isObject(piece)) return 0;
    const { type, text, thinking } = piece;
    if (type === "text") return this.#text(textOf(text));
    if (type !== "thinking") return 0;
    return this.#thinking([thinking].flat().map((part) => textOf(isObject(part) ? part.text : part)).join(""));
  }

  #reasoning(part: Json): number {
    let held = 0;
    for (const field of REASONING_FIELDS) {
      const text = part[field];
      if (typeof text !== "string" || text === "") continue;
      held = this.#thinking(text, field);
      break;
    }
    const records = part.reasoning_details;
    if (Array.isArray(records) && records.length > 0) {
      for (const record of records) {
        if (!isObject(record)) continue;
        if ((held & THINKING) === 0) this.#thinking(textOf(record.text) || textOf(record.summary));
        this.#record(record);
      }
      if (!this.#thought) this.#kind = THINKING;
      this.#thought = true;
      this.#sink.details(THINKING, this.#details);
      held |= THINKING;
    }
    return held;
  }

  /** Joins the pieces of a streamed record, so that it goes back as one (rule R-12). */
  #record(record: Json): void {
    const last = this.#details[this.#details.length - 1];
    if (last === undefined || last.index !== record.index || last.type !== record.type || record.data !== undefined) {
      this.#details.push(record);
      return;
    }
    const text = textOf(last.text) + textOf(record.text), summary = textOf(last.summary) + textOf(record.summary);
    Object.assign(last, record, text && { text }, summary && { summary });
  }

  /** A fragment of a call (quirks O-50…O-80). */
  #call(value: unknown, position: number): number {
    const sink = this.#sink;
    const about = objectOf(sink, value, "a tool call");
    if (about === undefined) return 0;
    if (about.type === "custom" || about.custom) {
      sink.unsupported("its tool is a custom one, which pawl never declares");
    }
    const called = objectOf(sink, about.function, "function") ?? about;
    const id = textOf(about.id), name = textOf(called.name), input = argumentsOf(sink, called.arguments);
    const index = Number.isSafeInteger(about.index) ? about.index : undefined;

    let call = this.#find(id, name, input, index, position);
    const isNew = call === undefined;
    // A phantom behind the last call (quirk O-78).
    if (isNew && id === "" && name === "" && input.trim() === "") return 0;
    call ??= { id: "", name: "", index, begun: false };
    if (isNew && index !== undefined) this.#byIndex.set(index, call);
    if (id !== "" && (isNew || !this.#byId.has(id))) this.#byId.set(id, call);
    this.#last = call;

    const before = call.name, extra = call.extra ?? extraOf(about, CALL_KEYS);
    if (name.startsWith(before)) call.name = name;
    else if (!call.begun && before.length < 256) call.name += name;
    if (isNew || (call.id === "" && id !== "") || call.name !== before || extra !== call.extra) {
      call.id ||= id;
      sink.call(call, { id: call.id, name: call.name, ...(extra && { extra: call.extra = extra }) });
    }
    if (input !== "") {
      call.begun ||= input.trim() !== "";
      sink.input(call, input);
    }
    return this.#kind = CALLS;
  }

  /** The call that a fragment continues; `undefined` if it begins one. */
  #find(id: string, name: string, input: string, index: unknown, position: number): Call | undefined {
    const at = index === undefined ? undefined : this.#byIndex.get(index);
    const known = id === "" ? undefined : at?.id === id ? at : this.#byId.get(id);
    const call = known ?? at ?? (index === undefined || (id === "" && name === "") ? this.#last : undefined);
    if (call === undefined) return undefined;
    const complete = this.#sink.inputComplete(call);
    const elsewhere = index !== undefined && index !== call.index;
    let begins: boolean;
    if (known) begins = elsewhere && name !== "" && (complete || name !== call.name);
    else if (name === "") begins = complete && input !== "" && (index === undefined ? id !== "" : elsewhere);
    // Some repeat the name in a last fragment without arguments (quirk O-61).
    else if (complete) begins = id !== "" || name !== call.name || input !== "";
    else begins = (id !== "" && call.id !== "" && name !== call.name) || (index === undefined && position > 0);
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
