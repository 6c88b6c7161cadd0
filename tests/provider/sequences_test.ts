import { assert, assertEquals, assertRejects } from "@std/assert";
import { Agent, anthropicMessages, Conversation, createProvider, isPawlError, openAiChat, type Tool } from "@pawl/pawl";
import { lintRequest, valueAt } from "../support/request_lint.ts";
import { inOrder, startReplayServer } from "../support/replay_server.ts";
import { readCases, readLines, type Sequence } from "../support/wire_case.ts";

const CASES = new Map(readCases().map((wireCase) => [wireCase.id, wireCase]));
const KEY = "sk-replay-SECRET-0001";

function toolsOf(names: Iterable<string>, ran: string[]): Tool[] {
  return [...names].map((name) => ({
    name,
    description: `The tool ${name}`,
    inputSchema: { type: "object" },
    run: () => {
      ran.push(name);
      return `result of ${name}`;
    },
  }));
}

function matches(wanted: unknown, got: unknown): boolean {
  const pattern = (wanted as { matches?: string } | null)?.matches;
  if (pattern === undefined) return JSON.stringify(wanted) === JSON.stringify(got);
  return new RegExp(pattern, "i").test(typeof got === "string" ? got : JSON.stringify(got) ?? "");
}

/** Sequences of our own; `error` is the code with which the run ends. */
const OWN: (Sequence & { error?: string; ran?: number })[] = [
  {
    name: "openai-gemini-signature",
    cases: ["097-openai-tool-index-missing", "001-openai-baseline"],
    expect: "the thought signature goes back on the same call",
    requests: 2,
    checks: [[2, "messages.-2.tool_calls.0.extra_content", { google: { thought_signature: "c3luLXNpZw==" } }]],
  },
  {
    name: "anthropic-pause",
    cases: ["279-anthropic-stop-pause-server-tool", "229-anthropic-baseline"],
    expect: "a paused turn is sent again as it is, with no user turn behind it",
    requests: 2,
    checks: [
      [2, "messages.-1.role", "assistant"],
      [2, "messages.-1.content.1", {
        type: "server_tool_use",
        id: "srvtoolu_2",
        name: "web_search",
        input: { query: "y" },
      }],
    ],
  },
  {
    name: "anthropic-duplicate-ids",
    cases: ["253-anthropic-tool-duplicate-ids", "229-anthropic-baseline"],
    expect: "each call has an id and a result of its own",
    requests: 2,
    checks: [[2, "messages.-2.content.0.id", "toolu_1"], [2, "messages.-1.content.0.tool_use_id", "toolu_1"]],
  },
  {
    name: "anthropic-json-reply",
    cases: ["304-anthropic-json-reply", "229-anthropic-baseline"],
    expect: "a reply in one document is echoed like a streamed one",
    requests: 2,
    checks: [[2, "messages.-2.content.0", { type: "thinking", thinking: "t", signature: "s" }]],
  },
  {
    name: "anthropic-surrogates",
    cases: ["302-anthropic-surrogate-split", "229-anthropic-baseline"],
    expect: "what came in halves goes back whole",
    requests: 2,
    checks: [[2, "messages.-2.content.1.input", { w: "🚀" }]],
  },
  {
    name: "anthropic-proto",
    cases: ["303-anthropic-tool-args-proto", "229-anthropic-baseline"],
    expect: "a key named __proto__ is a key",
    requests: 2,
    checks: [[2, "messages.-2.content.0.input.k", 1]],
  },
  {
    name: "openai-two-objects",
    cases: ["119-openai-tool-args-concatenated", "001-openai-baseline"],
    expect: "two objects in a row are answered with an error and never run",
    requests: 2,
    checks: [[2, "messages.-1.content", { matches: "^error: " }], [2, "messages.-1.tool_call_id", "call_g"]],
    ran: 0,
  },
  {
    name: "openai-arguments-array",
    cases: ["123-openai-tool-args-array", "001-openai-baseline"],
    expect: "an array is no input",
    requests: 2,
    checks: [[2, "messages.-2.tool_calls.0.function.arguments", '{"INVALID_JSON":"[\\"Oslo\\"]"}']],
    ran: 0,
  },
  {
    name: "openai-reasoning-and-tools",
    cases: ["139-openai-tool-reasoning-text-mix", "001-openai-baseline"],
    expect: "reasoning goes back in its field, and text beside the calls",
    requests: 2,
    checks: [[2, "messages.-3.reasoning_content", "Need both."], [2, "messages.-3.content", "Checking."]],
  },
  {
    name: "openai-loading",
    cases: ["214-openai-http-503-loading", "001-openai-baseline"],
    expect: "a server that loads its model is asked again, with the same bytes",
    requests: 2,
    checks: [],
  },
  {
    name: "openai-many-calls",
    cases: ["145-openai-hostile-many-calls"],
    expect: "more than 32 calls: none runs",
    requests: 1,
    checks: [],
    error: "iteration_limit",
    ran: 0,
  },
  {
    name: "openai-cut-in-a-call",
    cases: ["076-openai-finish-missing-mid-tool"],
    expect: "half a call never runs",
    requests: 1,
    checks: [],
    error: "truncated",
    ran: 0,
  },
  {
    name: "openai-length-is-terminal-own",
    cases: ["059-openai-reasoning-only"],
    expect: "reasoning up to the limit is an output limit",
    requests: 1,
    checks: [],
    error: "output_limit",
  },
  {
    name: "openai-empty-at-a-full-prompt",
    cases: ["082-openai-zero-deltas"],
    expect: "an empty stop at a full prompt is an overflow",
    requests: 1,
    checks: [],
    error: "context_overflow",
  },
  {
    name: "anthropic-max-tokens-in-a-call",
    cases: ["256-anthropic-tool-max-tokens"],
    expect: "the limit inside a call: nothing runs",
    requests: 1,
    checks: [],
    error: "output_limit",
    ran: 0,
  },
  {
    name: "anthropic-refusal",
    cases: ["276-anthropic-stop-refusal-empty"],
    expect: "a refusal without a word is an end",
    requests: 1,
    checks: [],
  },
];

