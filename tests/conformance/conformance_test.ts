import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { byPath, startReplayServer } from "../support/replay_server.ts";
import { type Chunking, CHUNKINGS, readCases, type WireCase } from "../support/wire_case.ts";
import { readNaively } from "./naive_client.ts";
import { judge, type Outcome, REPLAY_KEY } from "./outcome.ts";
import { ownAnthropic } from "./own_anthropic.ts";
import { ownFound } from "./own_found.ts";
import { ownMore } from "./own_more.ts";
import { ownOpenAi } from "./own_openai.ts";
import { ownOpenAiCalls } from "./own_openai_calls.ts";
import { type Client, commandClient, type Failure, pawlClient, type Row, runConformance, table } from "./runner.ts";

const SEED = Math.floor(Math.random() * 2 ** 32);
const GIVEN = readCases();
const OWN = [...ownOpenAi, ...ownOpenAiCalls, ...ownAnthropic, ...ownMore, ...ownFound];

async function run(
  cases: readonly WireCase[],
  chunkings: readonly Chunking[],
  client: Client,
): Promise<{ rows: Row[]; failures: Failure[] }> {
  await using server = startReplayServer(byPath(cases, SEED));
  const failures: Failure[] = [];
  const rows = await runConformance({
    cases,
    chunkings,
    client,
    origin: server.origin,
    onFailure: (failure) => failures.push(failure),
  });
  return { rows, failures };
}

Deno.test("wire cases: 204, each id once, and ours beside them", () => {
  assertEquals(GIVEN.length, 204);
  const ids = [...GIVEN, ...OWN].map(({ id }) => id);
  assertEquals(new Set(ids).size, ids.length);
  assert(OWN.length >= 250, `${OWN.length} of our own`);
});

for (const chunking of CHUNKINGS) {
  for (const [name, cases] of [["given", GIVEN], ["own", OWN]] as const) {
    Deno.test(`provider.stream: reads every ${name} case rightly, cut ${chunking}`, async () => {
      if (chunking === "random") console.log(`      seed ${SEED}`);
      const { rows, failures } = await run(cases, [chunking], pawlClient(SEED));
      assertEquals(failures, []);
      assertEquals(rows.reduce((sum, row) => sum + row.right, 0), cases.length);
      assertEquals(rows.reduce((sum, row) => sum + row.falseSuccesses, 0), 0);
    });
  }
}

function naive(wireCase: WireCase, _chunking: Chunking, base_url: string): Promise<Outcome> {
  const { dialect } = wireCase;
  return readNaively({ dialect, base_url, api_key: REPLAY_KEY, model: "m", prompt: "Hi", options: {} });
}

Deno.test("runConformance: finds what a naive client gets wrong, false successes too", async () => {
  const cases = GIVEN.filter(({ max_ms, id }) => max_ms === undefined && !id.includes("307"));
  const { rows, failures } = await run(cases, ["recorded"], naive);
  const right = rows.reduce((sum, row) => sum + row.right, 0);
  const falseSuccesses = rows.reduce((sum, row) => sum + row.falseSuccesses, 0);
  assert(right > 40 && right < 160, `${right} right`);
  assert(falseSuccesses > 15, `${falseSuccesses} false successes`);
  assertEquals(failures.length, cases.length - right);
  const shown = table(rows);
  assertStringIncludes(shown, `${right} of ${cases.length}`);
  assertStringIncludes(shown, "false successes");
});

Deno.test("commandClient: drives a program over lines of JSON", async () => {
  const names = ["013-openai-rewrapped-comment", "077-openai-eof-without-terminal", "237-anthropic-event-without-data"];
  const cases = GIVEN.filter(({ id }) => names.includes(id));
  const path = new URL("./naive_client.ts", import.meta.url).pathname;
  const flags = ["run", "--no-check", "--quiet", "--allow-net=127.0.0.1"];
  await using client = commandClient(Deno.execPath(), [...flags, path]);
  const { rows, failures } = await run(cases, ["recorded"], client);
  assertEquals(rows.map(({ right, falseSuccesses }) => [right, falseSuccesses]), [[1, 1], [1, 0]]);
  assertEquals(failures.map(({ id, falseSuccess }) => [id, falseSuccess]), [["077-openai-eof-without-terminal", true]]);
});

