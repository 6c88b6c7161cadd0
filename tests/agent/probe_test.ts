import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { probe, type ProbeCheck } from "../../src/agent/probe.ts";
import { probeToolCalling } from "../../src/agent/probe_tool_calling.ts";
import { anthropicMessages } from "../../src/dialects/anthropic_messages.ts";
import { PawlError, type PawlErrorCode } from "../../src/model/error.ts";
import { createProvider } from "../../src/provider/provider.ts";
import { calls, FakeProvider, type Reply, says, use } from "./fake_provider.ts";

const ping = calls(["ping", { message: "ping" }]);

async function probeFails(reply: Reply): Promise<{ error: PawlError; provider: FakeProvider }> {
  const provider = new FakeProvider([reply]);
  const error = await assertRejects(() => probeToolCalling(provider), PawlError);
  assertEquals([provider.requests.length, provider.open], [1, 0]);
  return { error, provider };
}

Deno.test("probeToolCalling sends rig's one request and passes on a call of ping", async () => {
  const provider = new FakeProvider([ping]);
  assertEquals(await probeToolCalling(provider), undefined);
  assertEquals(provider.requests as unknown, [{
    messages: [
      {
        role: "system",
        content: [{ type: "text", text: "You are a connection probe. Call the ping tool. Do not answer with text." }],
      },
      { role: "user", content: [{ type: "text", text: 'Call the ping tool with message "ping".' }] },
    ],
    options: { maxRetries: 0, maxTokens: 256, tools: ["ping"] },
  }]);
});

Deno.test("probeToolCalling passes whatever else the reply says", async () => {
  const content = [{ type: "text" as const, text: "Sure" }, use("other", {}, "c1"), {
    ...use("ping", "{", "c2"),
    invalid: true as const,
  }];
  await probeToolCalling(new FakeProvider([{ content, stopReason: "end_turn" }]));
});

Deno.test("probeToolCalling fails on text, and on a call of another tool, without a word of the reply", async () => {
  for (const reply of [says("I would call ping <b>now</b>"), calls(["pong_now"]), { content: [] }]) {
    const { error } = await probeFails(reply);
    assertEquals([error.code, error.retryable], ["no_tool_calling", false]);
    assert(!/would|pong_now/.test(error.message));
  }
});

Deno.test("probeToolCalling tells a spent budget from a model without tools", async () => {
  for (const reply of [says("hm", { stopReason: "max_tokens" }), { ...ping, stopReason: "max_tokens" as const }]) {
    assertEquals((await probeFails(reply)).error.code, "output_limit");
  }
});

Deno.test("probeToolCalling keeps upstream failures opaque, with their code", async () => {
  const rows: [PawlErrorCode, number?][] = [["http_status", 400], ["http_status", 500], ["unreachable"], [
    "empty_reply",
  ], ["backend"]];
  for (const [code, status] of rows) {
    const upstream = new PawlError(code, "Connection refused by 10.0.0.1: <secret> 400 500", {
      ...(status && { status }),
    });
    const { error } = await probeFails({ error: upstream });
    assertEquals([error.code, error.status, error.partial], [code, status, undefined]);
    assertEquals(error.message, "Cannot probe the model: the connection failed");
  }
});

Deno.test("probeToolCalling passes on what is about the caller: abort, permission, a wrong option", async () => {
  const permission = new PawlError("permission", "Deno refused: --allow-net=localhost:1");
  assertEquals((await probeFails({ error: permission })).error, permission);
  await assertRejects(() => probeToolCalling(new FakeProvider([{ error: new TypeError("x") }])), TypeError, "x");
  const reason = new PawlError("backend", "the caller's own");
  const thrown = await assertRejects(() =>
    probeToolCalling(new FakeProvider([ping]), { signal: AbortSignal.abort(reason) })
  );
  assertEquals(thrown, reason);
});

// the diagnosed form

const COUNT = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20. PAWL";
const usage = { inputTokens: 20, outputTokens: 60 };
const two = calls(["ping", { message: "a" }, "c1"], ["ping", { message: "b" }, "c2"]);
const cut = says("1, 2, 3", { stopReason: "max_tokens" });

