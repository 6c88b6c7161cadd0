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
import { callTool, checkCall, failure, resultOf, startTimer } from "./call_tool.ts";
import type { RunResult, RunSettings } from "./options.ts";
import { addUsage, cleanText, fault, judge, textOf } from "./reply.ts";

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
  const tools = new Map(call.tools.map((tool) => [tool.name, tool]));
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
    stop.abort(fault("budget", `the run has taken deadlineMs (${deadlineMs} ms)`));
  }
  outer?.addEventListener("abort", forward);
  const timer = startTimer(deadlineMs, expire);

  /** Takes a completed message over, unless it amounts to an error. */
  function accept(reply: MessageCompleteEvent, sent: Conversation): PawlError | undefined {
    const { message } = reply;
    const asked = message.content.filter((block) => block.type === "tool_use");
    iterations++;
    addUsage(usage, reply.usage);
    spent += reply.usage?.inputTokens ?? estimateTokens(sent.messages);
    spent += reply.usage?.outputTokens ?? estimateTokens([message]);
    text = paused + textOf(message);
    const error = judge(reply, {
      calls: asked.length,
      isAnswer: toolCalls > 0 || cleanText(provider, text) !== "",
      maxTokens: call.maxTokens ?? provider.maxTokens,
    });
    if (error) error.partial = { message };
    else {
      conversation.addAssistantMessage(message);
      calls = asked;
    }
    return error;
  }

  /** Answers the calls in order. A tool that fails is an answer; what `decide` throws ends the run. */
  async function* answer(isRefused: boolean): AsyncGenerator<AgentEvent[], void, undefined> {
    for (const call of calls) {
      let ready = isRefused ? "not run: the reply is a refusal" : checkCall(call, tools);
      if (decide && typeof ready !== "string") ready = denial(await race(decide(call, { signal }), signal)) ?? ready;
      let outcome;
      if (typeof ready === "string") outcome = failure(ready);
      else {
        yield [{ type: "tool_start", call }];
        signal.throwIfAborted();
        isRunning = true;
        toolCalls++;
        outcome = await callTool(ready, call, { signal, timeoutMs: ready.tool.timeoutMs ?? settings.toolTimeoutMs });
      }
      const result = resultOf(call, outcome, settings.maxToolResultChars, provider);
      results.push(result);
      isRunning = false;
      yield [{ type: "tool_result", call, result }];
    }
  }

  /** Gives the conversation all results; a call that has none yet gets the truth about it. */
  function settle(): void {
    for (const { id } of calls.slice(results.length)) {
      const why = isRunning ? "interrupted while running, it may have taken effect" : "not run: interrupted";
      isRunning = false;
      results.push({ type: "tool_result", toolUseId: id, ...failure(why) });
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
      if (iterations >= maxIterations) {
        throw fault("iteration_limit", `no answer after maxIterations (${maxIterations}) replies`);
      }
      if (spent >= maxTotalTokens) {
        throw fault("budget", `${spent} tokens are spent, maxTotalTokens is ${maxTotalTokens}`);
      }
      // A tool that blocks the thread holds up the timer too.
      if (performance.now() >= endsAt) expire();
      signal.throwIfAborted();
      const sent = prepare && await race(prepare(conversation, { signal }), signal) || conversation;
      const isForced = iterations === 0 || toolChoice === "none";

      let reply: MessageCompleteEvent | undefined;
      let error: PawlError | undefined;
      for await (
        const batch of provider.batches(sent, { ...call, signal, toolChoice: isForced ? toolChoice : undefined })
      ) {
        const last = batch[batch.length - 1];
        if (last?.type !== "message_complete") yield batch;
        else {
          if (batch.length > 1) yield batch.slice(0, -1);
          reply = last;
          error = accept(last, sent);
          yield [last];
        }
      }
      signal.throwIfAborted();
      if (error) throw error;
      if (!reply) throw fault("truncated", "the reply has no end", true);
      const { message, stopReason } = reply;
      const isRefused = stopReason === "refusal";
      const goesOn = !isRefused && (calls.length > 0 || stopReason === "pause_turn");
      paused = goesOn && calls.length === 0 ? text : "";
      if (calls.length > 0) {
        yield* answer(isRefused);
        const seen = JSON.stringify(calls.map(({ name, input }, i) => [name, input, results[i]?.content]));
        settle();
        repeats = seen === fingerprint ? repeats + 1 : 1;
        fingerprint = seen;
        if (repeats === maxRepeats) {
          throw fault("no_progress", `maxRepeats (${maxRepeats}) rounds had the same calls and results`);
        }
      }
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
  const { allow, reason } = (decision ?? {}) as { allow?: unknown; reason?: unknown };
  if (allow === true) return undefined;
  return typeof reason === "string" && reason !== "" ? `denied: ${reason}` : "denied";
}
