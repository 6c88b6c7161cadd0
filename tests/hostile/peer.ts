/**
 * Other clients as `deno task hostile --command` drives them, from npm when they are asked for:
 *
 *     deno task hostile --dialect openai_chat --command deno run -A --no-check tests/hostile/peer.ts {base} {dialect} official
 *
 * `official` is each vendor's own client, `ai-sdk` the AI SDK. They get the one tool, and as many of the bounds as they know: a time for
 * the head of a reply, two repetitions, eight rounds.
 *
 * @module
 */
import { LIMITS, MAX_ITERATIONS } from "./right.ts";
import TOOLS from "./tools.ts";

const PACKAGES = {
  openai: "openai@7.59.0",
  anthropic: "@anthropic-ai/sdk@1.14.0",
  ai: "ai@7.0.173",
  compatible: "@ai-sdk/openai-compatible@3.0.92",
  claude: "@ai-sdk/anthropic@4.0.105",
};

// Computed, so that checking this project downloads none of them.
async function load<T>(name: keyof typeof PACKAGES): Promise<T> {
  return await import(`npm:${PACKAGES[name]}`);
}

const [TOOL] = TOOLS as [(typeof TOOLS)[number]];
const PROMPT = { role: "user", content: "hello" };
const MODEL = "hostile";

/** Tells one prompt, runs the tool while it is called, and returns the answer. */
type Talk = (baseUrl: string, apiKey: string) => Promise<string>;
type Json = Record<string, unknown>;

interface OpenAi {
  default: new (options: Json) => {
    chat: { completions: { stream(request: Json): { finalChatCompletion(): Promise<Completion> } } };
  };
}

interface Completion {
  choices: { message: { content?: string; tool_calls?: { id: string }[] } }[];
}

async function openAi(baseURL: string, apiKey: string): Promise<string> {
  const { default: OpenAi } = await load<OpenAi>("openai");
  const client = new OpenAi({ baseURL, apiKey, maxRetries: 2, timeout: LIMITS.headersTimeoutMs });
  const { name, description, inputSchema } = TOOL;
  const tools = [{ type: "function", function: { name, description, parameters: inputSchema } }];
  const messages: unknown[] = [PROMPT];
  for (let round = 0; round < MAX_ITERATIONS; round++) {
    const { choices } = await client.chat.completions.stream({ model: MODEL, messages, tools }).finalChatCompletion();
    const { message } = choices[0]!;
    const calls = message.tool_calls ?? [];
    if (calls.length === 0) return message.content ?? "";
    messages.push(message, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: TOOL.run() })));
  }
  throw new Error("no answer");
}

interface Anthropic {
  default: new (options: Json) => { messages: { stream(request: Json): { finalMessage(): Promise<Reply> } } };
}

interface Reply {
  content: { type: string; text: string; id: string }[];
}

async function anthropic(baseURL: string, apiKey: string): Promise<string> {
  const { default: Anthropic } = await load<Anthropic>("anthropic");
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 2, timeout: LIMITS.headersTimeoutMs });
  const tools = [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.inputSchema }];
  const messages: unknown[] = [PROMPT];
  for (let round = 0; round < MAX_ITERATIONS; round++) {
    const request = { model: MODEL, max_tokens: 1024, messages, tools };
    const { content } = await client.messages.stream(request).finalMessage();
    const calls = content.filter(({ type }) => type === "tool_use");
    if (calls.length === 0) return content.map(({ text }) => text ?? "").join("");
    const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: TOOL.run() }));
    messages.push({ role: "assistant", content }, { role: "user", content: results });
  }
  throw new Error("no answer");
}

interface Ai {
  streamText(options: Json): { fullStream: AsyncIterable<{ type: string; error: unknown }>; text: Promise<string> };
  tool(options: Json): unknown;
  jsonSchema(schema: unknown): unknown;
  stepCountIs(count: number): unknown;
}

interface Models {
  createOpenAICompatible(options: Json): (model: string) => unknown;
  createAnthropic(options: Json): (model: string) => unknown;
}

function aiSdk(dialect: string): Talk {
  return async (baseURL, apiKey) => {
    const { streamText, tool, jsonSchema, stepCountIs } = await load<Ai>("ai");
    const model = dialect === "openai_chat"
      ? (await load<Models>("compatible")).createOpenAICompatible({ name: "peer", baseURL, apiKey })(MODEL)
      : (await load<Models>("claude")).createAnthropic({ baseURL: `${baseURL}/v1`, apiKey })(MODEL);
    const { description, inputSchema, run } = TOOL;
    const reply = streamText({
      model,
      prompt: PROMPT.content,
      maxRetries: 2,
      tools: { [TOOL.name]: tool({ description, inputSchema: jsonSchema(inputSchema), execute: run }) },
      stopWhen: stepCountIs(MAX_ITERATIONS),
      // It is thrown below; the default would print it.
      onError() {},
    });
    for await (const { type, error } of reply.fullStream) if (type === "error") throw error;
    return await reply.text;
  };
}

if (import.meta.main) {
  const [base = "", dialect = "", name] = Deno.args;
  const talk = name === "ai-sdk" ? aiSdk(dialect) : dialect === "openai_chat" ? openAi : anthropic;
  try {
    console.log(await talk(base, Deno.env.get("CANARY")!));
  } catch (error) {
    // In its favour: the whole of it would show more than it should.
    console.error(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  }
}
