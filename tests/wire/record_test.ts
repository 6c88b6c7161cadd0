import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { isPawlError } from "../../src/model/error.ts";
import { createRedactor } from "../../src/text/redact.ts";
import { type RecordedExchange, recordFetch, replayFetch } from "../../src/wire/record.ts";
import { scriptedFetch } from "../../src/wire/scripted.ts";
import { exchangeWith, KEY, outcomeOf, read } from "./exchanges.ts";

const CHAT = "http://localhost/v1/chat?x=1";
const redact = createRedactor([KEY]);

function recorder(fetch: typeof globalThis.fetch, options?: Parameters<typeof recordFetch>[2]) {
  const lines: string[] = [];
  return {
    fetch: recordFetch(fetch, (line) => void lines.push(line), options),
    lines,
    exchanges: () => lines.map((line): RecordedExchange => JSON.parse(line)),
  };
}

Deno.test("recordFetch: what it records, replayFetch gives again, border by border, without a network", async () => {
  const emoji = new TextEncoder().encode("data: 😀\n\n");
  const replies = [
    { chunks: ["\ufeffdata: a\n\n", "data: b", "\n\n"] },
    { chunks: [emoji.slice(0, 8), emoji.slice(8), new Uint8Array([0xff, 10])] },
    { status: 503, json: { error: "later" } },
    { chunks: ["data: a\n"], end: "break" as const },
    { failure: "connection refused" },
    { status: 204 },
    { status: 307, headers: { location: "/x" } },
  ];
  const live = recorder(scriptedFetch(replies.map((reply) => ({ ...reply, stream: "plain" as const }))));
  const { fetch } = live;
  const seen = [];
  for (const _ of replies) seen.push(await outcomeOf(exchangeWith(CHAT, { fetch })));
  assertEquals(seen[0]?.pieces, ["data: a\n\n", "data: b", "\n\n"]);
  assertEquals(live.lines.some((line) => line.includes("\n")), false);

  for (const recording of [live.lines.join("\n") + "\n", live.exchanges()]) {
    const replay = replayFetch(recording);
    for (const { text, error } of seen) {
      // Another origin: a recording made against one endpoint serves for any.
      const again = await outcomeOf(exchangeWith("http://127.0.0.1:1/v1/chat?x=1", { fetch: replay }));
      assertEquals([again.text, again.error?.code, again.error?.message], [text, error?.code, error?.message]);
    }
  }
  const bytes = await replayFetch([live.exchanges()[1]!])(CHAT, { method: "POST", body: "{}" });
  assertEquals((await Array.fromAsync(bytes.body!)).map(({ length }) => length), [8, 4, 2]);
});

Deno.test("recordFetch: passes everything on as it comes, and records a reply that its reader leaves", async () => {
  const live = recorder(scriptedFetch([{ chunks: ["data: a\n\n"], end: "stall" }, { end: "stall" }]));
  const exchange = exchangeWith(CHAT, { fetch: live.fetch });
  await exchange.send();
  assertEquals(await read(exchange), "data: a\n\n");
  exchange.close();
  await Promise.resolve();
  const [left] = live.exchanges();
  assertEquals([left?.end, left?.response?.status], ["left", 200]);
  assertEquals((await outcomeOf(exchangeWith(CHAT, { fetch: replayFetch([left!]) }))).text, "data: a\n\n");
});

