/**
 * The library against every attack, over sockets, in both dialects: how it ends, what it asks, what it reads, what it tells, what it leaves.
 * @module
 */
import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual, assertMatch } from "@std/assert";
import { Conversation, isPawlError, type PartialRun } from "@pawl/pawl";
import { assertAnswered, resultsOf } from "../agent/fake_provider.ts";
import { checkRun, joinDeltas } from "../support/grammar.ts";
import { lintRequest } from "../support/request_lint.ts";
import { type Writer, WRITERS } from "../support/writer.ts";
import { ATTACKS } from "./attacks.ts";
import { BAD_ARGUMENTS, ESCAPES } from "./attacks_by_shape.ts";
import { HostileEndpoint } from "./endpoint.ts";
import { CANARY, leakIn, shown } from "./leaks.ts";
import { LIMITS, RIGHT, rightOf } from "./right.ts";
import { limitsFor, providerFor, type Ran, suffer } from "./victim.ts";

/** Generous: a stalled client would take minutes. The clocks themselves are held elsewhere. */
const MAX_MS = 8_000;
/** A chunk that was on its way when a bound was met. */
const READ_SLACK = 64 * 1024;
const HEADERS: Record<string, string[]> = {
  openai_chat: ["authorization"],
  anthropic_messages: ["anthropic-version", "x-api-key"],
};
const SENT_HEADERS = [
  "accept",
  "accept-encoding",
  "content-length",
  "content-type",
  "host",
  "user-agent",
  // Deno's own.
  "accept-language",
];

/** What the table of endings cannot say, by attack. */
const HOLDS: Record<string, (ran: Ran, writer: Writer) => void> = {
  "ok-odd-framing"({ events }) {
    const types = joinDeltas(events).map(({ type }) => type);
    assertEquals(types, ["message_start", "block_start", "content_delta", "block_complete", "message_complete"]);
  },
  "escape-tool"({ ran, seen }) {
    assertEquals(ran[0]!.input, { path: ESCAPES, "\x1b[31mkey": "v" });
    assertMatch(ran[0]!.call.id, /^[\w-]+$/);
    assert(JSON.stringify(seen[1]!.body).includes(ran[0]!.call.id));
  },
  "set-cookie": ({ seen }) => assert(!("cookie" in seen[1]!.headers)),
  "endless-deltas"({ events, error }) {
    const text = textIn(events);
    assertEquals(text, "lorem ipsum dolor sit amet ".repeat(text.length / 27));
    assertEquals((error as { partial: PartialRun }).partial.text, text.trim());
  },
  "events-after-done": ({ ms }) => assertLessOrEqual(ms, 2000),
  "stall-after-done": ({ ms }) => assertLessOrEqual(ms, 2000),
  "stall-mid-stream": ({ events }) => assertEquals(textIn(events), "before the stall"),
  "encoding-lie": ({ events }) => assertEquals(textIn(events), ""),
  "error-in-stream": ({ events }) => assertEquals(textIn(events), "partial answer"),
  "million-blocks": ({ events }) => assertLessOrEqual(count(events, "block_start"), LIMITS.maxBlocks),
  "infinite-tool-loop": ({ conversation }) => assertEquals(conversation.messages.length, 17),
  "duplicate-ids"({ conversation, ran }) {
    assertEquals(ran.slice(0, 3).map(({ input }) => input.n), [0, 1, 2]);
    assertEquals(resultsOf(conversation).map(({ toolUseId }) => toolUseId), ran.map(({ call }) => call.id));
  },
  "proto-pollution-args"({ ran, conversation }) {
    const { input } = ran[0]!;
    assertEquals(Object.getPrototypeOf(input), Object.prototype);
    assert(Object.hasOwn(input, "__proto__") && Object.hasOwn(input, "constructor"));
    const unknown = resultsOf(conversation).slice(1, 4).map(({ content }) => content);
    assert(unknown.every((text) => text.startsWith("error: unknown tool")), unknown.join());
  },
  "tool-name-injection"({ conversation, seen }) {
    for (const { content } of resultsOf(conversation)) assertLessOrEqual(content.length, 200);
    // What goes back of a reply with 128 KiB of name and id is short.
    assertLessOrEqual(JSON.stringify(seen[1]!.body).length, 4000);
    const sent = JSON.stringify(seen[7]!.body.messages);
    for (const [, name] of sent.matchAll(/"name":"(.*?)"/g)) assertMatch(name!, /^[\w-]{1,64}$/);
  },
  "bad-tool-args"({ ran, conversation }) {
    assertEquals(ran.map(({ input }) => input), Array(8).fill({}));
    const [...results] = resultsOf(conversation).slice(0, BAD_ARGUMENTS.length + 1).map(({ content }) => content);
    assertEquals(results.pop(), "found");
    assert(results.every((text) => text.startsWith("error: invalid input")), results.join());
  },
  "usage-lies": ({ result }) => assertEquals(result!.usage, {}),
  "out-of-order"({ ran }) {
    if (ran.length > 0) {
      assertEquals(ran.slice(0, 2).map(({ call, input }) => [call.id, input]), [["a", { a: 1 }], ["b", {}]]);
    }
  },
  "escape-injection"({ events }) {
    const blocks = events.flatMap((event) => event.type === "block_complete" ? [event.block] : []);
    assertEquals(blocks.map((block) => "text" in block && block.text), [ESCAPES, ESCAPES]);
  },
  "429-forever": ({ seen, events }) => {
    for (const i of [1, 2]) assertGreaterOrEqual(seen[i]!.at - seen[i - 1]!.at, 240);
    assertEquals(events.map(({ type }) => type), ["retry", "retry"]);
  },
  "retry-after-huge": ({ error }) => assertEquals((error as { retryAfterMs?: number }).retryAfterMs, 999_999_999_000),
  "key-echo": ({ error }) => assertMatch((error as Error).message, /HTTP status 401, look at the option apiKey$/),
  "key-echo-url": ({ error }) => assertMatch((error as Error).message, /HTTP status 403, look at the option apiKey$/),
  "redirect-cross-host": ({ error }) => assert(!/secret-query|localhost/.test(shown(error))),
  "redirect-file": ({ error }) => assert(!/file:|passwd/.test((error as Error).message)),
  "html-500": ({ error }) => assert(!/stack trace|srv/.test(shown(error))),
  "wrong-content-type": ({ error }) => assert(!/h1|alert/.test(shown(error))),
};

