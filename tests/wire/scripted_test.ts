import { assert, assertEquals, assertRejects } from "@std/assert";
import { isPawlError, PawlError } from "../../src/model/error.ts";
import { scriptedFetch } from "../../src/wire/scripted.ts";
import { exchangeWith, KEY, outcomeOf } from "./exchanges.ts";

const URL_ = "http://localhost/v1/x";

Deno.test("scriptedFetch: gives its replies in order and keeps the requests", async () => {
  const fetch = scriptedFetch([
    "data: a\n\n",
    { status: 404, headers: { "x-y": "z" }, json: { error: "no" } },
    ({ body }) => `data: ${body}\n\n`,
    { status: 204 },
  ]);
  assertEquals((await outcomeOf(exchangeWith(URL_, { fetch }))).text, "data: a\n\n");
  const missing = await fetch(new Request(URL_, { headers: { "X-Q": "r" } }));
  assertEquals([missing.status, missing.headers.get("x-y"), await missing.json()], [404, "z", { error: "no" }]);
  assertEquals(missing.headers.get("content-type"), "application/json");
  assertEquals((await outcomeOf(exchangeWith(URL_, { fetch }))).text, "data: {}\n\n");
  assertEquals((await fetch(new URL(URL_))).body, null);
  const [first, second] = fetch.requests;
  assertEquals([first?.method, first?.url, first?.body], ["POST", URL_, "{}"]);
  assertEquals(first?.headers.authorization, `Bearer ${KEY}`);
  assertEquals([second?.method, second?.headers["x-q"], second?.body], ["GET", "r", ""]);
});

Deno.test("scriptedFetch: a miss fails loudly, through an exchange too", async () => {
  const fetch = scriptedFetch([{ status: 500 }]);
  const { error, notices } = await outcomeOf(exchangeWith(URL_, { fetch, maxRetries: 2 }));
  assert(isPawlError(error, "unreachable"));
  assertEquals([error.message, notices.length], ["Cannot answer request 2: the script has 1 replies", 1]);
});

Deno.test("scriptedFetch: frames events, one a chunk", async () => {
  const events = [{ choices: [] }, { type: "ping", a: 1 }, "[DONE]", "two\nlines", null, 1];
  for (const stream of ["bytes", "plain"] as const) {
    const { pieces } = await outcomeOf(exchangeWith(URL_, { fetch: scriptedFetch([{ events, stream }]) }));
    assertEquals(pieces, [
      'data: {"choices":[]}\n\n',
      'event: ping\ndata: {"type":"ping","a":1}\n\n',
      "data: [DONE]\n\n",
      "data: two\ndata: lines\n\n",
      "data: null\n\n",
      "data: 1\n\n",
    ]);
  }
});

Deno.test("scriptedFetch: keeps chunk borders, and makes byte streams unless told otherwise", async () => {
  const chunks = ["data: ", new Uint8Array([0xe2, 0x82]), "", new Uint8Array([0xac, 10, 10])];
  const bytes = await scriptedFetch([{ chunks }])(URL_);
  const reader = bytes.body!.getReader({ mode: "byob" });
  const sizes: number[] = [];
  for (let next; !(next = await reader.read(new Uint8Array(100))).done;) sizes.push(next.value.length);
  assertEquals(sizes, [6, 2, 3]);
  const plain = await scriptedFetch([{ chunks, stream: "plain" }])(URL_);
  assertEquals((await Array.fromAsync(plain.body!)).map(({ length }) => length), [6, 2, 3]);
});

Deno.test("scriptedFetch: fails as connections and bodies do", async () => {
  for (const failure of ["connection refused", "dns failure", "tls failure", "connection reset"]) {
    const { error } = await outcomeOf(exchangeWith(URL_, { fetch: scriptedFetch([{ failure }]) }));
    assertEquals([error.code, error.message], ["unreachable", `Cannot reach the endpoint: ${failure}`]);
  }
  for (const stream of ["bytes", "plain"] as const) {
    const fetch = scriptedFetch([
      { chunks: ["data: a\n"], end: "break", stream },
      { chunks: ["data: a\n"], end: "stall", stream },
    ]);
    const broken = await outcomeOf(exchangeWith(URL_, { fetch }));
    assertEquals([broken.text, broken.error.code], ["data: a\n", "truncated"]);
    const stalled = await outcomeOf(exchangeWith(URL_, { fetch, limits: { idleTimeoutMs: 20 } }));
    assertEquals([stalled.text, stalled.error.code], ["data: a\n", "timeout"]);
  }
});

Deno.test("scriptedFetch: heeds the signal of its request", async () => {
  const fetch = scriptedFetch([{ end: "stall" }]);
  const reason = new Error("mine");
  assertEquals(await fetch(URL_, { signal: AbortSignal.abort(reason) }).catch((error) => error), reason);
  assertEquals(fetch.requests.length, 0);
  const controller = new AbortController();
  const { body } = await fetch(URL_, { signal: controller.signal });
  setTimeout(() => controller.abort(reason));
  assertEquals(await body!.getReader().read().catch((error) => error), reason);
  await assertRejects(() => fetch(URL_), PawlError);
});