const GIVEN: typeof OWN = readLines<Sequence>("wire/sequences.jsonl").map((sequence) =>
  sequence.name.includes("length-is-terminal")
    ? { ...sequence, error: "output_limit", ran: 0 }
    : sequence.name.includes("invalid")
    ? { ...sequence, ran: 0 }
    : sequence
);

for (const sequence of [...GIVEN, ...OWN]) {
  Deno.test(`Agent.runStep: ${sequence.name}: ${sequence.expect}`, async () => {
    const cases = sequence.cases.map((id) => CASES.get(id)!);
    await using server = startReplayServer(inOrder(cases.map(({ response }) => response)));
    const dialect = cases[0]!.dialect === "openai" ? openAiChat : anthropicMessages;
    const provider = createProvider({
      dialect,
      baseUrl: server.origin,
      model: "syn-model",
      maxTokens: 256,
      apiKey: KEY,
      maxRetries: sequence.name.includes("loading") ? 1 : 0,
    });
    const ran: string[] = [];
    const called = cases.flatMap(({ expect }) => expect.outcome === "message" ? expect.blocks : [])
      .flatMap(({ type, name }) => type === "tool_use" ? [name!] : []);
    const conversation = new Conversation();
    conversation.addUserMessage("Hi");
    const running = () => new Agent(provider, { tools: toolsOf(new Set(called), ran) }).runStep(conversation);
    if (sequence.error !== undefined) {
      const error = await assertRejects(running);
      assert(isPawlError(error), String(error));
      assertEquals(error.code, sequence.error);
    } else {
      const { toolCalls } = await running();
      assertEquals(toolCalls, ran.length);
    }
    assertEquals(ran.length, sequence.ran ?? called.length, `ran: ${ran}`);
    const [first, second] = server.requests;
    if (sequence.name.includes("loading")) assertEquals(second!.text, first!.text);
    assertEquals(server.requests.length, sequence.requests);
    for (const request of server.requests) assertEquals(lintRequest(dialect.name, request, KEY), []);
    for (const [n, path, wanted] of sequence.checks) {
      const got = valueAt(server.requests[n - 1]?.body, path);
      assert(matches(wanted, got), `request ${n}, ${path}: ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
    }
  });
}
