import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  anthropicMessages,
  type ContentBlock,
  Conversation,
  createProvider,
  isPawlError,
  type MessageCompleteEvent,
  openAiChat,
  type PartialReply,
  type PawlError,
  type StreamEvent,
} from "@pawl/pawl";
import { checkReply, joinDeltas } from "../support/grammar.ts";
import { memoryFetch } from "../support/memory_fetch.ts";
import { CHUNKINGS, readLines, seeded, steps } from "../support/wire_case.ts";

interface OpenAiSays {
  chunks: number;
  done: boolean;
  usageChunk: boolean;
  choices: Record<string, {
    content: string;
    reasoning: string;
    tools: Record<string, { name: string; arguments: string }>;
    finish: string | null;
  }>;
}

interface AnthropicSays {
  order: string[];
  blocks: Record<string, { type: string; text: string; name?: string }>;
  stop: string;
}

interface Recording {
  group: "openai" | "anthropic" | "server" | "responses";
  name: string;
  method: string;
  url: string;
  status: number;
  contentType: string;
  cut?: true;
  note?: string;
  /** Absent: the body is one JSON document that says itself what it means. */
  says?: OpenAiSays | AnthropicSays;
  body: string;
}

const ALL = readLines<Recording>("recordings/llama_server.jsonl");
const DIALECTS = { openai: openAiChat, anthropic: anthropicMessages };
/** Both endpoints of a reply; a model list, a token count and other protocols are looked at elsewhere. */
const REPLIES = ALL.filter(({ group, method, url }) =>
  (group === "openai" && method === "POST" && url === "/v1/chat/completions") ||
  (group === "anthropic" && url === "/v1/messages")
);

interface Reading {
  events: StreamEvent[];
  complete?: MessageCompleteEvent;
  error?: PawlError;
}

async function read(recording: Recording, chunking = CHUNKINGS[1]!, seed = 1): Promise<Reading> {
  const { group, status, contentType, body, cut } = recording;
  const made = steps([body], chunking, seeded(seed));
  const provider = createProvider({
    dialect: DIALECTS[group as "openai"],
    baseUrl: "http://memory.invalid/v1",
    model: "tiny",
    maxTokens: 200,
    maxRetries: 0,
    thinkTags: "off",
    fetch: memoryFetch([{
      status,
      headers: { "content-type": contentType },
      steps: cut ? [...made, { abort: true }] : made,
    }], { byob: seed % 2 === 0 }),
  });
  const conversation = new Conversation();
  conversation.addUserMessage("hi");
  const events: StreamEvent[] = [];
  try {
    for await (const event of provider.stream(conversation)) events.push(event);
  } catch (error) {
    checkReply(events, error);
    assert(isPawlError(error), String(error));
    return { events: joinDeltas(events), error };
  }
  checkReply(events);
  return { events: joinDeltas(events), complete: events[events.length - 1] as MessageCompleteEvent };
}

function joined(blocks: readonly ContentBlock[], type: "text" | "thinking"): string {
  return blocks.map((block) => block.type === type ? (block as { text: string }).text : "").join("");
}

function calls(blocks: readonly ContentBlock[]): string[] {
  return blocks.flatMap((block) => block.type === "tool_use" ? [`${block.name} ${block.input}`] : []);
}

/** Long texts are told in the index by their beginning and their length. */
function assertText(actual: string, told: string, what: string): void {
  const [, begin, length] = /^([^]*)\.\.\. \((\d+) chars\)$/.exec(told) ?? [];
  if (begin === undefined) return assertEquals(actual, told, what);
  assert(actual.startsWith(begin), what);
  assertEquals(actual.length, Number(length), what);
}

const STOPS: Record<string, string> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  end_turn: "end_turn",
  max_tokens: "max_tokens",
  tool_use: "tool_use",
};

function assertOpenAi({ name, says }: Recording & { says: OpenAiSays }, { complete, error }: Reading): void {
  const choices = Object.values(says.choices);
  const content = complete?.message.content ?? (error?.partial as PartialReply).message.content;
  assertText(joined(content, "text"), choices.map(({ content }) => content).join(""), `${name}: text`);
  assertText(joined(content, "thinking"), choices.map(({ reasoning }) => reasoning).join(""), `${name}: reasoning`);
  const told = choices.flatMap(({ tools }) => Object.values(tools)).map((tool) => `${tool.name} ${tool.arguments}`);
  assertEquals(calls(content), told, `${name}: calls`);
  const [{ finish }] = choices as [OpenAiSays["choices"][string]];
  if (finish === null) assertEquals(error?.code, "truncated", name);
  else assertEquals(complete?.stopReason, STOPS[finish], name);
  if (says.usageChunk) {
    assert(complete?.usage?.inputTokens! > 0 && complete?.usage?.outputTokens! > 0, `${name}: usage`);
  }
}

function assertAnthropic({ name, says }: Recording & { says: AnthropicSays }, { complete }: Reading): void {
  const content = complete!.message.content;
  const told = Object.values(says.blocks);
  assertEquals(content.map(({ type }) => type), told.map(({ type }) => type) as never, `${name}: blocks`);
  for (const [i, { type, text, name: tool }] of told.entries()) {
    const block = content[i]!;
    if (block.type === "tool_use") assertEquals([type, block.name, block.input], ["tool_use", tool!, text], name);
    else assertText((block as { text: string }).text, text, name);
  }
  assertEquals(complete!.stopReason, STOPS[says.stop]);
  assert(complete!.usage?.inputTokens! > 0 && complete!.usage?.outputTokens! > 0, `${name}: usage`);
}

