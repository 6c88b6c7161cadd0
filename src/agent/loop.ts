/**
 * The loop: one run of a conversation through a provider and tools.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { isPawlError, type PartialReply, type PawlError } from "../model/error.ts";
import type { AgentEvent, MessageCompleteEvent } from "../model/event.ts";
import type { Usage } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import { estimateTokens } from "../provider/warnings.ts";
import { LONGEST_DELAY_MS, race } from "./call_tool.ts";
import type { RunResult, RunSettings } from "./options.ts";
import { addUsage, cleanText, fault, judge, textOf } from "./reply.ts";
import { Round } from "./round.ts";

/** Conversations that a run appends to at this moment. */
const IN_USE = new WeakSet<Conversation>();

/** What is run. */
export interface Task {
  conversation: Conversation;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Looks at a finished answer: a text asks the model once more, nothing accepts it. */
  review?: ((result: RunResult) => Promise<string | undefined>) | undefined;
}

/** A stretch of a run: a reply, or the answers to its calls. */
export interface Stretch {
  /** Batches of events, as the provider groups them. */
  batches: AsyncIterable<AgentEvent[]>;
  /** Must be told of a completed message right before the caller is. */
  accept?(event: MessageCompleteEvent): void;
}

/**
 * Runs a conversation until the model has answered: a reply, the results of its calls, the next reply.
 *
 * It gives stretches, not events, so that the events pass through one generator only, the caller's. What a stretch throws must be
 * thrown into it: it then has the conversation in order and throws what the run ends with.
 *
 * @throws {TypeError} Another run uses the conversation.
 */
export async function* stretches(
  provider: Provider,
  settings: RunSettings,
  { conversation, signal: outer, review }: Task,
): AsyncGenerator<Stretch, RunResult, undefined> {
  outer?.throwIfAborted();
  if (IN_USE.has(conversation)) throw new TypeError("Cannot run the conversation: another run is using it");
  IN_USE.add(conversation);
  const { deadlineMs = Infinity, maxIterations, maxRepeats, maxTotalTokens = Infinity, prepare, toolChoice, ...call } =
    settings;
  const usage: Usage = {};
  let iterations = 0, toolCalls = 0, spent = 0;
  /** Text of the last message, and of the paused turns before it. */
  let text = "";
  /** Text of the paused turns right before the reply that is under way. */
  let paused = "";
  /** Calls in the conversation that have no result there yet. */
  let round: Round | undefined;
  let fingerprint = "", repeats = 0;

  // One signal for whatever is under way: the caller's abort and the deadline end it alike.
  const stop = new AbortController();
  const { signal } = stop;
  const endsAt = performance.now() + deadlineMs;
  function forward(): void {
    stop.abort(outer?.reason);
  }
  function expire(): void {
    stop.abort(fault("budget", `Cannot go on: the run has taken deadlineMs (${deadlineMs} ms)`));
  }
  function settle(): void {
    if (!round) return;
    conversation.addToolResults(round.settle());
    toolCalls += round.started;
    round = undefined;
  }
  outer?.addEventListener("abort", forward);
  const timer = deadlineMs < Infinity ? setTimeout(expire, Math.min(deadlineMs, LONGEST_DELAY_MS)) : undefined;

  try {
    for (;;) {
      if (iterations >= maxIterations) {
        throw fault("iteration_limit", `Cannot go on: no answer after maxIterations (${maxIterations}) replies`);
      }
      if (spent >= maxTotalTokens) {
        throw fault("budget", `Cannot go on: ${spent} tokens are spent, maxTotalTokens is ${maxTotalTokens}`);
      }
      // A tool that blocks the thread holds up the timer too.
      if (performance.now() >= endsAt) expire();
      signal.throwIfAborted();
      const sent = prepare && await race(prepare(conversation, { signal }), signal) || conversation;
      const isForced = toolChoice !== undefined && (iterations === 0 || toolChoice === "none");

      let reply = undefined as MessageCompleteEvent | undefined;
      let error: PawlError | undefined;
      yield {
        batches: provider.batches(sent, { ...call, signal, ...(isForced && { toolChoice }) }),
        accept(complete) {
          reply = complete;
          const { message } = reply;
          const calls = message.content.filter((block) => block.type === "tool_use");
          iterations++;
          addUsage(usage, reply.usage);
          spent += reply.usage?.inputTokens ?? estimateTokens(sent.messages);
          spent += reply.usage?.outputTokens ?? estimateTokens([message]);
          text = paused + textOf(message);
          error = judge(reply, {
            calls: calls.length,
            isAnswer: toolCalls > 0 || cleanText(provider, text) !== "",
            maxTokens: call.maxTokens ?? provider.maxTokens,
          });
          if (error) return;
          conversation.addAssistantMessage(message);
          if (calls.length > 0) round = new Round(calls);
        },
      };
      signal.throwIfAborted();
      if (!reply) throw fault("truncated", "Cannot use the reply: it ended without its message", true);
      const { message, stopReason } = reply;
      if (error) {
        error.partial = { message };
        throw error;
      }
      const isRefused = stopReason === "refusal";
      const goesOn = !isRefused && (round !== undefined || stopReason === "pause_turn");
      paused = "";
      if (round) {
        yield { batches: round.answer(provider, settings, { signal, isRefused }) };
        const seen = maxRepeats ? round.fingerprint : "";
        settle();
        repeats = seen === fingerprint ? repeats + 1 : 1;
        fingerprint = seen;
        if (repeats === maxRepeats) {
          throw fault("no_progress", `Cannot go on: maxRepeats (${maxRepeats}) rounds had the same calls and results`);
        }
      } else if (goesOn) paused = text;
      if (goesOn) continue;
      const result: RunResult = {
        text: cleanText(provider, text),
        iterations,
        toolCalls,
        usage,
        stopReason,
        message,
        conversation,
      };
      const question = review && await race(review(result), signal);
      if (question === undefined) return result;
      conversation.addUserMessage(question);
    }
  } catch (caught) {
    settle();
    const broken = isPawlError(caught) ? caught.partial as PartialReply | undefined : undefined;
    const thrown = signal.aborted ? signal.reason : caught;
    // The caller's own reason is not ours to write on.
    if (isPawlError(thrown) && thrown !== outer?.reason) {
      const message = broken?.message.content.length ? broken.message : undefined;
      addUsage(usage, broken?.usage);
      thrown.partial = {
        text: cleanText(provider, message ? paused + textOf(message) : text),
        ...(message && { message }),
        conversation,
        usage,
        iterations,
        toolCalls,
      };
    }
    throw thrown;
  } finally {
    settle();
    clearTimeout(timer);
    outer?.removeEventListener("abort", forward);
    IN_USE.delete(conversation);
  }
}

/** The same as batches of events, for a receiver. */
export async function* batchesOf(
  run: AsyncGenerator<Stretch, RunResult, undefined>,
): AsyncGenerator<AgentEvent[], RunResult, undefined> {
  try {
    for (;;) {
      const { value, done } = await run.next();
      if (done) return value;
      for await (const batch of value.batches) {
        const last = batch[batch.length - 1];
        if (last?.type === "message_complete") value.accept?.(last);
        yield batch;
      }
    }
  } catch (error) {
    throw await run.throw(error);
  } finally {
    await run.return(undefined as never);
  }
}
