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

for (const sequence of readLines<Sequence>("wire/sequences.jsonl")) {
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
      maxRetries: 0,
    });
    const ran: string[] = [];
    const called = cases.flatMap(({ expect }) => expect.outcome === "message" ? expect.blocks : [])
      .flatMap(({ type, name }) => type === "tool_use" ? [name!] : []);
    const conversation = new Conversation();
    conversation.addUserMessage("Hi");
    const running = () => new Agent(provider, { tools: toolsOf(new Set(called), ran) }).runStep(conversation);
    if (sequence.name.includes("length-is-terminal")) {
      const error = await assertRejects(running);
      assert(isPawlError(error, "output_limit"));
      assertEquals(ran, []);
    } else {
      const { text, toolCalls } = await running();
      assert(text !== "");
      assertEquals(toolCalls, sequence.name.includes("invalid") ? 0 : called.length);
    }
    assertEquals(server.requests.length, sequence.requests);
    for (const request of server.requests) assertEquals(lintRequest(dialect.name, request, KEY), []);
    for (const [n, path, wanted] of sequence.checks) {
      const got = valueAt(server.requests[n - 1]?.body, path);
      assert(matches(wanted, got), `request ${n}, ${path}: ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
    }
  });
}
