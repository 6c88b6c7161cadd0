/**
 * The calls of one reply, answered one after another.
 * @module
 */
import type { AgentEvent } from "../model/event.ts";
import type { ToolResultBlock, ToolUseBlock } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import type { RunSettings } from "./options.ts";
import { callTool, checkCall, failure, type Outcome, race, resultOf } from "./call_tool.ts";

/** The calls of one reply. Whenever it is left, {@linkcode Round.settle} has a true result for each of them. */
export class Round {
  /** Tool functions started. */
  started = 0;

  readonly #calls: readonly ToolUseBlock[];
  /** Results of the first calls, in order. */
  readonly #results: ToolResultBlock[] = [];
  #isRunning = false;

  /** @param calls At least one. */
  constructor(calls: readonly ToolUseBlock[]) {
    this.#calls = calls;
  }

  /** Equal for rounds with the same names, inputs and results. */
  get fingerprint(): string {
    return JSON.stringify(this.#calls.map(({ name, input }, i) => [name, input, this.#results[i]?.content]));
  }

  /**
   * Answers the calls in order. A tool that fails is an answer.
   *
   * @param isRefused The reply is a refusal: nothing runs.
   * @throws What `decide` throws, and `signal.reason`.
   */
  async *answer(
    provider: Provider,
    { tools, decide, toolTimeoutMs, maxToolResultChars: maxChars }: RunSettings,
    { signal, isRefused }: { signal: AbortSignal; isRefused: boolean },
  ): AsyncGenerator<AgentEvent[], void, undefined> {
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    for (const call of this.#calls) {
      let ready = isRefused ? "not run: the reply is a refusal" : checkCall(call, byName);
      if (decide && typeof ready !== "string") ready = denial(await race(decide(call, { signal }), signal)) ?? ready;
      let outcome: Outcome;
      if (typeof ready === "string") outcome = failure(ready);
      else {
        yield [{ type: "tool_start", call }];
        signal.throwIfAborted();
        this.#isRunning = true;
        this.started++;
        outcome = await callTool(ready, call, { signal, timeoutMs: ready.tool.timeoutMs ?? toolTimeoutMs });
      }
      const result = resultOf(call, outcome, { maxChars, scrub: (text) => provider.scrub(text) });
      this.#results.push(result);
      this.#isRunning = false;
      yield [{ type: "tool_result", call, result }];
    }
  }

  /** All results; a call that has none yet gets the truth about it. */
  settle(): ToolResultBlock[] {
    for (const { id } of this.#calls.slice(this.#results.length)) {
      const why = this.#isRunning ? "interrupted while running, it may have taken effect" : "not run: interrupted";
      this.#isRunning = false;
      this.#results.push({ type: "tool_result", toolUseId: id, ...failure(why) });
    }
    return this.#results;
  }
}

/** Why a call may not run. Only a plain yes allows: `decide` is the caller's code and may return anything. */
function denial(decision: unknown): string | undefined {
  const { allow, reason } = (decision ?? {}) as { allow?: unknown; reason?: unknown };
  if (allow === true) return undefined;
  return typeof reason === "string" && reason !== "" ? `denied: ${reason}` : "denied";
}
