/**
 * The loop on top of real providers: both dialects, bytes in memory.
 * @module
 */
import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { probe } from "../../src/agent/probe.ts";
import { probeToolCalling } from "../../src/agent/probe_tool_calling.ts";
import { run } from "../../src/agent/run.ts";
import { anthropicMessages } from "../../src/dialects/anthropic_messages.ts";
import { openAiChat } from "../../src/dialects/openai_chat.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { type PartialRun, PawlError } from "../../src/model/error.ts";
import type { AgentEvent } from "../../src/model/event.ts";
import { createProvider, type ProviderOptions } from "../../src/provider/provider.ts";
import { scriptedFetch } from "../../src/wire/scripted.ts";
import { anthropicEncoding, openAiEncoding, type Turn } from "../support/replies.ts";
import { assertAnswered, resultsOf, tool } from "./fake_provider.ts";

const DIALECTS = [[openAiChat, openAiEncoding], [anthropicMessages, anthropicEncoding]] as const;
type Setup = typeof DIALECTS[number];

/** What the endpoint does: a scripted turn, perhaps cut behind some events or silent from there on; or a response of its own. */
type Answer = Turn & { cutAt?: number; silentAt?: number } | Response;

class Endpoint {
  readonly bodies: Record<string, unknown>[] = [];
  /** Bodies that are neither at their end nor cancelled. */
  open = 0;
  readonly #encoding: Setup[1];
  readonly #answers: Answer[];

  constructor(encoding: Setup[1], answers: readonly Answer[]) {
    this.#encoding = encoding;
    this.#answers = [...answers];
  }

  readonly fetch: typeof fetch = (_, init) => {
    init?.signal?.throwIfAborted();
    this.bodies.push(JSON.parse(String(init?.body ?? "null")));
    const answer = this.#answers.shift();
    if (answer === undefined) return Promise.reject(new Error("a request that the script does not know"));
    if (answer instanceof Response) return Promise.resolve(answer);
    return Promise.resolve(
      new Response(this.#body(answer, init?.signal), { headers: { "content-type": "text/event-stream" } }),
    );
  };

  #body({ cutAt = Infinity, silentAt = Infinity, ...turn }: Exclude<Answer, Response>, signal?: AbortSignal | null) {
    const events = this.#encoding.stream(turn, { model: "m", serial: this.bodies.length, usage: true });
    let at = 0;
    this.open++;
    const close = (): void => {
      this.open--;
    };
    return new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (at === silentAt) {
          return new Promise<void>((_, reject) =>
            signal?.addEventListener("abort", () => reject(signal.reason), { once: true })
          ).catch(() => {});
        }
        const event = at < cutAt ? events[at++] : undefined;
        if (event !== undefined) return controller.enqueue(new TextEncoder().encode(event));
        close();
        controller.close();
      },
      cancel: close,
    }, { highWaterMark: 0 });
  }
}

function stage([dialect, encoding]: Setup, answers: readonly Answer[], more: Partial<ProviderOptions> = {}) {
  const endpoint = new Endpoint(encoding, answers);
  const provider = createProvider({
    dialect,
    baseUrl: "http://localhost:1",
    model: "m",
    maxTokens: 100,
    apiKey: "s3cret-key-123",
    maxRetries: 0,
    fetch: endpoint.fetch,
    ...more,
  });
  const conversation = new Conversation();
  conversation.addUserMessage("go");
  return { endpoint, provider, conversation };
}

const read = tool("read", ({ path }) => `text of ${path}, s3cret-key-123`, {
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
});
const bad = tool("bad", () => Promise.reject(new Error("no such thing")));

/** Thoughts, parallel calls of which one is unknown, one fails and one lacks its input, and an answer. */
const SCRIPT: readonly Turn[] = [
  {
    thinking: "Which file?",
    text: "I look at it.",
    calls: [{ name: "read", input: { path: "a.ts" } }, { name: "nope", input: {} }, { name: "bad", input: {} }, {
      name: "read",
      input: {},
    }],
  },
  { calls: [{ name: "read", input: { path: "b.ts" } }] },
  { thinking: "Done.", text: "It is fine." },
];
const TOOLS: AgentOptions = { tools: [read, bad] };

function each(name: string, body: (setup: Setup) => Promise<void>): void {
  for (const setup of DIALECTS) Deno.test(`${name} (${setup[0].name})`, () => body(setup));
}

