/**
 * A provider that plays scripted replies, so that the loop can be tested without wire and dialect.
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Conversation } from "../../src/model/conversation.ts";
import { PawlError } from "../../src/model/error.ts";
import type { RetryEvent, StreamEvent, Warning } from "../../src/model/event.ts";
import type {
  ContentBlock,
  Message,
  StopReason,
  ToolResultBlock,
  ToolUseBlock,
  Usage,
} from "../../src/model/message.ts";
import type { Tool } from "../../src/model/tool.ts";
import type { Provider, ProviderRequest, StreamOptions } from "../../src/provider/provider.ts";

/** One scripted reply. */
export interface Reply {
  content?: ContentBlock[];
  /** Default: what the content suggests. */
  stopReason?: StopReason;
  rawStopReason?: string;
  usage?: Usage;
  warnings?: Warning[];
  retries?: RetryEvent[];
  /** Thrown instead of the completion, with the blocks in `partial` if it is a PawlError. */
  error?: Error;
  /** Waits for ever (for an abort) instead of the event of this index. */
  hangAt?: number;
}

export interface Request {
  messages: Message[];
  options: StreamOptions;
}

export function says(text: string, more: Omit<Reply, "content"> = {}): Reply {
  return { content: [{ type: "text", text }], ...more };
}

export function calls(...list: [name: string, input?: unknown, id?: string][]): Reply {
  return { content: list.map(([name, input, id], i) => use(name, input, id ?? `c${i + 1}`)) };
}

export function use(name: string, input: unknown = {}, id = "c1"): ToolUseBlock {
  return { type: "tool_use", id, name, input: typeof input === "string" ? input : JSON.stringify(input) };
}

export class FakeProvider implements Provider {
  readonly dialect = "fake";
  readonly model = "fake-1";
  readonly maxTokens = 1000;
  readonly requests: Request[] = [];
  models: string[] | Error = ["fake-1"];
  /** Replies that are under way. */
  open = 0;
  secret = "s3cret-key";
  readonly grouping: "event" | "reply";
  readonly thinkTags: "auto" | "off";
  #replies: Reply[];

  constructor(replies: Reply[], grouping: "event" | "reply" = "event", thinkTags: "auto" | "off" = "auto") {
    this.#replies = [...replies];
    this.grouping = grouping;
    this.thinkTags = thinkTags;
  }

  async *batches(conversation: Conversation, options: StreamOptions = {}): AsyncGenerator<StreamEvent[]> {
    options.signal?.throwIfAborted();
    assertAnswered(conversation);
    this.requests.push(structuredClone({ messages: [...conversation.messages], options: dataOf(options) }) as Request);
    const reply = this.#replies.shift();
    if (reply === undefined) throw new Error("a request that the script does not know");
    this.open++;
    try {
      const { events, message } = eventsOf(reply, this.requests.length);
      const batches = this.grouping === "reply" && reply.hangAt === undefined
        ? [events]
        : events.map((event) => [event]);
      for (const [i, batch] of batches.entries()) {
        await hangOrGo(i === reply.hangAt, options.signal);
        yield batch;
      }
      if (reply.error instanceof PawlError) reply.error.partial = { message };
      if (reply.error) throw reply.error;
    } finally {
      this.open--;
    }
  }

  async *stream(conversation: Conversation, options: StreamOptions = {}): AsyncGenerator<StreamEvent> {
    for await (const batch of this.batches(conversation, options)) for (const event of batch) yield event;
  }

  streamStep(): Promise<Message> {
    throw new Error("not used by the agent");
  }

  encode(): ProviderRequest {
    return { method: "POST", url: "", headers: {}, body: "" };
  }

  listModels(options: { signal?: AbortSignal } = {}): Promise<string[]> {
    options.signal?.throwIfAborted();
    return this.models instanceof Error ? Promise.reject(this.models) : Promise.resolve(this.models);
  }

  scrub(text: string): string {
    return text.replaceAll(this.secret, "[redacted]");
  }
}

/** The options that a provider knows, as data. */
function dataOf({ tools = [], maxTokens, temperature, maxRetries, toolChoice }: StreamOptions): object {
  return JSON.parse(
    JSON.stringify({ maxTokens, temperature, maxRetries, tools: tools.map(({ name }) => name), toolChoice }),
  );
}

async function hangOrGo(hang: boolean, signal?: AbortSignal): Promise<void> {
  if (!hang) await Promise.resolve();
  else {
    await new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
  signal?.throwIfAborted();
}

function eventsOf(reply: Reply, round: number): { events: StreamEvent[]; message: Message } {
  const { content = [], retries = [], usage, rawStopReason, warnings } = reply;
  const message: Message = { role: "assistant", content, origin: { dialect: "fake", model: "fake-1" } };
  const events: StreamEvent[] = [...retries, { type: "message_start", role: "assistant" }];
  for (const [index, block] of content.entries()) {
    if (block.type === "tool_use") {
      events.push({ type: "block_start", index, blockType: block.type, toolId: block.id, toolName: block.name });
    } else events.push({ type: "block_start", index, blockType: block.type as "text" });
    const text = "text" in block ? block.text : "input" in block ? block.input : "";
    const half = text.length >> 1;
    for (const delta of [text.slice(0, half), text.slice(half)]) {
      if (delta !== "") events.push({ type: "content_delta", index, delta });
    }
    events.push({ type: "block_complete", index, block });
  }
  if (reply.error) return { events, message };
  const stopReason = reply.stopReason ?? (content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn");
  events.push({
    type: "message_complete",
    message,
    stopReason,
    id: `reply-${round}`,
    ...(usage && { usage }),
    ...(rawStopReason !== undefined && { rawStopReason }),
    ...(warnings && { warnings }),
  });
  return { events, message };
}

/** Each call of the conversation has exactly one result, in the message right behind it. */
export function assertAnswered({ messages }: Conversation): void {
  for (const [i, { content }] of messages.entries()) {
    const asked = content.filter((block) => block.type === "tool_use").map(({ id }) => id);
    const next = messages[i + 1];
    const answered = (next?.content ?? []).filter((block) => block.type === "tool_result");
    assertEquals(answered.map(({ toolUseId }) => toolUseId), asked);
    assert(asked.length === 0 || next?.role === "user");
  }
}

export function resultsOf({ messages }: Conversation): ToolResultBlock[] {
  return messages.flatMap(({ content }) => content.filter((block) => block.type === "tool_result"));
}

/** A tool with a free-form input. */
export function tool(name: string, run: Tool["run"], more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}`, inputSchema: { type: "object" }, run, ...more };
}