/** A reply that came as one JSON document. */
// deno-lint-ignore no-explicit-any -- what a recording holds
function assertDocument({ group, name, body }: Recording, { complete, error }: Reading, json: any): void {
  if (json.error) {
    assert(error !== undefined, name);
    return;
  }
  const content = complete!.message.content;
  if (group === "openai") {
    const [{ message, finish_reason }] = json.choices;
    assertEquals(joined(content, "text"), message.content ?? "", name);
    assertEquals(joined(content, "thinking"), message.reasoning_content ?? "", name);
    // deno-lint-ignore no-explicit-any -- as above
    const told = (message.tool_calls ?? []).map(({ function: fn }: any) => `${fn.name} ${fn.arguments}`);
    assertEquals(calls(content), told, name);
    assertEquals(complete!.stopReason, STOPS[finish_reason], name);
    assertEquals(complete!.usage?.inputTokens, json.usage.prompt_tokens, body);
  } else {
    assertEquals(content.map(({ type }) => type), json.content.map(({ type }: { type: string }) => type), name);
    assertEquals(complete!.stopReason, STOPS[json.stop_reason], name);
    const { input_tokens, cache_read_input_tokens = 0, output_tokens } = json.usage;
    assertEquals(complete!.usage?.inputTokens, input_tokens + cache_read_input_tokens, name);
    assertEquals(complete!.usage?.outputTokens, output_tokens, name);
  }
}

Deno.test("recordings: 102 of a real llama-server, most of them replies", () => {
  assertEquals(ALL.length, 102);
  assert(REPLIES.length >= 90, String(REPLIES.length));
});

Deno.test("provider.stream: every recorded reply means what the index says", async () => {
  for (const recording of REPLIES) {
    const { says, status, body, group, name } = recording;
    // Two choices side by side are one message for pawl, which never asks for two (rule R-25, quirks O-09 and O-13).
    if (name === "n2-stream") continue;
    const reading = await read(recording);
    if (status !== 200) {
      const { error } = reading;
      assert(error !== undefined, name);
      const { error: { message } } = JSON.parse(body);
      assert(error.code === "http_status" || error.code === "context_overflow", `${name}: ${error.code}`);
      assertEquals(error.status, status, name);
      if (error.code === "context_overflow") assertStringIncludes(message, "context size");
      if (status !== 401) assertStringIncludes(error.message, message.slice(0, 40).split('"')[0].trim());
      else assert(!error.message.includes(message));
      assertEquals(error.retryable, status >= 500, name);
    } else if (says === undefined) assertDocument(recording, reading, JSON.parse(body));
    else if (group === "openai") assertOpenAi(recording as Recording & { says: OpenAiSays }, reading);
    else assertAnthropic(recording as Recording & { says: AnthropicSays }, reading);
  }
});

Deno.test("provider.stream: every recorded reply means the same in every cut", async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  console.log(`      seed ${seed}`);
  for (const recording of REPLIES.filter(({ body }) => body.length < 20000)) {
    const whole = await read(recording);
    for (const chunking of ["bytes", "random"] as const) {
      const cut = await read(recording, chunking, seed);
      assertEquals(cut.events, whole.events, recording.name);
      assertEquals([cut.error?.code, cut.error?.message], [whole.error?.code, whole.error?.message]);
    }
  }
});

Deno.test("provider.stream: a server that was killed has not finished its reply", async () => {
  const killed = ALL.find(({ name }) => name === "killed-mid-stream")!;
  const { error, events } = await read(killed);
  assertEquals(error?.code, "truncated");
  assert(error?.retryable);
  assertEquals(events.filter(({ type }) => type === "message_complete"), []);
  assertEquals(joined((error?.partial as PartialReply).message.content, "text").length, 2482);
});

Deno.test("provider.listModels: reads the recorded list", async () => {
  const { body } = ALL.find(({ name }) => name === "models")!;
  for (const dialect of [openAiChat, anthropicMessages]) {
    const answers = [{ status: 200, headers: { "content-type": "application/json" }, steps: steps([body], "whole") }];
    const fetch = memoryFetch(answers);
    const provider = createProvider({ dialect, baseUrl: "http://memory.invalid", model: "tiny", maxTokens: 9, fetch });
    assertEquals(await provider.listModels(), ["tiny"]);
  }
});

Deno.test("provider.stream: a reply of OpenAI's other protocol is no reply", async () => {
  for (const recording of ALL.filter(({ group }) => group === "responses")) {
    for (const group of ["openai", "anthropic"] as const) {
      const { error } = await read({ ...recording, group });
      assert(error?.code === "malformed_stream" || error?.code === "truncated", recording.name);
    }
  }
});

Deno.test("provider.stream: both endpoints of the server tell one sequence for one script", async () => {
  const shared = REPLIES.filter(({ group, name, status }) =>
    group === "openai" && status === 200 && name.endsWith("-stream") && name !== "stop-sequence-stream" &&
    REPLIES.some((other) => other.group === "anthropic" && other.name === name && other.status === 200)
  );
  assert(shared.length >= 10, String(shared.length));
  const plain = (events: StreamEvent[]) =>
    JSON.parse(JSON.stringify(events, (key, value) => {
      const own = ["field", "origin", "signature", "id", "toolId", "model", "usage", "warnings", "rawStopReason"];
      return own.includes(key) ? undefined : value;
    }));
  for (const recording of shared) {
    const other = REPLIES.find(({ group, name }) => group === "anthropic" && name === recording.name)!;
    assertEquals(plain((await read(other)).events), plain((await read(recording)).events), recording.name);
  }
});
