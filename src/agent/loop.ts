/**
 * The loop: one run of a conversation through a provider and tools.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import { isPawlError, type PartialReply, type PartialRun, type PawlError, type PawlErrorCode } from "../model/error.ts";
import type { AgentEvent, MessageCompleteEvent, StreamEvent } from "../model/event.ts";
import type { ToolResultBlock, ToolUseBlock, Usage } from "../model/message.ts";
import { truncated } from "../provider/failure.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { createSpan, race } from "../provider/receiver.ts";
import { estimateTokens } from "../provider/warnings.ts";
import { stripReasoning } from "../text/reasoning.ts";
import { checkCall, cutMiddle } from "./call_tool.ts";
import { addUsage, fault, type RunResult, type RunSettings, textOf } from "./options.ts";

/** Conversations that a run appends to at this moment. */
const IN_USE = new WeakSet<Conversation>();

/** More calls in one reply are refused whole: rounds are bounded, and so is the work of one round (rig). */
const MAX_CALLS = 32;
/** The smallest prompt that can fill a context of today; below it a reply of no tokens is just empty (quirk O-42). */
const FULL_PROMPT_TOKENS = 2048;

type Bound = "maxIterations" | "maxTotalTokens" | "maxRepeats" | "maxTokens" | "deadlineMs";

/**
 * Runs a conversation until the model has answered: a reply, the results of its calls, the next reply.
 *
 * @param outer Ends the run.
 * @param review Looks at a finished answer: a text asks the model once more, nothing accepts it.
 * @returns Events as the provider groups them, but a completed message alone: it is in the conversation by then.
 * @throws {TypeError} Another run uses the conversation.
 */
