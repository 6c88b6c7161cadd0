/**
 * Who is measured: the product in each form in which people use it, and the physical limits. Peers are in peers.ts.
 *
 * @module
 */
import {
  Agent,
  anthropicMessages,
  Conversation,
  createProvider,
  type Message,
  openAiChat,
  type Provider,
  type Tool,
} from "../../mod.ts";
import { type DialectName, fingerprint } from "./corpus.ts";

/** One request. */
export interface Job {
  dialect: DialectName;
  /** Ends in the key of the subject. */
  baseUrl: string;
  /** Whether to offer the tool that the reply calls. */
  tool: boolean;
}

/** What a client has read. */
export interface Outcome {
  deltas: number;
  thinking: string;
  text: string;
  /** Arguments of the call as JSON text, or parsed. */
  input: unknown;
}

/** What is compared with what was sent. */
export function fingerprintOf({ thinking, text, input }: Outcome): string {
  return fingerprint([thinking, text, typeof input === "string" ? input : JSON.stringify(input)]);
}

/** Sends a request and reads the reply to its end. A limit understands nothing, and returns nothing. */
export type Client = (job: Job) => Promise<Outcome | void>;

/** The tool of every request that needs one. */
export const TOOL = {
  name: "write_file",
  description: "Write text to a file.",
  inputSchema: { type: "object", properties: { content: { type: "string" } }, required: ["content"] },
};

const TOOLS: Tool[] = [{ ...TOOL, inputSchema: { ...TOOL.inputSchema, type: "object" }, run: () => "written" }];

const DIALECTS = { openai_chat: openAiChat, anthropic_messages: anthropicMessages };

function prepare({ dialect, baseUrl }: Job): { provider: Provider; conversation: Conversation } {
  const conversation = new Conversation();
  conversation.addUserMessage("Say something.");
  const provider = createProvider({
    dialect: DIALECTS[dialect],
    baseUrl,
    model: "bench-model",
    apiKey: "sk-not-a-secret",
    maxTokens: 4096,
    // The defaults would end the largest of the replies.
    limits: { maxResponseBytes: 2 ** 30, maxEventBytes: 2 ** 26, maxToolInputBytes: 2 ** 26 },
  });
  return { provider, conversation };
}

function outcome({ content }: Message, deltas: number): Outcome {
  const read: Outcome = { deltas, thinking: "", text: "", input: "" };
  for (const block of content) {
    if (block.type === "thinking") read.thinking += block.text;
    else if (block.type === "text") read.text += block.text;
    else if (block.type === "tool_use") read.input = block.input;
  }
  return read;
}

/** `for await` over `provider.stream`, to the final message. */
async function stream(job: Job): Promise<Outcome> {
  const { provider, conversation } = prepare(job);
  let deltas = 0, message: Message | undefined;
  for await (const event of provider.stream(conversation, { tools: job.tool ? TOOLS : [] })) {
    if (event.type === "content_delta") deltas++;
    else if (event.type === "message_complete") message = event.message;
  }
  return outcome(message!, deltas);
}

/** `provider.streamStep` with a receiver. */
async function step(job: Job): Promise<Outcome> {
  const { provider, conversation } = prepare(job);
  let deltas = 0;
  const receiver = {
    onContentDelta() {
      deltas++;
    },
  };
  const message = await provider.streamStep(conversation, receiver, { tools: job.tool ? TOOLS : [] });
  return outcome(message, deltas);
}

/** `for await` over `agent.stream`. */
async function agent(job: Job): Promise<Outcome> {
  const { provider, conversation } = prepare(job);
  let deltas = 0, message: Message | undefined;
  for await (const event of new Agent(provider).stream(conversation)) {
    if (event.type === "content_delta") deltas++;
    else if (event.type === "message_complete") message = event.message;
  }
  return outcome(message!, deltas);
}

/** The request that a limit sends. */
function send({ dialect, baseUrl }: Job): Promise<Response> {
  return fetch(baseUrl + (dialect === "openai_chat" ? "/chat/completions" : "/v1/messages"), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer sk-not-a-secret" },
    body: JSON.stringify({
      model: "bench-model",
      messages: [{ role: "user", content: "Say something." }],
      stream: true,
    }),
  });
}

/** Reads every byte into one buffer, and looks at none. */
async function readOnly(job: Job): Promise<void> {
  const reader = (await send(job)).body!.getReader({ mode: "byob" });
  for (let buffer = new ArrayBuffer(1 << 16);;) {
    const { done, value } = await reader.read(new Uint8Array(buffer));
    if (done) return;
    buffer = value.buffer;
  }
}

/** What most would write: a default fetch, read as text. */
async function plainFetch(job: Job): Promise<void> {
  await (await send(job)).text();
}

/** The least that parses: read, decode, split into lines, `JSON.parse`, append. No grammar, no checks, no events. */
async function readAndParse(job: Job): Promise<Outcome> {
  const read = { deltas: 0, thinking: "", text: "", input: "" };
  const take = job.dialect === "openai_chat" ? takeChunk : takeEvent;
  const reader = (await send(job)).body!.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return read;
    const text = rest + decoder.decode(value, { stream: true });
    let at = 0;
    for (let end; (end = text.indexOf("\n", at)) >= 0; at = end + 1) {
      if (text.startsWith("data: {", at)) take(JSON.parse(text.slice(at + 6, end)), read);
    }
    rest = text.slice(at);
  }
}

interface Read {
  deltas: number;
  thinking: string;
  text: string;
  input: string;
}

interface ChatChunk {
  choices: Array<{
    delta: {
      content?: string;
      reasoning_content?: string;
      tool_calls?: [{ function: { arguments: string } }];
    };
  }>;
}

function takeChunk({ choices: [choice] }: ChatChunk, read: Read): void {
  if (!choice) return;
  const { content, reasoning_content, tool_calls } = choice.delta;
  read.deltas++;
  if (content) read.text += content;
  else if (reasoning_content) read.thinking += reasoning_content;
  else if (tool_calls) read.input += tool_calls[0].function.arguments;
}

interface MessageEvent {
  type: string;
  delta: { type: string; text: string; thinking: string; partial_json: string };
}

function takeEvent({ type, delta }: MessageEvent, read: Read): void {
  if (type !== "content_block_delta") return;
  read.deltas++;
  if (delta.type === "text_delta") read.text += delta.text;
  else if (delta.type === "thinking_delta") read.thinking += delta.thinking;
  else if (delta.type === "input_json_delta") read.input += delta.partial_json;
}

/** All of them by name. */
export const CLIENTS: Record<string, Client> = { stream, step, agent, readOnly, readAndParse, plainFetch };
