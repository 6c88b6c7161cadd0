/**
 * The calls of one reply, answered one after another.
 * @module
 */
import type { AgentEvent } from "../model/event.ts";
import type { ToolResultBlock, ToolUseBlock } from "../model/message.ts";
import type { Tool } from "../model/tool.ts";
import type { RunSettings } from "./options.ts";
import { callTool, checkCall, failure, type Outcome, race, resultOf } from "./call_tool.ts";

/** What a round needs beside its calls. */
export interface RoundContext {
  tools: ReadonlyMap<string, Tool>;
  options: Pick<RunSettings, "decide" | "toolTimeoutMs" | "maxToolResultChars">;
  /** Aborted when the run is stopped. */
  signal: AbortSignal;
  scrub: (text: string) => string;
}

/** The calls of one reply. Whenever it is left, {@linkcode Round.settle} has a true result for each of them. */
export class Round {
  /** Tool functions started. */
  started = 0;

  readonly #calls: readonly ToolUseBlock[];
  readonly #isRefused: boolean;
  /** Results of the first calls, in order. */
  readonly #results: ToolResultBlock[] = [];
  #isRunning = false;

  /**
   * @param calls At least one.
   * @param isRefused The reply is a refusal: nothing runs.
   */
  constructor(calls: readonly ToolUseBlock[], isRefused: boolean) {
    this.#calls = calls;
    this.#isRefused = isRefused;
  }

  /** Each call has its result. */
  get isAnswered(): boolean {
    return this.#results.length === this.#calls.length;
  }

  /** Equal for rounds with the same names, inputs and results. */
  get fingerprint(): string {
    return JSON.stringify(this.#calls.map(({ name, input }, i) => [name, input, this.#results[i]?.content]));
  }

  /**
   * Answers the calls in order. A tool that fails is an answer.
   *
   * @throws What `decide` throws, and `signal.reason`.
   */
  async *answer({ tools, options, signal, scrub }: RoundContext): AsyncGenerator<AgentEvent[], void, undefined> {
    const { decide, toolTimeoutMs, maxToolResultChars: maxChars } = options;
    for (const call of this.#calls) {
      let ready = this.#isRefused ? "not run: the reply is a refusal" : checkCall(call, tools);
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
      const result = resultOf(call, outcome, { maxChars, scrub });
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