export function loop(
  provider: Provider,
  settings: RunSettings,
  conversation: Conversation,
  outer?: AbortSignal,
  review?: (result: RunResult) => Promise<string | undefined>,
): AsyncGenerator<AgentEvent[], RunResult, undefined> {
  const usage: Usage = {};
  let iterations = 0, toolCalls = 0, spent = 0;
  /** Text of the last message, and of the paused turns before it. */
  let text = "";
  /** Text of the paused turns right before the reply that is under way. */
  let paused = "";
  let fingerprint = "", repeats = 0;
  /** Why the last reply cannot be used. */
  let error: PawlError | undefined;
  /** The reply that is under way. */
  let reading: ReturnType<Provider["batches"]> | undefined;

  /** The error of a bound that is reached: names it and its value. */
  function reached(code: PawlErrorCode, name: Bound): PawlError {
    return fault(code, `${name} (${settings[name] ?? provider.maxTokens}) is reached`);
  }

  /** A bound that is not set is never reached. */
  function checkBound(code: PawlErrorCode, name: Bound, used: number): void {
    if (used >= settings[name]!) throw reached(code, name);
  }

  function resultOf({ id }: ToolUseBlock, why?: string, content = `error: ${why}`): ToolResultBlock {
    return {
      type: "tool_result",
      toolUseId: id,
      // Secrets go before the cut could leave half of one (rule R-45).
      content: cutMiddle(provider.scrub(content), settings.maxToolResultChars) || "(no output)",
      ...(why && { isError: true }),
    };
  }

  function soFar<M>(message: M): Omit<PartialRun, "message"> & { message: M } {
    // With `auto` the provider has parted reasoning from text already, and an answer may quote a tag.
    const answer = provider.thinkTags === "off" ? stripReasoning(text) : text.trim();
    return { text: answer, iterations, toolCalls, usage, conversation, message };
  }

  async function* rounds(): AsyncGenerator<AgentEvent[], RunResult, StreamEvent[]> {
    outer?.throwIfAborted();
    if (IN_USE.has(conversation)) throw new TypeError("Cannot run the conversation: another run is using it");
    IN_USE.add(conversation);
    const { signal, close } = createSpan(outer, settings.deadlineMs, () => reached("budget", "deadlineMs"));
    const began = performance.now();
    const request: StreamOptions = { ...settings, signal };
    try {
      for (;;) {
        checkBound("iteration_limit", "maxIterations", iterations);
        checkBound("budget", "maxTotalTokens", spent);
        // A tool that blocks the thread holds up the timer too.
        checkBound("budget", "deadlineMs", performance.now() - began);

        const sent = await race(settings.prepare?.(conversation, { signal }), signal) || conversation;
        reading = provider.batches(sent, request);
        // The batches pass by, see below; this is the last.
        const batch = yield [];
        await reading.return?.();
        reading = undefined;
        yield batch.slice(0, -1);
        const reply = batch.at(-1) as MessageCompleteEvent;
        // A forced choice holds once, or the run could never end.
        if (request.toolChoice !== "none") request.toolChoice = undefined;

        const { message, stopReason, rawStopReason } = reply;
        const { inputTokens, outputTokens } = reply.usage ?? {};
        const isRefused = stopReason === "refusal", isCut = stopReason === "max_tokens";
        const isSilent = !message.content[0] && outputTokens === 0;
        const calls = message.content.filter((block) => block.type === "tool_use");
        const hasCalls = calls.length > 0;
        const isPause = stopReason === "pause_turn" && !hasCalls;
        const goesOn = isPause || (hasCalls && !isRefused);
        iterations++;
        addUsage(usage, reply.usage);
        spent += (inputTokens ?? estimateTokens(sent.messages)) + (outputTokens ?? estimateTokens([message]));
        text = paused + textOf(message);

        // The order is the contract's: length, refusal, calls, pause, end.
        if (isCut && !isSilent && !rawStopReason?.includes("context_window")) {
          error = reached("output_limit", "maxTokens");
        } else if (isCut || (isSilent && !isRefused && inputTokens! >= FULL_PROMPT_TOKENS)) {
          error = fault("context_overflow", "the model's context is full");
        } else if (goesOn && calls.length > MAX_CALLS) {
          error = fault("iteration_limit", `there are ${calls.length} calls, the cap is ${MAX_CALLS}`);
        } else if (!goesOn && !isRefused && toolCalls === 0 && soFar(message).text === "") {
          // Once a tool has run, nothing more to say is an answer (quirk A-23).
          error = fault("empty_reply", "the reply is empty", true);
        }
        if (error) {
          error.partial = { message };
          yield [reply];
          throw error;
        }

        conversation.addAssistantMessage(message);
        const why = `not run: ${isRefused ? "the reply is a refusal" : "interrupted"}`;
        const results = calls.map((call) => resultOf(call, why));
        try {
          yield [reply];
          signal.throwIfAborted();
          // A tool that fails is an answer; what `decide` throws ends the run.
          for (const [i, call] of calls.entries()) {
            if (!isRefused) {
              const ready = await checkCall(call, settings, signal);
              if (typeof ready === "string") results[i] = resultOf(call, ready);
              else {
                yield [{ type: "tool_start", call }];
                signal.throwIfAborted();
                toolCalls++;
                results[i] = resultOf(call, "interrupted while running, it may have taken effect");
                results[i] = resultOf(call, ...await ready());
              }
            }
            yield [{ type: "tool_result", call, result: results[i]! }];
          }
        } finally {
          if (hasCalls) conversation.addToolResults(results);
        }

        if (hasCalls) {
          const seen = JSON.stringify([calls, results], ["name", "input", "content"]);
          repeats = seen === fingerprint ? repeats + 1 : 1;
          fingerprint = seen;
          checkBound("no_progress", "maxRepeats", repeats);
        }
        paused = isPause ? text : "";
        if (goesOn) continue;

        const result: RunResult = { ...soFar(message), stopReason };
        const question = await race(review?.(result), signal);
        if (question === undefined) return result;
        conversation.addUserMessage(question);
      }
    } catch (caught) {
      const thrown = signal.aborted ? signal.reason : caught;
      // The caller's own reason is not ours to write on.
      if (isPawlError(thrown) && thrown !== outer?.reason) {
        // A hook may fail with the error of a run of its own: that holds nothing of this one.
        const broken = (reading ?? error) && thrown.partial as PartialReply | undefined;
        const message = broken?.message?.content[0] && broken.message;
        if (message) text = paused + textOf(message);
        addUsage(usage, broken?.usage);
        thrown.partial = soFar(message);
      }
      throw thrown;
    } finally {
      await reading?.return?.();
      close();
      IN_USE.delete(conversation);
    }
  }

  const run = rounds(), resume = run.next.bind(run), fail = run.throw.bind(run);
  // One more generator between a chunk and its events would cost as much as an event: batches pass it by, up to the last.
  run.next = () =>
    reading?.next().then((result) => {
      if (result.done) return fail(truncated("it ended without its end mark"));
      return result.value.at(-1)?.type === "message_complete" ? resume(result.value) : result;
    }, fail) ?? resume();
  return run as AsyncGenerator<AgentEvent[], RunResult>;
}