Deno.test("runConformance: a client that hangs is late, and one that throws is wrong", async () => {
  const cases = GIVEN.filter(({ id }) => id.startsWith("293")).map((wireCase) => ({ ...wireCase, max_ms: 20 }));
  const hangs = await run(
    cases,
    ["recorded"],
    (_case, _chunking, _url, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  assertStringIncludes(hangs.failures[0]!.problems[0]!, "not finished within 20 ms");
  const throws = await run(cases, ["recorded"], () => Promise.reject(new Error("no")));
  assertStringIncludes(throws.failures[0]!.problems[0]!, "the client threw");
});

const BASE: WireCase = {
  id: "x",
  title: "x",
  dialect: "openai",
  quirk: [],
  source: "",
  response: { status: 200, headers: {}, chunks: [] },
  expect: { outcome: "message", stop: "tool_use", blocks: [] },
};
const CALL = { type: "tool_use", id: "a", name: "f", input: { x: 1 } } as const;
const GOOD: Outcome = { outcome: "message", stop: "tool_use", blocks: [{ ...CALL, input: '{"x":1}', invalid: false }] };

function problems(expect: WireCase["expect"], outcome: Outcome, more: Partial<WireCase> = {}): string[] {
  return judge({ ...BASE, expect, ...more }, outcome).problems;
}

Deno.test("judge: each difference is a problem", () => {
  const means = { outcome: "message", stop: "tool_use", blocks: [CALL] } as const;
  const blocks = (...list: Outcome extends infer O ? O extends { blocks: infer B } ? B : never : never): Outcome => ({
    outcome: "message",
    stop: "tool_use",
    blocks: list,
  });
  const call = GOOD.outcome === "message" ? GOOD.blocks[0]! : assert(false)!;
  assertEquals(problems({ ...means, blocks: [CALL] }, GOOD), []);
  assertEquals(
    problems({ ...means, blocks: [CALL] }, blocks({ type: "text", text: " \n" }, call, { type: "opaque" })),
    [],
  );
  const wrong: [string, WireCase["expect"], Outcome, Partial<WireCase>?][] = [
    ["stop", { ...means, stop: "end_turn", blocks: [CALL] }, GOOD],
    ["0 blocks", { ...means, blocks: [CALL] }, blocks()],
    ["id", { ...means, blocks: [{ ...CALL, id: "b" }] }, GOOD],
    ["id", { ...means, blocks: [{ ...CALL, id: "*" }] }, blocks({ ...call, id: "" })],
    ["name", { ...means, blocks: [{ ...CALL, name: "g" }] }, GOOD],
    ["the input", { ...means, blocks: [{ ...CALL, input: { x: 2 } }] }, GOOD],
    ["invalid", { ...means, blocks: [CALL] }, blocks({ ...call, invalid: true })],
    ["valid", { ...means, blocks: [{ type: "tool_use", invalid_input: "{" }] }, blocks({ ...call, input: "{" })],
    ["raw", { ...means, blocks: [{ type: "tool_use", input_json: '{"x": 1}' }] }, GOOD],
    ["extra", { ...means, blocks: [{ ...CALL, extra: { a: 1 } }] }, GOOD],
    ["usage.input", { ...means, blocks: [CALL], usage: { input: 3 } }, GOOD],
    ["distinct", { ...means, blocks: [CALL, CALL] }, blocks(call, call), { distinct_ids: true }],
    ["wanted text", { ...means, blocks: [{ type: "text", text: "x" }] }, GOOD],
    ["kind", { outcome: "error", kind: "http" }, { outcome: "error", kind: "stream", message: "" }],
    ["status", { outcome: "error", kind: "http", status: 400 }, { outcome: "error", kind: "http", message: "" }],
    ["mentioned", { outcome: "error", kind: "http", mentions: ["why"] }, {
      outcome: "error",
      kind: "http",
      message: "",
    }],
    ["shown", { outcome: "error", kind: "http" }, { outcome: "error", kind: "http", message: "", shown: REPLAY_KEY }],
    ["wanted error", { outcome: "error", kind: "http" }, GOOD],
  ];
  for (const [what, expect, outcome, more] of wrong) {
    const found = problems(expect, outcome, more);
    assert(found.some((problem) => problem.includes(what)), `${what}: ${found.join("; ")}`);
  }
});

Deno.test("judge: an alternative is as good, and only a message where all are errors is a false success", () => {
  const error: WireCase["expect"] = { outcome: "error", kind: "truncated" };
  assertEquals(judge({ ...BASE, expect: error }, GOOD).falseSuccess, true);
  const meant: WireCase["expect"] = { outcome: "message", stop: "tool_use", blocks: [CALL] };
  assertEquals(judge({ ...BASE, expect: error, alternatives: [meant] }, GOOD), { problems: [], falseSuccess: false });
});
