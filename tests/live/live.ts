/**
 * The library against a real llama-server with a model that speaks scripts, over both of its endpoints. `deno task
 * test:live` runs it; where the server cannot be had, every test is skipped and says why.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  anthropicMessages,
  type ContentBlock,
  Conversation,
  createProvider,
  isPawlError,
  openAiChat,
  PawlError,
  probeToolCalling,
  type Provider,
  run,
  type StreamEvent,
  type Tool,
} from "@pawl/pawl";
import { type LlamaServer, startLlamaServer, Unavailable } from "./llama_server.ts";

const CACHE = new URL("../../.cache/llama", import.meta.url).pathname;

async function start(): Promise<LlamaServer | undefined> {
  try {
    return await startLlamaServer(CACHE);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    console.warn(`SKIPPED: the live test needs a llama-server, and ${error.message}`);
    return undefined;
  }
}

const server = await start();
const ignore = server === undefined;
Deno.test.afterAll(async () => await server?.stop());

const DIALECTS = { openai_chat: openAiChat, anthropic_messages: anthropicMessages };
type DialectName = keyof typeof DIALECTS;

function providerOf(dialect: DialectName): Provider {
  const baseUrl = dialect === "openai_chat" ? `${server?.url}/v1` : `${server?.url}`;
  return createProvider({ dialect: DIALECTS[dialect], baseUrl, model: "tiny", maxTokens: 256 });
}

/** Runs a test over both dialects. */
function both(name: string, fn: (provider: Provider) => Promise<void>): void {
  for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
    Deno.test({ name: `${dialect}: ${name}`, ignore, fn: () => fn(providerOf(dialect)) });
  }
}

function tool(name: string, properties: Record<string, string>, run: Tool["run"]): Tool {
  const fields = Object.entries(properties).map(([key, type]) => [key, { type }]);
  return {
    name,
    description: `The tool ${name}`,
    inputSchema: { type: "object", properties: Object.fromEntries(fields), required: Object.keys(properties) },
    run,
  };
}

const TOOLS: Tool[] = [
  tool("get_weather", { city: "string", unit: "string" }, ({ city }) => `Rain in ${city}`),
  tool("get_time", { zone: "string" }, ({ zone }) => `Noon in ${zone}`),
];

function say(script: string): Conversation {
  const conversation = new Conversation();
  conversation.addUserMessage(`Please go ${script}`.trim());
  return conversation;
}

async function collect(provider: Provider, script: string, tools: readonly Tool[]): Promise<StreamEvent[]> {
  return await Array.fromAsync(provider.stream(say(script), tools.length > 0 ? { tools } : {}));
}

/** What both dialects must agree on: no ids, no vendor's names, neighbouring deltas joined. */
function sequence(events: StreamEvent[]): string[] {
  const lines: string[] = [];
  for (const event of events) {
    const { type } = event;
    if (type === "content_delta") {
      const last = lines.at(-1)!;
      const prefix = `delta ${event.index} `;
      if (last.startsWith(prefix)) lines.pop();
      lines.push((last.startsWith(prefix) ? last : prefix) + event.delta);
    } else if (type === "block_start") lines.push(`start ${event.index} ${event.blockType} ${event.toolName ?? ""}`);
    else if (type === "block_complete") lines.push(`complete ${event.index} ${told(event.block)}`);
    else if (type === "message_complete") {
      lines.push(`${event.stopReason}: ${event.message.content.map(told).join(" | ")}`);
    } else lines.push(type);
  }
  return lines;
}

function told(block: ContentBlock): string {
  switch (block.type) {
    case "text":
    case "thinking":
      return `${block.type} ${block.text}`;
    case "tool_use":
      return `${block.name} ${block.input}`;
    default:
      return block.type;
  }
}

interface Expected {
  script: string;
  tools?: Tool[];
  /** The blocks, as told. */
  blocks: string[];
  stop?: string;
}

const PARIS = 'get_weather {"city": "Paris", "unit": "celsius"}';
const FAMILY = "👨‍👩‍👧";

const REPLIES: Expected[] = [
  { script: "", blocks: ["text Everything asked for is done. Two plus two is four."] },
  {
    script: "@think",
    blocks: ["thinking The user wants a thought. Let me weigh it step by step.", "text The answer is forty-two."],
  },
  { script: "@tool", tools: TOOLS, blocks: [PARIS], stop: "tool_use" },
  {
    script: "@thinktool",
    tools: TOOLS,
    blocks: ["thinking I need the weather before I answer.", PARIS.replace("Paris", "Oslo")],
    stop: "tool_use",
  },
  {
    script: "@texttool",
    tools: TOOLS,
    blocks: ["text Let me look that up for you.", 'get_weather {"city": "Rome", "unit": "kelvin"}'],
    stop: "tool_use",
  },
  {
    script: "@parallel",
    tools: TOOLS,
    blocks: [PARIS.replace("Paris", "Lima"), 'get_time {"zone": "America/Lima"}'],
    stop: "tool_use",
  },
  { script: "@utf8", blocks: [`text Snowman ☃, family ${FAMILY}, naïve café, 漢字, emoji 😀 end.`] },
  { script: "@markdown", blocks: ["text # Title\n\n- item **bold**\n- `code`\n\n```ts\nconst x: number = 1;\n```"] },
  { script: "@empty", blocks: [] },
];

