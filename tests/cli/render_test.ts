import { assertEquals, assertStringIncludes } from "@std/assert";
import type { RunResult } from "../../src/agent/options.ts";
import { CliError, ClosedPipe, Interruption } from "../../src/cli/exit.ts";
import { Progress } from "../../src/cli/progress.ts";
import { JsonRenderer, TextRenderer } from "../../src/cli/render.ts";
import { Tally } from "../../src/cli/tally.ts";
import { Terminal } from "../../src/cli/terminal.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { PawlError } from "../../src/model/error.ts";
import type { AgentEvent } from "../../src/model/event.ts";
import type { ContentBlock, ToolUseBlock } from "../../src/model/message.ts";

/** Both outputs in one text, standard error in braces. */
class Screen {
  text = "";
  readonly terminal: Terminal;
  readonly progress: Progress;

  constructor(options: { out: boolean; err: boolean }) {
    const stream = (isTerminal: boolean, wrap: (text: string) => string) => ({
      isTerminal: () => isTerminal,
      writeSync: (bytes: Uint8Array) => {
        this.text += wrap(new TextDecoder().decode(bytes));
        return bytes.length;
      },
    });
    this.terminal = new Terminal({
      color: "never",
      quiet: false,
      onFailure() {},
      stdout: stream(options.out, (text) => text),
      stderr: stream(options.err, (text) => `{${text}}`),
    });
    this.progress = new Progress(this.terminal);
  }
}

const CALL: ToolUseBlock = { type: "tool_use", id: "c", name: "read_file", input: '{"path":"\x1b[2J"}' };

function text(index: number, ...deltas: string[]): AgentEvent[] {
  return [
    { type: "block_start", index, blockType: "text" },
    ...deltas.map((delta) => ({ type: "content_delta" as const, index, delta })),
    { type: "block_complete", index, block: { type: "text", text: deltas.join("") } },
  ];
}

function thinking(index: number, ...deltas: string[]): AgentEvent[] {
  return text(index, ...deltas).map((event): AgentEvent =>
    event.type === "block_start"
      ? { ...event, blockType: "thinking" }
      : event.type === "block_complete"
      ? { ...event, block: { type: "thinking", text: deltas.join("") } }
      : event
  );
}

function reply(...blocks: AgentEvent[][]): AgentEvent[] {
  const content = blocks.flat().flatMap((event): ContentBlock[] =>
    event.type === "block_complete" ? [event.block] : []
  );
  return [
    { type: "message_start", role: "assistant" },
    ...blocks.flat(),
    {
      type: "message_complete",
      message: { role: "assistant", content },
      stopReason: "end_turn",
      usage: { outputTokens: 3 },
    },
  ];
}

const TOOL: AgentEvent[] = [
  { type: "block_start", index: 1, blockType: "tool_use", toolId: "c", toolName: "read_file" },
  { type: "content_delta", index: 1, delta: CALL.input },
  { type: "block_complete", index: 1, block: CALL },
];

function result(answer: string): RunResult {
  const message = { role: "assistant" as const, content: [] };
  return {
    text: answer,
    iterations: 1,
    toolCalls: 0,
    usage: { inputTokens: 5, outputTokens: 3 },
    stopReason: "end_turn",
    message,
    conversation: new Conversation(),
  };
}

interface Show {
  out?: boolean;
  err?: boolean;
  stream?: boolean;
  hideReasoning?: boolean;
  usage?: boolean;
}

function show(events: AgentEvent[], answer: string, options: Show = {}): string {
  const { out = false, err = false, stream = out, hideReasoning = false, usage = false } = options;
  const screen = new Screen({ out, err });
  const renderer = new TextRenderer(screen.terminal, screen.progress, { host: "h:1", stream, hideReasoning, usage });
  for (const event of events) renderer.event(event);
  renderer.result(result(answer));
  return screen.text;
}

Deno.test("TextRenderer prints the answer once into a pipe, and nothing beside it", () => {
  const events = reply(thinking(0, "hm"), text(1, "Hel", "lo"));
  assertEquals(show(events, "Hello"), "Hello\n");
  assertEquals(show(events, "Hello\n"), "Hello\n");
});

