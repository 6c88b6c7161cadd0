/**
 * Other clients as `deno task conformance --command` drives them, from npm when they are asked for:
 *
 *     deno task conformance --chunking recorded --command deno run -A tests/conformance/peer.ts official
 *
 * `official` is each vendor's own client with its helper that assembles a reply, `ai-sdk` the provider packages of the AI SDK. Each is read
 * in its favour: an error of any kind counts for every kind.
 *
 * @module
 */
import type { Outcome, OutcomeBlock } from "./outcome.ts";
import type { CommandRequest } from "./runner.ts";

const PACKAGES = {
  openai: "openai@7.59.0",
  anthropic: "@anthropic-ai/sdk@1.14.0",
  compatible: "@ai-sdk/openai-compatible@3.0.92",
  claude: "@ai-sdk/anthropic@4.0.105",
};

type Message = Extract<Outcome, { outcome: "message" }>;
type Json = Record<string, unknown>;
type Read = (request: CommandRequest) => Promise<Message>;

// Computed, so that checking this project downloads none of them.
async function load<T>(name: keyof typeof PACKAGES): Promise<T> {
  return await import(`npm:${PACKAGES[name]}`);
}

const STOPS: Record<string, string> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  "tool-calls": "tool_use",
  content_filter: "refusal",
  "content-filter": "refusal",
};

interface Completion {
  choices: {
    message: {
      content?: string;
      reasoning_content?: string;
      tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number };
}

interface OpenAi {
  default: new (options: Json) => {
    chat: { completions: { stream(request: Json): { finalChatCompletion(): Promise<Completion> } } };
  };
}

interface Anthropic {
  default: new (options: Json) => { messages: { stream(request: Json): { finalMessage(): Promise<Json> } } };
}

async function official(): Promise<Read> {
  const [{ default: OpenAi }, { default: Anthropic }] = await Promise.all([
    load<OpenAi>("openai"),
    load<Anthropic>("anthropic"),
  ]);
  return async ({ dialect, base_url: baseURL, api_key: apiKey, model, prompt, options }) => {
    const messages = [{ role: "user", content: prompt }];
    const settings = { baseURL, apiKey, maxRetries: 0, timeout: options.idle_timeout_ms ?? 10_000 };
    if (dialect === "openai") {
      const client = new OpenAi(settings);
      const request = { model, messages, stream_options: { include_usage: true } };
      const { choices: [choice], usage } = await client.chat.completions.stream(request).finalChatCompletion();
      const { content, reasoning_content: thinking, tool_calls: calls } = choice!.message;
      return {
        outcome: "message",
        stop: STOPS[choice!.finish_reason] ?? "other",
        blocks: [
          ...thinking ? [{ type: "thinking", text: thinking }] : [],
          ...content ? [{ type: "text", text: content }] : [],
          ...(calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
            type: "tool_use",
            id,
            name,
            input,
          })),
        ],
        ...usage && { usage: { input: usage.prompt_tokens, output: usage.completion_tokens } },
      };
    }
    const client = new Anthropic(settings);
    const message = await client.messages.stream({ model, messages, max_tokens: 1024 }).finalMessage();
    const { input_tokens: input, output_tokens: output } = message.usage as {
      input_tokens: number;
      output_tokens: number;
    };
    return {
      outcome: "message",
      stop: String(message.stop_reason),
      blocks: (message.content as Json[]).map((block) =>
        ({
          ...block,
          ...block.type === "thinking" && { text: block.thinking },
          ...block.type === "redacted_thinking" && { type: "thinking", redacted: true, text: "" },
        }) as OutcomeBlock
      ),
      usage: { input, output },
    };
  };
}

interface Part {
  type: string;
  id: string;
  delta: string;
  toolCallId: string;
  toolName: string;
  input: string;
  error: unknown;
  finishReason: string | { unified: string };
  usage: { inputTokens: number | { total: number }; outputTokens: number | { total: number } };
  providerMetadata?: { anthropic?: { signature?: string; redactedData?: string } };
}

interface Model {
  doStream(call: Json): Promise<{ stream: AsyncIterable<Part> }>;
}