Deno.test("recordFetch: records no secret, wherever it stands and however it is cut", async () => {
  const half = KEY.length >> 1;
  const live = recorder(
    scriptedFetch([{
      headers: { "set-cookie": "id=1", "x-own": "mine", "x-echo": `got ${KEY}` },
      chunks: [
        `data: ${KEY}\n`,
        `data: ${KEY.slice(0, half)}`,
        `${KEY.slice(half)}\n`,
        new Uint8Array([...new TextEncoder().encode(`data: ${KEY}`), 0xff]),
      ],
    }]),
    { redact, headers: ["X-Own"] },
  );
  await (await live.fetch(`http://localhost/v1/${KEY}`, {
    method: "POST",
    headers: { "x-api-key": KEY, "X-Own": "mine", "x-other": `a ${KEY}` },
    body: `{"note":"${KEY}"}`,
  })).text();
  const [line = ""] = live.lines;
  for (let at = 0; at + 8 <= KEY.length; at++) assertEquals(line.includes(KEY.slice(at, at + 8)), false, line);
  assertEquals(line.includes(btoa(KEY).slice(0, 16)), false);
  const [exchange] = live.exchanges();
  assertEquals(exchange?.request.headers["x-api-key"], "[redacted]");
  assertEquals([exchange?.response?.headers["x-own"], exchange?.response?.headers["set-cookie"]], [
    "[redacted]",
    "[redacted]",
  ]);

  const { text } = await outcomeOf(exchangeWith(`http://x/v1/${KEY}`, {
    fetch: (input, init) => replayFetch(live.lines.join(), { redact })(input, { ...init, body: `{"note":"${KEY}"}` }),
  }));
  assertStringIncludes(text, "data: ");
});

Deno.test("recordFetch: a secret that no border cuts leaves the borders alone", async () => {
  const live = recorder(scriptedFetch([{ chunks: ["a\n", `${KEY}\n`, "b\n"] }]), { redact });
  await (await live.fetch(CHAT)).text();
  assertEquals(live.exchanges()[0]?.chunks.map((chunk) => "text" in chunk && chunk.text), [
    "a\n",
    "[redacted]\n",
    "b\n",
  ]);
});

Deno.test("recordFetch: a recording that cannot be written fails the exchange", async () => {
  const fetch = recordFetch(scriptedFetch(["data: a\n\n"]), () => Promise.reject(new Error("disk full")));
  const reply = await fetch(CHAT);
  assertEquals((await reply.text().catch((error) => error)).message, "disk full");
});

Deno.test("replayFetch: a miss says what differs, and is not repeated", async () => {
  const live = recorder(scriptedFetch(["data: a\n\n"]));
  await (await live.fetch(CHAT, { method: "POST", body: '{"model":"one","n":1}' })).text();
  const cases: [RequestInit & { url?: string }, string][] = [
    [{ method: "GET" }, "its method is GET, recorded was POST"],
    [{ method: "POST", url: "http://x/v1/y" }, 'its path is "/v1/y", recorded was "/v1/chat?x=1"'],
    [{ method: "POST", body: '{"model":"two","n":1}' }, "its body differs at character 10: sent "],
  ];
  for (const [{ url = CHAT, ...init }, words] of cases) {
    const error = await replayFetch(live.exchanges())(url, init).catch((error) => error);
    assert(isPawlError(error, "unreachable"), String(error));
    assertEquals(error.retryable, false);
    assert(error.message.startsWith(`Cannot replay request 1: ${words}`), error.message);
  }
  const { error, notices } = await outcomeOf(exchangeWith(CHAT, { fetch: replayFetch(""), maxRetries: 2 }));
  assertEquals([error.message, notices], ["Cannot replay request 1: the recording has 0", []]);
});

Deno.test("replayFetch: refuses what is no recording", () => {
  for (const line of ["x", "{}", "null", '{"request":{"body":1},"chunks":[]}']) {
    assertThrows(() => replayFetch(`\n${line}`), TypeError, "its line 2 is no exchange");
  }
});

Deno.test("replayFetch: keeps the pace if asked to, and stops when left", async () => {
  const exchange: RecordedExchange = {
    request: { method: "POST", path: "/v1/chat?x=1", headers: {}, body: "{}" },
    response: { status: 200, headers: {} },
    chunks: [{ ms: 0, text: "a\n" }, { ms: 60, text: "b\n" }, { ms: 600_000, text: "c\n" }],
    end: "complete",
  };
  const started = performance.now();
  const paced = exchangeWith(CHAT, { fetch: replayFetch([exchange], { timing: true }) });
  await paced.send();
  assertEquals([await read(paced), await read(paced)], ["a\n", "b\n"]);
  assert(performance.now() - started >= 50);
  const pending = read(paced).catch(() => {});
  paced.close();
  await pending;
  assertEquals((await outcomeOf(exchangeWith(CHAT, { fetch: replayFetch([exchange]) }))).text, "a\nb\nc\n");
});
