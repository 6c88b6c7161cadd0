/**
 * The loop: one run of a conversation through a provider and tools.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { isPawlError, type PartialReply, type PartialRun, type PawlError } from "../model/error.ts";
import type { AgentEvent, MessageCompleteEvent } from "../model/event.ts";
import type { ToolResultBlock, ToolUseBlock, Usage } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import { race } from "../provider/receiver.ts";
import { estimateTokens } from "../provider/warnings.ts";
import { callTool, checkCall, cutMiddle, failure, type Outcome, startTimer } from "./call_tool.ts";
import type { RunResult, RunSettings } from "./options.ts";
import { addUsage, cleanText, fault, reached, textOf } from "./reply.ts";

/** Conversations that a run appends to at this moment. */
const IN_USE = new WeakSet<Conversation>();

/** More calls in one reply are refused whole: rounds are bounded, and so is the work of one round (rig). */
const MAX_CALLS = 32;
/** The smallest prompt that can fill a context of today; below it a reply of no tokens is just empty (quirk O-42). */
const FULL_PROMPT_TOKENS = 2048;

/** What is run. */
export interface Task {
  conversation: Conversation;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Looks at a finished answer: a text asks the model once more, nothing accepts it. */
  review?: ((result: RunResult) => Promise<string | undefined>) | undefined;
}

/**
 * Runs a conversation until the model has answered: a reply, the results of its calls, the next reply.
 *
 * @returns Events as the provider groups them, but a completed message alone: it is in the conversation by then.
 * @throws {TypeError} Another run uses the conversation.
 */