Deno.test("TextRenderer streams on a terminal, thinking apart and labelled", () => {
  const events = reply(thinking(0, "let me", " see"), text(1, "Hel", "lo"));
  assertEquals(show(events, "Hello", { out: true, err: true }), "{thinking: let me see\n}Hello\n");
  assertEquals(show(events, "Hello", { out: true, err: true, hideReasoning: true }), "Hello\n");
});

Deno.test("TextRenderer shows thinking and text before a call on a terminal's standard error only", () => {
  const events = [...reply(thinking(0, "hm"), text(1, "I look."), TOOL), ...reply(text(0, "Found"))];
  assertEquals(show(events, "Found", { err: true }), "{thinking: hm\nI look.\n}Found\n");
  assertEquals(show(events, "Found"), "Found\n");
});

Deno.test("TextRenderer marks a block that turned out to be reasoning", () => {
  const leaked = text(0, "first I", " think").map((event): AgentEvent =>
    event.type === "block_complete" ? { ...event, block: { type: "thinking", text: "first I think" } } : event
  );
  const events = reply(leaked, text(1, "Yes"));
  assertEquals(
    show(events, "Yes", { out: true, err: true }),
    "first I think\n{(the text above was reasoning, not the answer)\n}Yes\n",
  );
  assertEquals(show(events, "Yes", { err: true }), "{thinking: first I think\n}Yes\n");
  assertEquals(show(events, "Yes"), "Yes\n");
});

Deno.test("TextRenderer shows control characters of calls and results, cut between deltas or not", () => {
  const events: AgentEvent[] = [
    ...reply(TOOL),
    {
      type: "tool_result",
      call: CALL,
      result: { type: "tool_result", toolUseId: "c", content: "error: \x1b]0;x\x07", isError: true },
    },
    ...reply(thinking(0, "a\x1b", "[31m"), text(1, "b\x1b", "[31m\r", "\nc")),
  ];
  const shown = show(events, "b", { out: true, err: true });
  assertStringIncludes(shown, '✗ read_file {"path":"\\u{1b}[2J"}: error: \\u{1b}]0;x\\u{7}');
  assertStringIncludes(shown, "{thinking: a\\u{1b}[31m\n}");
  assertStringIncludes(shown, "b\\u{1b}[31m\nc");
  assertEquals(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(shown.replaceAll("\r\x1b[2K", "")), false);
});

Deno.test("TextRenderer keeps the bytes of a piped answer", () => {
  assertEquals(show(reply(text(0, "a\x1b[1m\r\n")), "a\x1b[1m\r\nb"), "a\x1b[1m\r\nb\n");
});

Deno.test("TextRenderer tells usage on request, and warnings always", () => {
  const events = reply(text(0, "x"));
  const last = events.at(-1)!;
  if (last.type === "message_complete") {
    last.warnings = [{ kind: "usage_missing", message: "no usage" }, { kind: "context_cut", message: "cut" }];
  }
  assertEquals(show(events, "x"), "{warning: cut\n}x\n");
  assertEquals(show(events, "x", { usage: true }), "{warning: no usage\n}{warning: cut\n}x\n{tokens: 5 in, 3 out\n}");
});

Deno.test("TextRenderer tells an error in one line, and the text so far below it unless it is shown already", () => {
  const events = reply(text(0, "half an answer")).slice(0, -1);
  for (const stream of [true, false]) {
    const screen = new Screen({ out: false, err: false });
    const renderer = new TextRenderer(screen.terminal, screen.progress, {
      host: "h:1",
      stream,
      hideReasoning: false,
      usage: false,
    });
    const tally = new Tally();
    for (const event of events) {
      tally.see(event);
      renderer.event(event);
    }
    assertEquals(renderer.failure(new PawlError("truncated", "The reply broke off"), tally.partial), 6);
    assertEquals(
      screen.text,
      stream
        ? "half an answer\n{error: truncated: The reply broke off\n}"
        : "{error: truncated: The reply broke off\n}{the text so far:\nhalf an answer\n}",
    );
  }
});

