/**
 * How a run is shown: as text for people and pipes, or as JSON.
 * @module
 */
import type { RunResult } from "../agent/options.ts";
import type { AgentEvent, BlockCompleteEvent, MessageCompleteEvent, RetryEvent } from "../model/event.ts";
import type { BlockType, ToolResultBlock, ToolUseBlock } from "../model/message.ts";
import type { Provider } from "../provider/provider.ts";
import type { Receiver } from "../provider/receiver.ts";
import type { Context } from "./context.ts";
import type { PartialJson } from "./exit.ts";
import { tellFailure } from "./failure.ts";
import type { Progress } from "./progress.ts";
import { describeUsage } from "./tally.ts";
import type { Terminal } from "./terminal.ts";

/** Shows one run after another. */
export interface Renderer {
  /** Tells who will answer. */
  start(provider: Provider): void;
  event(event: AgentEvent): void;
  /** @param extra Fields that only the command knows. */
  result(result: RunResult, extra: { model: string; session?: string }): void;
  /** Tells that the reply was stopped on purpose. */
  stopped(): void;
  /** Shows a failure and returns the exit status. */
  failure(error: unknown, partial: PartialJson): number;
}

/** Makes the renderer that the flags ask for. */
export function makeRenderer(context: Context, options: Pick<TextOptions, "host" | "stream" | "answer">): Renderer {
  const { terminal, progress, options: flags } = context;
  const { "hide-reasoning": hideReasoning = false, usage = false } = flags;
  const format = flags.json ? "json" : flags["output-format"] ?? "text";
  if (format !== "text") {
    return new JsonRenderer(terminal, progress, { events: format === "stream-json", host: options.host, usage });
  }
  return new TextRenderer(terminal, progress, { ...options, hideReasoning, usage });
}

/** Turns callbacks back into events, since everything here works on those. */
export function receiverOf(event: (event: AgentEvent) => void): Receiver {
  return {
    onMessageStart: () => event({ type: "message_start", role: "assistant" }),
    onBlockStart: (blockType, index, meta) => event({ type: "block_start", index, blockType, ...meta }),
    onContentDelta: (index, delta) => event({ type: "content_delta", index, delta }),
    onBlockComplete: (index, block) => event({ type: "block_complete", index, block }),
    onMessageComplete: (message, info) => event({ type: "message_complete", message, ...info }),
    onToolStart: (call) => event({ type: "tool_start", call }),
    onToolResult: (call, result) => event({ type: "tool_result", call, result }),
    onRetry: (info) => event({ ...info, type: "retry" }),
  };
}

/** How {@linkcode TextRenderer} shows things. */
export interface TextOptions {
  host: string;
  /** Standard output gets each delta; otherwise the answer goes there once, at the end. */
  stream: boolean;
  hideReasoning: boolean;
  usage: boolean;
  /** Makes what is printed out of the answer; without it the answer itself. */
  answer?(result: RunResult): string;
}

/** Text: the answer on standard output, all else on standard error. */
export class TextRenderer implements Renderer {
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #options: TextOptions;
  readonly #aside: boolean;
  #type: BlockType = "opaque";
  #shown = false;
  #held = "";
  #toolSince = 0;

  constructor(terminal: Terminal, progress: Progress, options: TextOptions) {
    this.#terminal = terminal;
    this.#progress = progress;
    this.#options = options;
    this.#aside = terminal.errIsTerminal && !terminal.quiet;
  }

  start(): void {
    // Text needs no heading; a chat on a terminal has its own.
  }

  event(event: AgentEvent): void {
    switch (event.type) {
      case "content_delta":
        return this.#delta(event.delta);
      case "message_start":
        this.#progress.end();
        this.#shown = false;
        this.#held = "";
        return;
      case "block_start":
        return this.#blockStart(event.blockType);
      case "block_complete":
        return this.#blockComplete(event);
      case "message_complete":
        return this.#messageComplete(event);
      case "tool_start":
        this.#toolSince = performance.now();
        return this.#progress.begin(describeCall(event.call), { atOnce: true });
      case "tool_result":
        this.#progress.end();
        return this.#toolResult(event.call, event.result);
      case "retry":
        return this.#progress.begin(describeRetry(event, this.#options.host), { atOnce: true });
    }
  }