function textIn(events: Ran["events"]): string {
  return events.map((event) => event.type === "content_delta" ? event.delta : "").join("");
}

function count(events: Ran["events"], type: string): number {
  return events.filter((event) => event.type === type).length;
}

function prototypes(): unknown[] {
  return [Object, Array, String, Function, Map, Promise, Error].map(({ prototype }) => Reflect.ownKeys(prototype));
}

/** The ending is the right one. */
function checkEnd(attack: string, writer: Writer, ran: Ran): void {
  const right = rightOf(attack, writer.dialect.name);
  const { result, error, seen } = ran;
  if (right.codes) {
    assert(isPawlError(error), `${result ? `it answered ${JSON.stringify(result.text.slice(0, 80))}` : error}`);
    assert(right.codes.includes(error.code), `${error.code}: ${error.message}`);
    if (right.says) assertMatch(error.message, right.says);
    assertLessOrEqual(error.message.length, 300);
    assertMatch(error.message, /^[^\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$/);
    assertEquals(error.cause, undefined);
  } else {
    assertEquals(error, undefined);
    if (typeof right.text === "string") assertEquals(result!.text, right.text);
    else assert(right.text!.test(result!.text), result!.text.slice(0, 200));
  }
  assertEquals(seen.filter(({ elsewhere }) => elsewhere), []);
  assertEquals([seen.length, ran.ran.length], [right.requests, right.runs], "requests, runs of the tool");
  assertLessOrEqual(ran.read, (right.reads + READ_SLACK) * right.requests, "bytes read");
  assertLessOrEqual(ran.ms, MAX_MS);
}

/** Whatever the ending: legal events, no key, requests as they must be, a conversation that can be sent. */
async function checkTraces(writer: Writer, ran: Ran, endpoint: HostileEndpoint): Promise<void> {
  const { events, error, conversation, provider, agent, result, seen } = ran;
  const { name } = writer.dialect;
  checkRun(events, error);
  assertAnswered(conversation);
  const ids = conversation.messages.flatMap(({ content }) =>
    content.flatMap((b) => b.type === "tool_use" ? [b.id] : [])
  );
  for (const { content } of conversation.messages) {
    const own = content.flatMap((block) => block.type === "tool_use" ? [block.id] : []);
    assertEquals(new Set(own).size, own.length);
  }
  assertEquals(ids.filter((id) => id === ""), []);
  // What is plain data has nothing that only an inspection shows.
  const text = [error, conversation, provider, agent, result].map(shown).join("\n") + JSON.stringify(events);
  assertEquals(leakIn(text), undefined, "a part of the key");
  assert(!text.includes("GHOST"));
  for (const { headers, body, path, method } of seen) {
    assertEquals([method, headers["accept-encoding"]], ["POST", "identity;q=1, *;q=0"]);
    assertEquals(Object.keys(headers).sort(), [...SENT_HEADERS, ...HEADERS[name]!].filter((h) => h in headers).sort());
    if (body) assertEquals(lintRequest(name, { path, headers, body }, CANARY), []);
  }
  const again = Conversation.fromJSON(JSON.parse(JSON.stringify(conversation)));
  again.addUserMessage("and now?");
  const message = await providerFor(endpoint, "ok", writer).streamStep(again, {});
  assertEquals(message.content, [{ type: "text", text: "all good" }]);
}

/** Nobody waits on a connection that the client should have closed. */
async function checkClosed(attack: string, { seen }: Ran): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => timer = setTimeout(reject, 3000, new Error("a connection was left open")));
  await Promise.race([Promise.all(seen.map(({ over }) => over)), late]);
  clearTimeout(timer);
  // A flood that nothing counts may reach the bound of the endpoint before the clock ends it.
  if (attack !== "informational-flood") assertEquals(seen.filter(({ endedBy }) => endedBy === "bound"), []);
}

