/**
 * The loop: one run of a conversation through a provider and tools.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { isPawlError, type PartialReply, type PawlError } from "../model/error.ts";
import type { AgentEvent, MessageCompleteEvent } from "../model/event.ts";
import type { Usage } from "../model/message.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { deliver, type Receiver } from "../provider/receiver.ts";
import { stripReasoning } from "../text/reasoning.ts";
import type { RunResult, RunSettings } from "./options.ts";
import { LONGEST_DELAY_MS, race } from "./call_tool.ts";
import { addUsage, estimateTokens, fault, judge, textOf } from "./reply.ts";
import { Round, type RoundContext } from "./round.ts";

/** Conversations that a run appends to at this moment. */
const IN_USE = new WeakSet<Conversation>();

/** Looks at a finished answer: a text asks the model once more, nothing accepts it. */
export type Review = (result: RunResult) => Promise<string | undefined>;

/**
 * One run. `next()` gives one part after another, requests and rounds of tools in turn; each event of a part is shown to `see()` and then
 * handed on. So the events pass through no generator of the loop's own: they cost what the provider's cost.
 */
export class Run {
  /** Set when `next()` gave its last part. */
  result!: RunResult;

  readonly #provider: Provider;
  readonly #options: RunSettings;
  readonly #context: RoundContext;
  readonly #conversation: Conversation;
  readonly #outer: AbortSignal | undefined;
  readonly #review: Review | undefined;
  readonly #perCall: StreamOptions;
  /** Stops the request and the tool that are under way: for the caller's abort and for the deadline. */
  readonly #stop = new AbortController();
  readonly #endsAt: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Read for each event, where the signal's own getter would be felt. */
  #stopped = false;
  #open = true;
  #blamed: { error: unknown } | undefined;

  #iterations = 0;
  #toolCalls = 0;
  readonly #usage: Usage = {};
  #spent = 0;

  #asked = false;
  #sent: Conversation;
  #reply: MessageCompleteEvent | undefined;
  /** What the reply that has just ended means: an error, or whether the run goes on behind it. */
  #verdict: PawlError | boolean = false;
  /** Text of the last message and of the paused turns right before it. */
  #text = "";
  /** Text of the paused turns right before the reply that is under way. */
  #paused = "";

  /** Calls in the conversation that have no result there yet. */
  #round: Round | undefined;
  #fingerprint = "";
  #repeats = 0;

  /**
   * @throws {TypeError} Another run uses the conversation.
   * @throws `signal.reason`, if it is aborted already: nothing is sent then.
   */
  constructor(
    provider: Provider,
    options: RunSettings,
    conversation: Conversation,
    signal?: AbortSignal,
    review?: Review,
  ) {
    signal?.throwIfAborted();
    if (IN_USE.has(conversation)) throw new TypeError("Cannot run the conversation: another run is using it");
    IN_USE.add(conversation);
    this.#provider = provider;
    this.#options = options;
    this.#context = {
      tools: new Map(options.tools.map((tool) => [tool.name, tool])),
      options,
      signal: this.#stop.signal,
      scrub: (text) => provider.scrub(text),
    };
    this.#conversation = this.#sent = conversation;
    this.#outer = signal;
    this.#review = review;
    const { deadlineMs = Infinity, tools, maxTokens, temperature, maxRetries } = options;
    this.#perCall = {
      signal: this.#stop.signal,
      ...(tools.length > 0 && { tools }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(maxRetries !== undefined && { maxRetries }),
    };
    signal?.addEventListener("abort", this.#onAbort);
    this.#endsAt = performance.now() + deadlineMs;
    if (deadlineMs < Infinity) {
      this.#timer = setTimeout(() => this.#expire(), Math.min(deadlineMs, LONGEST_DELAY_MS));
    }
  }