  result(result: RunResult): void {
    this.#progress.end();
    const { answer, stream } = this.#options;
    if (!stream) this.#terminal.out(answer?.(result) ?? result.text);
    this.#terminal.endOut();
    if (this.#options.usage) this.#terminal.line(describeUsage(result.usage));
  }

  stopped(): void {
    this.#progress.end();
    this.#terminal.endOut();
    this.#terminal.line("(stopped; Ctrl-C again leaves)", "yellow");
  }

  failure(error: unknown, partial: PartialJson): number {
    this.#progress.end();
    return tellFailure(this.#terminal, error, { host: this.#options.host, partial, isShown: this.#options.stream });
  }

  #blockStart(type: BlockType): void {
    this.#type = type;
    if (type === "thinking" && this.#showsThinking) this.#terminal.aside("thinking: ");
    if (type === "tool_use") this.#endText();
  }

  #delta(delta: string): void {
    if (this.#type === "text") {
      if (this.#options.stream) this.#terminal.out(delta);
      else if (this.#aside) this.#held += delta;
      else return;
      this.#shown = true;
    } else if (this.#type === "thinking" && this.#showsThinking) {
      this.#terminal.aside(delta);
    }
  }

  #blockComplete({ block }: BlockCompleteEvent): void {
    if (block.type === "thinking" && this.#type === "text") return this.#retract(block.text);
    if (this.#type === "thinking") this.#terminal.endAside();
  }

  /** A block that was shown as text has turned out to be reasoning. */
  #retract(text: string): void {
    if (this.#options.stream) {
      this.#terminal.endOut();
      this.#terminal.note("(the text above was reasoning, not the answer)");
    } else {
      this.#held = "";
      if (this.#showsThinking) this.#terminal.aside(`thinking: ${text}\n`);
    }
    this.#shown = false;
  }

  /** Text before a tool call is not the answer; where it has not been streamed, a person sees it on standard error. */
  #endText(): void {
    if (!this.#shown) return;
    if (this.#options.stream) this.#terminal.endOut();
    else this.#terminal.aside(`${this.#held.trim()}\n`);
    this.#held = "";
    this.#shown = false;
  }

  #messageComplete(event: MessageCompleteEvent): void {
    tellWarnings(this.#terminal, event, this.#options);
    if (this.#options.stream) this.#terminal.endOut();
  }

  #toolResult(call: ToolUseBlock, { content, isError }: ToolResultBlock): void {
    if (!this.#aside) return;
    const seconds = this.#toolSince === 0 ? "" : `, ${((performance.now() - this.#toolSince) / 1000).toFixed(1)} s`;
    this.#toolSince = 0;
    const outcome = isError ? excerpt(content, 160) : `${content.length} characters${seconds}`;
    this.#terminal.line(`${isError ? "✗" : "✓"} ${describeCall(call)}: ${outcome}`, isError ? "red" : "green");
  }

  get #showsThinking(): boolean {
    return this.#aside && !this.#options.hideReasoning;
  }
}

/** JSON: one object at the end, or each event as a line of its own. */
export class JsonRenderer implements Renderer {
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #host: string;
  readonly #events: boolean;
  readonly #usage: boolean;

  /** @param options `events`: `stream-json`; `host` for errors; `usage`: it is asked for. */
  constructor(terminal: Terminal, progress: Progress, options: { events: boolean; host: string; usage: boolean }) {
    this.#terminal = terminal;
    this.#progress = progress;
    this.#events = options.events;
    this.#host = options.host;
    this.#usage = options.usage;
  }

  start({ dialect, model }: Provider): void {
    if (this.#events) this.#terminal.json(JSON.stringify({ type: "start", version: 1, dialect, model }));
  }

  event(event: AgentEvent): void {
    if (event.type === "message_start") this.#progress.end();
    if (event.type === "message_complete") tellWarnings(this.#terminal, event, { usage: this.#usage });
    if (this.#events) this.#terminal.json(JSON.stringify(event));
  }

  result(result: RunResult, extra: { model: string; session?: string }): void {
    this.#progress.end();
    const { text, value, stopReason, iterations, toolCalls, usage } = result;
    this.#terminal.json(JSON.stringify({
      type: "result",
      text,
      ...value !== undefined && { value },
      stopReason,
      iterations,
      toolCalls,
      usage,
      ...extra,
    }));
  }

  stopped(): void {
    this.#progress.end();
    if (this.#events) this.#terminal.json(JSON.stringify({ type: "stopped" }));
  }

  failure(error: unknown, partial: PartialJson): number {
    this.#progress.end();
    return tellFailure(this.#terminal, error, { host: this.#host, partial, json: true });
  }
}

function tellWarnings(
  terminal: Terminal,
  { warnings, stopReason }: MessageCompleteEvent,
  { usage }: Pick<TextOptions, "usage">,
): void {
  for (const { kind, message } of warnings ?? []) {
    // Many local servers report none; only who asked for it misses it.
    if (kind !== "usage_missing" || usage) terminal.note(`warning: ${message}`);
  }
  if (stopReason === "refusal") terminal.note("warning: the model refused to answer");
}

function describeCall({ name, input }: ToolUseBlock): string {
  return `${excerpt(name, 64)} ${excerpt(input, 100)}`;
}

function describeRetry({ attempt, delayMs, code, status }: RetryEvent, host: string): string {
  const why = status === 503 ? "its model may be loading" : status === undefined ? code : `HTTP ${status}`;
  return `${host}: ${why}; attempt ${attempt + 1} in ${(delayMs / 1000).toFixed(1)} s`;
}

/** The beginning of a text on one line. */
function excerpt(text: string, max: number): string {
  const line = text.slice(0, max * 2).replaceAll(/\s+/g, " ").trim().toWellFormed();
  return line.length <= max ? line : line.slice(0, max - 1).toWellFormed() + "…";
}