Deno.test("TextRenderer.failure maps errors to exit statuses", () => {
  const cases: [unknown, number, string][] = [
    [
      new PawlError("unreachable", "Cannot reach it", { retryable: true }),
      4,
      "error: unreachable: Cannot reach it (h:1)",
    ],
    [new PawlError("unreachable", "Cannot replay request 1"), 4, "error: unreachable: Cannot replay request 1"],
    [new PawlError("output_limit", "maxTokens (8) is reached"), 6, "error: output_limit: --max-tokens (8) is reached"],
    [new PawlError("http_status", "No", { status: 401 }), 3, "error: http_status: No (h:1)"],
    [new PawlError("http_status", "No", { status: 500 }), 5, "error: http_status: No (h:1)"],
    [new PawlError("iteration_limit", "No"), 7, "error: iteration_limit: No"],
    [new TypeError("Cannot use x"), 2, "error: usage: Cannot use x"],
    [new RangeError("Cannot use y\nat line"), 2, "error: usage: Cannot use y at line"],
    [new CliError("no_block", "None", { exit: 8 }), 8, "error: no_block: None"],
    [new Deno.errors.NotCapable("Requires x"), 9, "error: permission: Requires x"],
    [new Interruption("SIGTERM"), 143, "error: aborted: Stopped by SIGTERM"],
    [new Error("odd"), 1, "error: failed: odd"],
    ["thrown text", 1, "error: failed: thrown text"],
    [new ClosedPipe(), 141, ""],
  ];
  for (const [error, exit, line] of cases) {
    const screen = new Screen({ out: false, err: false });
    const renderer = new TextRenderer(screen.terminal, screen.progress, {
      host: "h:1",
      stream: false,
      hideReasoning: false,
      usage: false,
    });
    assertEquals(renderer.failure(error, new Tally().partial), exit);
    assertEquals(screen.text, line && `{${line}\n}`);
  }
});

Deno.test("JsonRenderer tells events, result and error as one JSON object a line", () => {
  const screen = new Screen({ out: false, err: false });
  const renderer = new JsonRenderer(screen.terminal, screen.progress, { events: true, host: "h:1", usage: false });
  renderer.start({ dialect: "openai_chat", model: "m" } as Parameters<typeof renderer.start>[0]);
  const events = reply(text(0, "x"));
  for (const event of events) renderer.event(event);
  renderer.result({ ...result("x"), value: { n: 1 } }, { model: "m", session: "s.jsonl" });
  const error = new PawlError("http_status", "Cannot", { status: 429, retryable: true, retryAfterMs: 5000 });
  const exit = renderer.failure(error, { text: "so far", iterations: 2, toolCalls: 1, usage: {} });
  screen.terminal.flush();
  assertEquals(exit, 5);
  const lines = screen.text.replace(/\{error: .*\n\}/, "").trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines, [
    { type: "start", version: 1, dialect: "openai_chat", model: "m" },
    ...events,
    {
      type: "result",
      text: "x",
      value: { n: 1 },
      stopReason: "end_turn",
      iterations: 1,
      toolCalls: 0,
      usage: { inputTokens: 5, outputTokens: 3 },
      model: "m",
      session: "s.jsonl",
    },
    {
      type: "error",
      code: "http_status",
      message: "Cannot (h:1)",
      status: 429,
      retryable: true,
      retryAfterMs: 5000,
      exit: 5,
      partial: { text: "so far", iterations: 2, toolCalls: 1, usage: {} },
    },
  ]);
});

Deno.test("JsonRenderer tells warnings on standard error", () => {
  for (const events of [false, true]) {
    const screen = new Screen({ out: false, err: false });
    const renderer = new JsonRenderer(screen.terminal, screen.progress, { events, host: "h:1", usage: false });
    const [complete] = reply(text(0, "a")).slice(-1);
    renderer.event({
      ...complete,
      warnings: [{ kind: "usage_missing", message: "no usage" }, { kind: "context_cut", message: "another model" }],
    } as AgentEvent);
    assertStringIncludes(screen.text, "{warning: another model\n}");
    assertEquals(screen.text.includes("{warning: no usage"), false);
  }
});

Deno.test("Tally adds up what a run has done", () => {
  const tally = new Tally();
  const events: AgentEvent[] = [
    ...reply(text(0, "look"), TOOL),
    { type: "tool_start", call: CALL },
    ...reply(text(0, "a"), text(1, "b")).slice(0, -2),
  ];
  for (const event of events) tally.see(event);
  assertEquals(tally.partial, { text: "ab", iterations: 1, toolCalls: 1, usage: { outputTokens: 3 } });
});