  /**
   * The next part of the run, in batches of events; `undefined` when it has its result.
   *
   * @throws Whatever ends the run.
   */
  async next(): Promise<AsyncIterable<AgentEvent[]> | undefined> {
    const { signal } = this.#stop;
    const { maxIterations, maxTotalTokens = Infinity, prepare, toolChoice } = this.#options;
    signal.throwIfAborted();
    if (this.#asked) {
      if (this.#reply === undefined) {
        throw fault("truncated", "Cannot use the reply: it ended without its message", true);
      }
      if (typeof this.#verdict !== "boolean") throw this.#verdict;
      const round = this.#round;
      if (round !== undefined) {
        if (!round.isAnswered) return round.answer(this.#context);
        this.#settle();
        this.#compare(round);
      }
      if (!this.#verdict) {
        this.result = this.#conclude(this.#reply);
        const question = this.#review && await race(this.#review(this.result), signal);
        if (question === undefined) return undefined;
        this.#conversation.addUserMessage(question);
      }
      if (this.#iterations >= maxIterations) {
        throw fault(
          "iteration_limit",
          `Cannot go on: the model has not finished after maxIterations (${maxIterations}) replies`,
        );
      }
    }
    if (this.#spent >= maxTotalTokens) {
      throw fault("budget", `Cannot go on: ${this.#spent} tokens are spent, maxTotalTokens is ${maxTotalTokens}`);
    }
    // A tool that blocks the thread holds up the timer too.
    if (performance.now() >= this.#endsAt) this.#expire();
    signal.throwIfAborted();
    const prepared = prepare && await race(prepare(this.#conversation, { signal }), signal);
    const forced = toolChoice !== undefined && (!this.#asked || toolChoice === "none") && { toolChoice };
    this.#asked = true;
    this.#reply = undefined;
    this.#sent = prepared || this.#conversation;
    return this.#provider.batches(this.#sent, { ...this.#perCall, ...forced });
  }

  /**
   * Must be shown each event right before it is handed on.
   *
   * @throws The reason, if the run was stopped while the caller held the event before.
   */
  see(event: AgentEvent): void {
    if (this.#stopped) throw this.#stop.signal.reason;
    if (event.type === "message_complete") this.#accept(event);
  }

  /** Hands an event to a receiver. What it throws is remembered as its own; an abort does not wait for its promise. */
  hand(receiver: Receiver, event: AgentEvent): Promise<void> | undefined {
    try {
      const waiting: PromiseLike<void> | void = deliver(receiver, event);
      // A callback written as one expression returns its value: that is nothing to wait for.
      if (typeof waiting?.then !== "function") return undefined;
      return race(Promise.resolve(waiting).catch((error) => this.#blame(error)), this.#stop.signal);
    } catch (error) {
      this.#blame(error);
    }
  }

  /** The receiver threw: the run ends with that, and `onError` is not told. */
  get isReceiverAtFault(): boolean {
    return this.#blamed !== undefined;
  }

  /** What a run that threw `error` must end with. The conversation is in order again when this returns. */
  fail(error: unknown): unknown {
    this.close();
    if (this.#blamed) return this.#blamed.error;
    const broken = isPawlError(error) ? error.partial as PartialReply | undefined : undefined;
    const thrown = this.#stopped ? this.#stop.signal.reason : error;
    // The caller's own reason is not ours to write on.
    if (isPawlError(thrown) && thrown !== this.#outer?.reason) {
      const isReply = broken !== undefined && broken.message.content.length > 0;
      addUsage(this.#usage, broken?.usage);
      thrown.partial = {
        text: this.#clean(isReply ? this.#paused + textOf(broken.message) : this.#text),
        ...(isReply && { message: broken.message }),
        conversation: this.#conversation,
        usage: this.#usage,
        iterations: this.#iterations,
        toolCalls: this.#toolCalls,
      };
    }
    return thrown;
  }

  /** Ends the run, also one that the caller leaves: no timer, no listener, and a result for each call. Idempotent. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
    this.#settle();
    IN_USE.delete(this.#conversation);
  }

  readonly #onAbort = (): void => this.#halt(this.#outer!.reason);

  #halt(reason: unknown): void {
    this.#stopped = true;
    this.#stop.abort(reason);
  }

  #expire(): void {
    const { deadlineMs } = this.#options;
    if (!this.#stopped) this.#halt(fault("budget", `Cannot go on: the run has taken deadlineMs (${deadlineMs} ms)`));
  }

  #blame(error: unknown): never {
    this.#blamed = { error };
    throw error;
  }

  #accept(reply: MessageCompleteEvent): void {
    const { message, usage = {}, stopReason } = reply;
    const calls = message.content.filter((block) => block.type === "tool_use");
    this.#reply = reply;
    this.#iterations++;
    addUsage(this.#usage, usage);
    if (this.#options.maxTotalTokens !== undefined) {
      this.#spent += (usage.inputTokens ?? estimateTokens(this.#sent.messages)) +
        (usage.outputTokens ?? estimateTokens([message]));
    }
    this.#text = this.#paused + textOf(message);
    const error = judge(reply, {
      calls: calls.length,
      text: this.#clean(this.#text),
      hasActed: this.#toolCalls > 0,
      maxTokens: this.#options.maxTokens ?? this.#provider.maxTokens,
    });
    if (error) {
      error.partial = { message };
      this.#verdict = error;
      return;
    }
    this.#conversation.addAssistantMessage(message);
    const isRefused = stopReason === "refusal";
    if (calls.length > 0) this.#round = new Round(calls, isRefused);
    this.#verdict = !isRefused && (calls.length > 0 || stopReason === "pause_turn");
    this.#paused = this.#verdict && calls.length === 0 ? this.#text : "";
  }

  #conclude({ message, stopReason }: MessageCompleteEvent): RunResult {
    return {
      text: this.#clean(this.#text),
      iterations: this.#iterations,
      toolCalls: this.#toolCalls,
      usage: this.#usage,
      stopReason,
      message,
      conversation: this.#conversation,
    };
  }

  #compare(round: Round): void {
    const { maxRepeats } = this.#options;
    if (maxRepeats === undefined) return;
    const { fingerprint } = round;
    this.#repeats = fingerprint === this.#fingerprint ? this.#repeats + 1 : 1;
    this.#fingerprint = fingerprint;
    if (this.#repeats < maxRepeats) return;
    throw fault("no_progress", `Cannot go on: maxRepeats (${maxRepeats}) rounds had the same calls and results`);
  }

  /** Appends the results of the newest message's calls. */
  #settle(): void {
    const round = this.#round;
    if (round === undefined) return;
    this.#round = undefined;
    this.#toolCalls += round.started;
    this.#conversation.addToolResults(round.settle());
  }

  /** With `auto` the provider has parted reasoning from text, and an answer may quote a tag. */
  #clean(text: string): string {
    return this.#provider.thinkTags === "off" ? stripReasoning(text) : text.trim();
  }
}