function thinks(text: string, field?: string): Reply {
  return { content: [{ type: "thinking", text: "count", ...(field && { field }) }, { type: "text", text }], usage };
}

async function probed(replies: Reply[], models: string[] | Error = ["fake-1"], context?: number) {
  const provider = new FakeProvider(replies);
  provider.models = models;
  const told: ProbeCheck[] = [];
  const report = await probe(provider, { onCheck: (check) => void told.push(check), ...(context && { context }) });
  assertEquals(new Set(told), new Set(report.checks));
  assertEquals(provider.open, 0);
  return { provider, report, checks: Object.fromEntries(report.checks.map((check) => [check.name, check])) };
}

Deno.test("probe passes everything at a good endpoint", async () => {
  const { report, provider } = await probed([thinks(COUNT, "reasoning_content"), ping, two, cut]);
  assertEquals(report.checks.map(({ name, status }) => `${name} ${status}`), [
    "reachable pass",
    "model pass",
    "streaming pass",
    "usage pass",
    "tool_call pass",
    "parallel_calls pass",
    "reasoning pass",
    "token_field pass",
    "system_role pass",
    "context skip",
  ]);
  assertEquals([report.ok, report.dialect, report.model], [true, "fake", "fake-1"]);
  assert(report.checks.every((check) => check.hint === undefined && check.detail !== ""));
  assertStringIncludes(report.checks[6]!.detail, "reasoning_content");
  assert(provider.requests.every(({ options }) => options.maxRetries === 0));
  assertEquals(provider.requests.length, 4);
});

Deno.test("probe stops at an endpoint that does not answer", async () => {
  const { report, provider } = await probed([], new PawlError("unreachable", "Connection refused"));
  assertEquals([report.ok, provider.requests.length], [false, 0]);
  assertEquals(report.checks[0], {
    name: "reachable",
    status: "fail",
    detail: "Connection refused",
    hint: "check host and port, and that the server runs",
  });
  assert(report.checks.slice(1).every(({ status }) => status === "skip"));
  assertEquals(report.checks.length, 10);
});

Deno.test("probe goes on behind an HTTP error, whose text says what to do", async () => {
  for (const status of [401, 404, 503]) {
    const error = new PawlError("http_status", `HTTP ${status}, look there`, { status });
    const { report, checks } = await probed([{ error }], error);
    assertEquals([report.ok, checks.reachable?.status, checks.streaming?.status], [false, "pass", "fail"]);
    assertEquals([checks.streaming?.detail, checks.streaming?.hint], [error.message, undefined]);
    assertEquals(checks.tool_call?.status, "skip");
  }
});

Deno.test("probe knows a model that is not listed by its answer, and names the listed ones otherwise", async () => {
  const good = [says(COUNT), ping, two, cut];
  for (const models of [["other"], new PawlError("http_status", "HTTP 404", { status: 404 })]) {
    const { report, checks } = await probed(good, models);
    const detail = Array.isArray(models) ? "not listed" : "no list (404)";
    assertEquals([report.ok, checks.model?.status, checks.model?.detail], [true, "pass", detail]);
  }
  const error = new PawlError("http_status", "HTTP 404", { status: 404 });
  const { checks } = await probed([{ error }], ["one", "two\u001b[31m"]);
  assertEquals(checks.model?.status, "fail");
  assertStringIncludes(checks.model?.hint ?? "", "one, two");
  assert(!checks.model?.hint?.includes("\u001b"));
  const blind = await probed([{ error }], error);
  assertEquals(blind.checks.model, { name: "model", status: "fail", detail: "no list (404)" });
});