each("Agent runs tools over a real provider, each call with its result", async (setup) => {
  const { endpoint, provider, conversation } = stage(setup, SCRIPT);
  const result = await new Agent(provider, TOOLS).runStep(conversation);
  assertEquals([result.text, result.iterations, result.toolCalls, result.stopReason], [
    "It is fine.",
    3,
    3,
    "end_turn",
  ]);
  assertEquals(result.usage.inputTokens, 126);
  assertEquals(resultsOf(conversation).map(({ content }) => content), [
    "text of a.ts, [redacted]",
    'error: unknown tool "nope", the tools are: read, bad',
    "error: no such thing",
    'error: invalid input: "path" is missing',
    "text of b.ts, [redacted]",
  ]);
  assertAnswered(conversation);
  assertEquals([endpoint.bodies.length, endpoint.open], [3, 0]);
  const sent = JSON.stringify(endpoint.bodies[2]);
  assert(!sent.includes("s3cret") && sent.includes("error: no such thing") && !sent.includes("error: error:"));
});

Deno.test("Agent.stream tells the same events in both dialects", async () => {
  const told = await Promise.all(DIALECTS.map(async (setup) => {
    const { provider, conversation } = stage(setup, SCRIPT);
    const events: unknown[] = [];
    for await (const event of new Agent(provider, TOOLS).stream(conversation)) events.push(bare(event));
    return events;
  }));
  assertEquals(told[0], told[1]);
  assert(told[0]!.length > 40);
});

/** Without what differs by dialect and cannot be alike: ids, origins, signatures and fields of reasoning. */
function bare(event: AgentEvent): unknown {
  const own = ["id", "toolId", "toolUseId", "origin", "signature", "field", "rawStopReason", "usage"];
  return JSON.parse(JSON.stringify(event, (key, value) => own.includes(key) ? undefined : value));
}

each("Agent.stream yields what Provider.stream yields", async (setup) => {
  const direct = stage(setup, SCRIPT);
  const expected = await Array.fromAsync(direct.provider.stream(direct.conversation, { tools: [read, bad] }));
  const { provider, conversation } = stage(setup, SCRIPT);
  const events: AgentEvent[] = [];
  for await (const event of new Agent(provider, TOOLS).stream(conversation)) {
    events.push(event);
    if (event.type === "message_complete") break;
  }
  assertEquals(events, expected);
});

each("Agent ends with the provider's error and all the work done", async (setup) => {
  const { provider, conversation, endpoint } = stage(setup, [SCRIPT[1]!, {
    text: "half of it and a lot more",
    cutAt: 5,
  }]);
  const error = await assertRejects(() => new Agent(provider, TOOLS).runStep(conversation), PawlError);
  const partial = error.partial as PartialRun;
  assertEquals([error.code, partial.iterations, partial.toolCalls], ["truncated", 1, 1]);
  assert(partial.text !== "" && "half of it and".startsWith(partial.text));
  assertEquals(partial.message?.content.length, 1);
  assertEquals(conversation.messages.length, 3);
  assertAnswered(conversation);
  assertEquals(endpoint.open, 0);
});

each("Agent reports output_limit, and the cut call is neither run nor kept", async (setup) => {
  const turn: Turn = { text: "I will", calls: [{ name: "read", input: { path: "a" } }], stop: "max_tokens" };
  const { provider, conversation } = stage(setup, [turn]);
  const error = await assertRejects(() => new Agent(provider, TOOLS).runStep(conversation), PawlError);
  const partial = error.partial as PartialRun;
  assertEquals([error.code, partial.toolCalls, partial.text, conversation.messages.length], [
    "output_limit",
    0,
    "I will",
    1,
  ]);
});

each("Agent reports empty_reply on reasoning alone, leaked or not", async (setup) => {
  for (const turn of [{ thinking: "hm" }, { text: "<think>hm</think>" }, {}]) {
    const { provider, conversation } = stage(setup, [turn]);
    const error = await assertRejects(() => new Agent(provider).runStep(conversation), PawlError);
    assertEquals(error.code, "empty_reply");
  }
});

each("Agent ends a request at its deadline, with the broken reply in partial", async (setup) => {
  const { provider, conversation, endpoint } = stage(setup, [{ text: "one two three", silentAt: 5 }]);
  const error = await assertRejects(() => new Agent(provider, { deadlineMs: 100 }).runStep(conversation), PawlError);
  const partial = error.partial as PartialRun;
  assertEquals([error.code, endpoint.open], ["budget", 0]);
  assert(partial.text.startsWith("one"));
});

each("Agent can be aborted at every event over a real provider", async (setup) => {
  const events: AgentEvent[] = [];
  const whole = stage(setup, SCRIPT);
  for await (const event of new Agent(whole.provider, TOOLS).stream(whole.conversation)) events.push(event);
  for (const at of events.keys()) {
    const { provider, conversation, endpoint } = stage(setup, SCRIPT);
    const stop = new AbortController();
    const reason = { at };
    let seen = 0;
    const told = () => void (seen++ === at && stop.abort(reason));
    const thrown = await new Agent(provider, TOOLS).runStep(conversation, {
      onMessageStart: told,
      onBlockStart: told,
      onContentDelta: told,
      onBlockComplete: told,
      onMessageComplete: told,
      onToolStart: told,
      onToolResult: told,
    }, { signal: stop.signal }).catch((error: unknown) => error);
    assertStrictEquals(thrown, reason);
    assertEquals([seen, endpoint.open], [at + 1, 0]);
    assertAnswered(conversation);
    provider.encode(conversation, { tools: [read, bad] });
  }
  assert(events.length > 40);
});

