/**
 * Other clients and parsers, from npm when they are asked for. Their names are computed, so that checking this project
 * downloads none of them.
 *
 * @module
 */
import { type Client, TOOL } from "./contestants.ts";

const PACKAGES = {
  xsai: "@xsai/stream-text@0.4.4",
  langchain: "@langchain/openai@1.6.0",
  anthropic: "@anthropic-ai/sdk@1.14.0",
  parser: "eventsource-parser@4.1.3",
};

async function load<T>(name: keyof typeof PACKAGES): Promise<T> {
  return await import(`npm:${PACKAGES[name]}`);
}

const KEY = "sk-not-a-secret";
const MODEL = "bench-model";
const MESSAGES = [{ role: "user", content: "Say something." }];
const { name, description, inputSchema } = TOOL;
const CHAT_TOOL = { type: "function", function: { name, description, parameters: inputSchema } };

interface XsaiEvent {
  type: string;
  text: string;
  argsTextDelta: string;
}

interface Xsai {
  streamText(options: unknown): { fullStream: AsyncIterable<XsaiEvent>; messages: Promise<unknown> };
}

async function xsai(): Promise<Client> {
  const { streamText } = await load<Xsai>("xsai");
  return async ({ baseUrl, tool }) => {
    const read = { deltas: 0, thinking: "", text: "", input: "" };
    const reply = streamText({
      apiKey: KEY,
      baseURL: `${baseUrl}/`,
      model: MODEL,
      messages: MESSAGES,
      streamOptions: { includeUsage: true },
      ...(tool && { tools: [{ ...CHAT_TOOL, execute: () => "written" }] }),
    });
    for await (const event of reply.fullStream) {
      if (event.type === "text-delta") read.text += event.text;
      else if (event.type === "reasoning-delta") read.thinking += event.text;
      else if (event.type === "tool-call-delta") read.input += event.argsTextDelta;
      read.deltas++;
    }
    await reply.messages;
    return read;
  };
}

interface LangChainChunk {
  content: string;
  additional_kwargs: { reasoning_content?: string };
  tool_call_chunks?: Array<{ args?: string }>;
}

interface LangChainModel {
  bindTools(tools: unknown[]): LangChainModel;
  stream(prompt: string): Promise<AsyncIterable<LangChainChunk>>;
}

interface LangChain {
  ChatOpenAI: new (options: unknown) => LangChainModel;
}

async function langchain(): Promise<Client> {
  const { ChatOpenAI } = await load<LangChain>("langchain");
  return async ({ baseUrl, tool }) => {
    const read = { deltas: 0, thinking: "", text: "", input: "" };
    const model = new ChatOpenAI({ apiKey: KEY, model: MODEL, maxRetries: 0, configuration: { baseURL: baseUrl } });
    for await (const chunk of await (tool ? model.bindTools([CHAT_TOOL]) : model).stream("Say something.")) {
      read.text += chunk.content;
      read.thinking += chunk.additional_kwargs.reasoning_content ?? "";
      read.input += chunk.tool_call_chunks?.[0]?.args ?? "";
      read.deltas++;
    }
    return read;
  };
}

interface AnthropicEvent {
  type: string;
  delta: { type: string; text: string; thinking: string; partial_json: string };
}

interface Anthropic {
  default: new (options: unknown) => { messages: { create(request: unknown): Promise<AsyncIterable<AnthropicEvent>> } };
}

/** The raw events of the vendor's own client; its helper that assembles a message is quadratic. */
async function anthropic(): Promise<Client> {
  const { default: Client } = await load<Anthropic>("anthropic");
  return async ({ baseUrl, tool }) => {
    const read = { deltas: 0, thinking: "", text: "", input: "" };
    const client = new Client({ apiKey: KEY, baseURL: baseUrl, maxRetries: 0 });
    const events = await client.messages.create({
      model: MODEL,
      max_tokens: 4096,
      messages: MESSAGES,
      stream: true,
      ...(tool && { tools: [{ name, description, input_schema: inputSchema }] }),
    });
    for await (const { type, delta } of events) {
      if (type !== "content_block_delta") continue;
      if (delta.type === "text_delta") read.text += delta.text;
      else if (delta.type === "thinking_delta") read.thinking += delta.thinking;
      else if (delta.type === "input_json_delta") read.input += delta.partial_json;
      read.deltas++;
    }
    return read;
  };
}

/** Loaders of all clients. */
export const PEERS: Record<string, () => Promise<Client>> = { xsai, langchain, anthropic };

/** Whether a contestant is of others: it may not be there to be measured. */
export function isPeer(contestant: string): boolean {
  return Object.hasOwn(PEERS, contestant) || contestant === "eventsource-parser";
}

/** Parses chunks; returns the number of events and the characters of their data. */
export type Parse = (chunks: readonly Uint8Array<ArrayBuffer>[]) => { events: number; characters: number };

interface EventSourceParser {
  createParser(callbacks: { onEvent(event: { data: string }): void }): { feed(text: string): void };
}

/** The parser that most clients are built on. */
export async function eventSourceParser(): Promise<Parse> {
  const { createParser } = await load<EventSourceParser>("parser");
  return (chunks) => {
    const seen = { events: 0, characters: 0 };
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent({ data }) {
        seen.events++;
        seen.characters += data.length;
      },
    });
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
    return seen;
  };
}