Deno.test("probe diagnoses what fails", async () => {
  const leak = says("<think>hm</think> the answer is a long text of one piece", { usage: { inputTokens: 5 } });
  const { report, checks } = await probed([
    leak,
    says("call: ping", { warnings: [{ kind: "tool_call_text", message: "" }] }),
    says("1, ".repeat(200)),
  ]);
  assertEquals(report.ok, false);
  assertEquals(
    Object.fromEntries(report.checks.map(({ name, status }) => [name, status])),
    {
      reachable: "pass",
      model: "pass",
      streaming: "pass",
      usage: "fail",
      tool_call: "fail",
      parallel_calls: "skip",
      reasoning: "fail",
      token_field: "fail",
      system_role: "fail",
      context: "skip",
    },
  );
  assertStringIncludes(checks.usage!.detail, "in: 5, out: unknown");
  assertStringIncludes(checks.tool_call!.hint!, "tool parser");
  assertStringIncludes(checks.token_field!.hint!, "maxTokensField");
});

Deno.test("probe tells a reply that came in one piece", async () => {
  const provider = new FakeProvider([says(COUNT), ping, two, cut]);
  const { batches } = provider;
  provider.batches = async function* (...args) {
    for await (const [event] of batches.apply(provider, args)) {
      if (event?.type === "content_delta" && event.delta === COUNT.slice(COUNT.length >> 1)) continue;
      yield [event!];
    }
  };
  const { checks, ok } = await probe(provider);
  assertEquals([ok, checks[2]?.status], [false, "fail"]);
});

Deno.test("probe goes on behind a tool request that fails, and a single call", async () => {
  const error = new PawlError("http_status", "HTTP 400: tools are not supported", { status: 400 });
  const refused = await probed([says(COUNT), { error }, cut]);
  assertEquals([refused.report.ok, refused.checks.tool_call?.status, refused.checks.token_field?.status], [
    false,
    "fail",
    "pass",
  ]);
  const single = await probed([says(COUNT), ping, ping, cut]);
  assertEquals([single.report.ok, single.checks.parallel_calls?.status], [true, "fail"]);
  const spent = await probed([says(COUNT), says("", { stopReason: "max_tokens" }), cut]);
  assertStringIncludes(spent.checks.tool_call!.hint!, "maxTokens");
});

Deno.test("probe sends the canary only when told to", async () => {
  const good = [says(COUNT), ping, two, cut];
  const found = await probed([...good, says("Zephyr.")], ["fake-1"], 1000);
  assertEquals(found.checks.context?.status, "pass");
  const { length } = JSON.stringify(found.provider.requests[4]!.messages);
  assert(length > 4000 && length < 8000);
  const lost = await probed([...good, says("I do not know", { usage: { inputTokens: 512 } })], ["fake-1"], 1000);
  assertEquals(lost.checks.context?.status, "fail");
  assertStringIncludes(lost.checks.context!.detail, "512");
  const error = new PawlError("context_overflow", "too long");
  assertEquals((await probed([...good, { error }], ["fake-1"], 1000)).checks.context?.detail, "too long");
});

Deno.test("probe rejects with the reason of an abort, at each of its requests", async () => {
  for (let at = 0; at < 5; at++) {
    const stop = new AbortController();
    const provider = new FakeProvider([says(COUNT), ping, two, cut]);
    const reason = await probe(provider, {
      signal: stop.signal,
      onCheck: () => provider.requests.length === at && stop.abort("enough"),
    }).catch((error: unknown) => error);
    assertEquals(reason, at < 4 ? "enough" : reason);
    assertEquals(provider.open, 0);
  }
});

Deno.test("the probes ask a model that is to think for no reply that is too short to think in", async () => {
  const call = { type: "tool_use", id: "c", name: "ping", input: { message: "ping" } };
  const message = { type: "message", id: "m", content: [call], stop_reason: "tool_use" };
  const limits: number[] = [];
  const provider = createProvider({
    dialect: anthropicMessages,
    model: "m",
    maxTokens: 2000,
    thinking: "low",
    fetch: (_, init) => {
      if (init?.body) limits.push(JSON.parse(String(init.body)).max_tokens);
      return Promise.resolve(Response.json(init?.body ? message : { data: [{ id: "m" }] }));
    },
  });
  await probeToolCalling(provider);
  const { ok, checks } = await probe(provider);
  assertEquals([ok, checks.find(({ name }) => name === "token_field")?.status], [true, "skip"]);
  assertEquals(new Set(limits), new Set([2000]));
});