interface AiSdk {
  createOpenAICompatible(options: Json): (model: string) => Model;
  createAnthropic(options: Json): (model: string) => Model;
}

function total(tokens: number | { total: number }): number {
  return typeof tokens === "object" ? tokens.total : tokens;
}

async function aiSdk(): Promise<Read> {
  const [{ createOpenAICompatible }, { createAnthropic }] = await Promise.all([
    load<AiSdk>("compatible"),
    load<AiSdk>("claude"),
  ]);
  return async ({ dialect, base_url: baseUrl, api_key: apiKey, model, prompt }) => {
    const talk = dialect === "openai"
      ? createOpenAICompatible({ name: "peer", baseURL: baseUrl, apiKey, includeUsage: true })(model)
      : createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey })(model);
    const { stream } = await talk.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      maxOutputTokens: 1024,
    });
    const blocks = new Map<string, OutcomeBlock>();
    const message: Message = { outcome: "message", stop: "none", blocks: [] };
    for await (const part of stream) {
      const [kind, step] = [part.type.replace(/-(start|delta|end)$/, ""), part.type.split("-").at(-1)];
      if (part.type === "error") throw part.error;
      if (kind === "text" || kind === "reasoning") {
        const type = kind === "text" ? "text" : "thinking";
        if (step === "start") blocks.set(`${kind} ${part.id}`, { type, text: "" });
        const block = blocks.get(`${kind} ${part.id}`)!;
        if (step === "delta") block.text += part.delta;
        const { signature, redactedData: data } = part.providerMetadata?.anthropic ?? {};
        if (signature !== undefined) block.signature = signature;
        if (data !== undefined) Object.assign(block, { redacted: true, data });
      } else if (part.type === "tool-call") {
        blocks.set(`call ${blocks.size}`, {
          type: "tool_use",
          id: part.toolCallId,
          name: part.toolName,
          input: part.input,
        });
      } else if (part.type === "finish") {
        const reason = typeof part.finishReason === "object" ? part.finishReason.unified : part.finishReason;
        message.stop = STOPS[reason] ?? "other";
        message.usage = { input: total(part.usage.inputTokens), output: total(part.usage.outputTokens) };
      }
    }
    message.blocks = [...blocks.values()];
    return message;
  };
}

const KINDS = ["http", "stream", "protocol", "truncated", "too_large", "not_sse", "timeout"];

interface Thrown {
  status?: number;
  statusCode?: number;
  message?: string;
  isRetryable?: boolean;
  headers?: Headers;
  responseHeaders?: Record<string, string>;
}

/** Where a client tells nothing about repeating, what its own retries do is taken, and what is most often right. */
function errorOf(error: unknown): Outcome {
  const thrown = (error ?? {}) as Thrown;
  const status = thrown.status ?? thrown.statusCode;
  const headers = new Headers(thrown.headers ?? thrown.responseHeaders);
  const asked = headers.get("x-should-retry");
  const repeats = asked === null
    ? status === undefined || status === 408 || status === 409 || status === 429 || status >= 500
    : asked === "true";
  const wait = Number(headers.get("retry-after-ms") ?? Number(headers.get("retry-after") ?? NaN) * 1000);
  return {
    outcome: "error",
    kind: KINDS,
    ...status !== undefined && { status },
    retryable: thrown.isRetryable ?? repeats,
    ...wait > 0 && { retry_after_ms: wait },
    message: thrown.message ?? String(error),
    shown: Deno.inspect(error, { depth: 6 }),
  };
}

const PEERS: Record<string, () => Promise<Read>> = { official, "ai-sdk": aiSdk };

/** The peer named on the command line answers each line of standard input. */
async function main(): Promise<void> {
  const open = PEERS[Deno.args[0] ?? ""];
  if (open === undefined) throw new TypeError(`Cannot run a peer: name one of ${Object.keys(PEERS).join(", ")}`);
  const read = await open();
  // A rejection that a peer left behind is its own affair.
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  let rest = "";
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const outcome = await read(JSON.parse(line)).catch(errorOf);
      console.log(JSON.stringify(outcome));
    }
  }
}

if (import.meta.main) await main();