Deno.test("the table of right endings has a row for every attack", () => {
  assertEquals(Object.keys(RIGHT).sort(), Object.keys(ATTACKS).sort());
  assertEquals(Object.keys(HOLDS).filter((name) => !(name in ATTACKS)), []);
});

for (const [attack, { does }] of Object.entries(ATTACKS)) {
  Deno.test(`the library holds against ${attack}: ${does}`, async () => {
    const before = prototypes();
    await using endpoint = new HostileEndpoint(ATTACKS);
    const outcomes = await Promise.allSettled(WRITERS.map(async (writer) => {
      const ran = await suffer(endpoint, attack, writer);
      checkEnd(attack, writer, ran);
      await checkTraces(writer, ran, endpoint);
      HOLDS[attack]?.(ran, writer);
      await checkClosed(attack, ran);
    }));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === "rejected") throw new Error(`in ${WRITERS[i]!.dialect.name}`, { cause: outcome.reason });
    }
    assertEquals(prototypes(), before);
    assert(!("polluted" in {}));
  });
}

Deno.test("listModels ends well against every attack", async () => {
  await using endpoint = new HostileEndpoint(ATTACKS);
  for (const writer of WRITERS) {
    await Promise.all(
      Object.keys(ATTACKS).map(async (attack) => {
        const clocks = { idleTimeoutMs: 400, progressTimeoutMs: 600, totalTimeoutMs: 800 };
        const limits = { ...limitsFor("headersTimeoutMs"), ...clocks };
        const provider = providerFor(endpoint, attack, writer, { maxRetries: 0, limits });
        const began = performance.now();
        const outcome = await provider.listModels().catch((error: unknown) => error);
        assert(isPawlError(outcome) || Array.isArray(outcome), `${attack}: ${outcome}`);
        assertEquals(leakIn(shown(outcome)), undefined, attack);
        assertLessOrEqual(performance.now() - began, MAX_MS, attack);
      }),
    );
  }
  assertEquals(endpoint.seen.filter(({ elsewhere, method }) => elsewhere || method !== "GET"), []);
});
