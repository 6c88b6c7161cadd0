/**
 * Counts what a run has done so far from its events, since an abort carries no partial work of its own.
 * @module
 */
import { addUsage } from "../agent/options.ts";
import type { AgentEvent } from "../model/event.ts";
import type { Usage } from "../model/message.ts";
import type { PartialJson } from "./exit.ts";

/** Work of one run. */
export class Tally {
  #text: string[] = [];
  readonly #open = new Map<number, string>();
  readonly #usage: Usage = {};
  #iterations = 0;
  #toolCalls = 0;

  /** Takes an event of the run. */
  see(event: AgentEvent): void {
    switch (event.type) {
      case "message_start":
        this.#text = [];
        this.#open.clear();
        break;
      case "block_start":
        if (event.blockType === "text") this.#open.set(event.index, "");
        break;
      case "content_delta": {
        const text = this.#open.get(event.index);
        if (text !== undefined) this.#open.set(event.index, text + event.delta);
        break;
      }
      case "block_complete":
        this.#open.delete(event.index);
        if (event.block.type === "text") this.#text.push(event.block.text);
        break;
      case "message_complete":
        this.#iterations++;
        addUsage(this.#usage, event.usage);
        break;
      case "tool_start":
        this.#toolCalls++;
        break;
    }
  }

  /** What has been done so far. */
  get partial(): PartialJson {
    return {
      text: [...this.#text, ...this.#open.values()].join("").trim(),
      iterations: this.#iterations,
      toolCalls: this.#toolCalls,
      usage: this.#usage,
    };
  }
}

/** Usage in words. */
export function describeUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): string {
  if (inputTokens === undefined && outputTokens === undefined) return "tokens: not reported";
  const cached = cachedInputTokens ? ` (${cachedInputTokens} cached)` : "";
  const reasoning = reasoningTokens ? ` (${reasoningTokens} reasoning)` : "";
  return `tokens: ${inputTokens ?? "?"} in${cached}, ${outputTokens ?? "?"} out${reasoning}`;
}