export async function* loop(
  provider: Provider,
  settings: RunSettings,
  { conversation, signal: outer, review }: Task,
): AsyncGenerator<AgentEvent[], RunResult, undefined> {
  outer?.throwIfAborted();
  if (IN_USE.has(conversation)) throw new TypeError("Cannot run the conversation: another run is using it");
  IN_USE.add(conversation);
  const { deadlineMs, maxIterations, maxRepeats, maxTotalTokens = Infinity, prepare, decide, toolChoice, ...call } =
    settings;
  const usage: Usage = {};
  let iterations = 0, toolCalls = 0, spent = 0;
  /** Text of the last message, and of the paused turns before it. */
  let text = "";
  /** Text of the paused turns right before the reply that is under way. */
  let paused = "";
  /** Calls that have no results in the conversation yet, and the results of the first of them. */
  let calls: ToolUseBlock[] = [], results: ToolResultBlock[] = [];
  let isRunning = false;
  let fingerprint = "", repeats = 0;

  // One signal for whatever is under way: the caller's abort and the deadline end it alike.
  const stop = new AbortController();
  const { signal } = stop;
  const endsAt = performance.now() + (deadlineMs ?? Infinity);
  function forward(): void {
    stop.abort(outer?.reason);
  }
  function expire(): void {
    stop.abort(reached("budget", "deadlineMs", deadlineMs));
  }
  outer?.addEventListener("abort", forward);
  const timer = startTimer(deadlineMs, expire);

  /**
   * Takes a completed message over, unless it amounts to an error. The order of the checks is the contract's: length, refusal, calls,
   * pause, end.
   */
  function accept({ message, stopReason, ...told }: MessageCompleteEvent, sent: Conversation): PawlError | undefined {
    const { inputTokens, outputTokens } = told.usage ?? {};
    const asked = message.content.filter((block) => block.type === "tool_use");
    iterations++;
    addUsage(usage, told.usage);
    spent += (inputTokens ?? estimateTokens(sent.messages)) + (outputTokens ?? estimateTokens([message]));
    text = paused + textOf(message);
    const isCut = stopReason === "max_tokens";
    const isSilent = message.content.length === 0 && outputTokens === 0;
    if (isCut && !isSilent && told.rawStopReason !== "model_context_window_exceeded") {
      return reached("output_limit", "maxTokens", call.maxTokens ?? provider.maxTokens);
    }
    if (stopReason !== "refusal") {
      if (isCut || (isSilent && inputTokens! >= FULL_PROMPT_TOKENS)) {
        return fault("context_overflow", "the model's context is full");
      }
      if (asked.length > MAX_CALLS) {
        return fault("iteration_limit", `there are ${asked.length} calls, the cap is ${MAX_CALLS}`);
      }
      // Once a tool has run, nothing more to say is an answer (quirk A-23).
      if (asked.length + toolCalls === 0 && stopReason !== "pause_turn" && cleanText(provider, text) === "") {
        return fault("empty_reply", "the reply is empty", true);
      }
    }
    conversation.addAssistantMessage(message);
    calls = asked;
    return undefined;
  }

  function resultOf({ id }: ToolUseBlock, outcome: Outcome): ToolResultBlock {
    // Secrets go before the cut could leave half of one (rule R-45).
    const content = cutMiddle(provider.scrub(outcome.content), settings.maxToolResultChars) || "(no output)";
    return { type: "tool_result", toolUseId: id, ...outcome, content };
  }

  /** Answers the calls in order. A tool that fails is an answer; what `decide` throws ends the run. */
  async function* answer(isRefused: boolean): AsyncGenerator<AgentEvent[], void, undefined> {
    for (const call of calls) {
      let ready = isRefused ? "not run: the reply is a refusal" : checkCall(call, settings.tools);
      if (decide && typeof ready !== "string") ready = denial(await race(decide(call, { signal }), signal)) ?? ready;
      let outcome = failure(ready as string);
      if (typeof ready !== "string") {
        yield [{ type: "tool_start", call }];
        signal.throwIfAborted();
        isRunning = true;
        toolCalls++;
        outcome = await callTool(ready, call, { signal, timeoutMs: ready.tool.timeoutMs ?? settings.toolTimeoutMs });
      }
      const result = resultOf(call, outcome);
      results.push(result);
      isRunning = false;
      yield [{ type: "tool_result", call, result }];
    }
  }

  /** Gives the conversation all results; a call that has none yet gets the truth about it. */
  function settle(): void {
    for (const call of calls.slice(results.length)) {
      const why = isRunning ? "interrupted while running, it may have taken effect" : "not run: interrupted";
      isRunning = false;
      results.push(resultOf(call, failure(why)));
    }
    if (calls.length > 0) conversation.addToolResults(results);
    calls = [];
    results = [];
  }

  function soFar(text: string): Omit<PartialRun, "message"> {
    return { text: cleanText(provider, text), iterations, toolCalls, usage, conversation };
  }

  try {
    for (;;) {
      if (iterations >= maxIterations) throw reached("iteration_limit", "maxIterations", maxIterations);
      if (spent >= maxTotalTokens) throw reached("budget", "maxTotalTokens", maxTotalTokens);
      // A tool that blocks the thread holds up the timer too.
      if (performance.now() >= endsAt) expire();
      signal.throwIfAborted();
      const sent = prepare && await race(prepare(conversation, { signal }), signal) || conversation;
      const isForced = iterations === 0 || toolChoice === "none";

      let reply: MessageCompleteEvent | undefined;
      let error: PawlError | undefined;
      const options = { ...call, signal, toolChoice: isForced ? toolChoice : undefined };
      for await (const batch of provider.batches(sent, options)) {
        const last = batch[batch.length - 1];
        if (last?.type !== "message_complete") yield batch;
        else {
          if (batch.length > 1) yield batch.slice(0, -1);
          error = accept(reply = last, sent);
          yield [last];
        }
      }
      signal.throwIfAborted();
      if (!reply) throw fault("truncated", "the reply has no end", true);
      const { message, stopReason } = reply;
      if (error) throw Object.assign(error, { partial: { message } });
      const isRefused = stopReason === "refusal";
      const goesOn = !isRefused && (calls.length > 0 || stopReason === "pause_turn");
      paused = "";
      if (calls.length > 0) {
        yield* answer(isRefused);
        const seen = JSON.stringify(calls.map(({ name, input }, i) => [name, input, results[i]?.content]));
        settle();
        repeats = seen === fingerprint ? repeats + 1 : 1;
        fingerprint = seen;
        if (repeats === maxRepeats) throw reached("no_progress", "maxRepeats", maxRepeats);
      } else if (goesOn) paused = text;
      if (goesOn) continue;
      const result: RunResult = { ...soFar(text), stopReason, message };
      const question = review && await race(review(result), signal);
      if (question === undefined) return result;
      conversation.addUserMessage(question);
    }
  } catch (caught) {
    settle();
    const thrown = signal.aborted ? signal.reason : caught;
    // The caller's own reason is not ours to write on.
    if (isPawlError(thrown) && thrown !== outer?.reason) {
      const broken = isPawlError(caught) ? caught.partial as PartialReply | undefined : undefined;
      const message = broken?.message.content.length ? broken.message : undefined;
      addUsage(usage, broken?.usage);
      thrown.partial = { ...soFar(message ? paused + textOf(message) : text), message };
    }
    throw thrown;
  } finally {
    settle();
    clearTimeout(timer);
    outer?.removeEventListener("abort", forward);
    IN_USE.delete(conversation);
  }
}

/** Why a call may not run. Only a plain yes allows: `decide` is the caller's code and may return anything. */
function denial(decision: unknown): string | undefined {
  const { allow, reason } = Object(decision);
  if (allow === true) return undefined;
  return typeof reason === "string" && reason !== "" ? `denied: ${reason}` : "denied";
}