for (const { script, tools = [], blocks, stop = "end_turn" } of REPLIES) {
  const name = script || "a plain answer";
  both(`${name} is a message, with usage`, async (provider) => {
    const last = (await collect(provider, script, tools)).at(-1);
    assert(last?.type === "message_complete");
    assertEquals(last.message.content.map((block) => told(block).trimEnd()), blocks);
    assertEquals(last.stopReason, stop);
    assert((last.usage?.inputTokens ?? 0) > 0 && last.usage?.outputTokens !== undefined, "usage is reported");
    assertEquals(last.model, "tiny");
  });
  Deno.test({
    name: `both dialects: ${name} is one sequence of events`,
    ignore,
    async fn() {
      const [openAi, anthropic] = await Promise.all(
        (["openai_chat", "anthropic_messages"] as const).map((dialect) => collect(providerOf(dialect), script, tools)),
      );
      assertEquals(sequence(anthropic!), sequence(openAi!));
    },
  });
}

both("@empty is an error of a run", async (provider) => {
  const error = await assertRejects(() => run(provider, { prompt: "Please go @empty" }), PawlError);
  assertEquals(error.code, "empty_reply");
});

both("a run calls a tool and answers", async (provider) => {
  const { text, iterations, toolCalls } = await run(provider, { prompt: "Please go @tool", tools: TOOLS });
  assertEquals([text, iterations, toolCalls], ["Everything asked for is done. Two plus two is four.", 2, 1]);
});

both("a run of several steps follows what its tools say", async (provider) => {
  const calls: string[] = [];
  const tools = [
    tool("load_skill", { name: "string" }, ({ name }) => {
      calls.push(`load_skill ${name}`);
      return "Be kind. Next: @step2";
    }),
    tool("read_file", { path: "string", lines: "integer" }, ({ path, lines }) => {
      calls.push(`read_file ${path} ${lines}`);
      return "The text of the file";
    }),
  ];
  const result = await run(provider, { system: "You follow steps.", prompt: "Please go @step1", tools });
  assertEquals(calls, ["load_skill greet", "read_file notes.txt 3"]);
  assertEquals([result.iterations, result.toolCalls, result.stopReason], [3, 2, "end_turn"]);
  assertEquals(result.text, "Everything asked for is done. Two plus two is four.");
  assertEquals(result.conversation.messages.map(({ role }) => role).slice(-5), [
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

both("a caller without an end is stopped, and its work is kept", async (provider) => {
  let ticks = 0;
  const tools = [tool("tick", {}, () => `Tick ${++ticks}, once more @forever`)];
  const error = await assertRejects(
    () => run(provider, { prompt: "Please go @forever", tools, maxIterations: 4 }),
    PawlError,
  );
  assertEquals(error.code, "iteration_limit");
  assertEquals(ticks, 4);
  const { partial } = error;
  assert(partial && "iterations" in partial);
  assertEquals([partial.iterations, partial.toolCalls], [4, 4]);
});

both("probeToolCalling tells a model that does not call", async (provider) => {
  const error = await assertRejects(() => probeToolCalling(provider), PawlError);
  assertEquals(error.code, "no_tool_calling");
});

both("a budget of tokens that runs out is output_limit", async (provider) => {
  const error = await assertRejects(() => run(provider, { prompt: "Please go @utf8", maxTokens: 3 }), PawlError);
  assertEquals(error.code, "output_limit");
});

both("listModels lists the model", async (provider) => assertEquals(await provider.listModels(), ["tiny"]));

both("an abort ends a reply with the caller's reason", async (provider) => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const error = await assertRejects(async () => {
    for await (const event of provider.stream(say("@utf8"), { signal: controller.signal })) {
      if (event.type === "content_delta") controller.abort(reason);
    }
  });
  assertEquals(error, reason);
});

Deno.test({
  name: "a prompt beyond the context is context_overflow",
  ignore,
  async fn() {
    const error = await assertRejects(
      () => run(providerOf("openai_chat"), { prompt: "word ".repeat(40_000) }),
      PawlError,
    );
    assert(isPawlError(error, "context_overflow"), error.message);
    assertStringIncludes(error.message, "Cannot");
  },
});