each("Agent can be aborted while the endpoint is silent", async (setup) => {
  for (let silentAt = 0; silentAt < 8; silentAt++) {
    const { provider, conversation, endpoint } = stage(setup, [{ ...SCRIPT[0]!, silentAt }]);
    const stop = new AbortController();
    setTimeout(() => stop.abort("enough"), 5);
    const thrown = await new Agent(provider, TOOLS).runStep(conversation, {}, { signal: stop.signal }).catch((
      e: unknown,
    ) => e);
    assertEquals([thrown, endpoint.open, conversation.messages.length], ["enough", 0, 1]);
  }
});

each("Agent runs and can be aborted over byte streams", async ([dialect, encoding]) => {
  const wire = SCRIPT.map((turn, i) => encoding.stream(turn, { model: "m", serial: i + 1, usage: true }));
  for (let cut = 0; cut < wire[0]!.length - 1; cut++) {
    const fetch = scriptedFetch([{ chunks: wire[0]!.slice(0, cut), end: "stall" }]);
    const { provider, conversation } = stage([dialect, encoding], [], { fetch });
    const stop = new AbortController();
    setTimeout(() => stop.abort("enough"), 2);
    const run = new Agent(provider, TOOLS).runStep(conversation, {}, { signal: stop.signal });
    assertEquals([await run.catch((e: unknown) => e), conversation.messages.length], ["enough", 1]);
  }
  const fetch = scriptedFetch(wire.map((chunks) => ({ chunks })));
  const { provider, conversation } = stage([dialect, encoding], [], { fetch });
  const { text, toolCalls } = await new Agent(provider, TOOLS).runStep(conversation);
  assertEquals([text, toolCalls, fetch.requests.length], ["It is fine.", 3, 3]);
});

each("run asks again over a real provider", async (setup) => {
  const { provider, endpoint } = stage(setup, [{ text: "Oslo" }, { text: 'Sorry: {"city": "Oslo"}' }]);
  const { value, iterations } = await run(provider, {
    system: "Be brief.",
    prompt: "Capital of Norway?",
    schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  });
  assertEquals([value, iterations, endpoint.bodies.length], [{ city: "Oslo" }, 2, 2]);
  assertStringIncludes(JSON.stringify(endpoint.bodies[0]), "JSON Schema");
});

each("probeToolCalling asks for one call with 256 tokens", async (setup) => {
  const { provider, endpoint } = stage(setup, [{ calls: [{ name: "ping", input: { message: "ping" } }] }]);
  await probeToolCalling(provider);
  const [body] = endpoint.bodies;
  assertEquals([endpoint.bodies.length, body?.max_tokens], [1, 256]);
  assertStringIncludes(JSON.stringify(body?.tools), "ping");
  assert(body !== undefined && !("response_format" in body));
});

each("probeToolCalling keeps what an upstream says to itself", async (setup) => {
  for (const status of [400, 500]) {
    const { provider, endpoint } = stage(setup, [
      Response.json({ error: { message: "LEAK s3cret-key-123" } }, { status }),
    ], {
      maxRetries: 2,
    });
    const error = await assertRejects(() => probeToolCalling(provider), PawlError);
    assertEquals([error.code, endpoint.bodies.length], ["http_status", 1]);
    assert(!/LEAK|s3cret|400|500/.test(error.message));
  }
});

each("probe passes at an endpoint that can do everything", async (setup) => {
  const ping = { name: "ping", input: { message: "a" } };
  const numbers = Array.from({ length: 20 }, (_, i) => i + 1).join(", ");
  const { provider } = stage(setup, [
    Response.json({ data: [{ id: "m" }] }),
    { thinking: "Count.", text: `${numbers}. PAWL` },
    { calls: [ping] },
    { calls: [ping, ping] },
    { text: "1, 2, 3", stop: "max_tokens" },
  ]);
  const report = await probe(provider);
  assertEquals(report.checks.filter(({ status }) => status !== "pass").map(({ name }) => name), ["context"]);
  assertEquals([report.ok, report.dialect], [true, setup[0].name]);
});

each("probe repeats nothing, the list of models neither", async (setup) => {
  const busy = [1, 2].map(() => new Response("busy", { status: 503 }));
  const { provider, endpoint } = stage(setup, busy, { maxRetries: 2 });
  await probe(provider);
  assertEquals(endpoint.bodies.length, 2);
});
