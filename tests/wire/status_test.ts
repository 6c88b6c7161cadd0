import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isPawlError } from "../../src/model/error.ts";
import { exchangeWith, fetchOf, KEY, outcomeOf, type Settings } from "./exchanges.ts";
import { OK, withServer } from "./raw_server.ts";

type Head = Record<string, string>;

const REFUSAL = `{"error":{"message":"no"}}`;

/** A `fetch` that answers each request with the next of these, and the last again and again. */
function answers(...list: [status: number, headers?: Head, body?: string][]) {
  let count = 0;
  const fetch = () => {
    const [status, headers = {}, body = REFUSAL] = list[Math.min(count++, list.length - 1)]!;
    return Promise.resolve(new Response(body, { status, headers }));
  };
  return { fetch: fetch as typeof globalThis.fetch, sent: () => count };
}

async function errorOf(status: number, headers: Head = {}, body = REFUSAL, settings: Settings = {}) {
  const { error } = await outcomeOf(exchangeWith("http://x", { ...answers([status, headers, body]), ...settings }));
  assert(isPawlError(error), String(error));
  assert(error.message.length <= 300);
  return error;
}

function message(text: string): string {
  return JSON.stringify({ error: { message: text } });
}

Deno.test("Exchange.send: names the status and quotes the endpoint briefly, without the key", async () => {
  const error = await errorOf(404, {}, message(`model ${KEY} not found ${"x".repeat(5000)}`));
  assertEquals([error.code, error.status, error.retryable], ["http_status", 404, false]);
  assert(error.message.startsWith("Cannot get a reply: HTTP status 404"), error.message);
  assertStringIncludes(error.message, "not found");
  assertEquals(/SECRET/.test(Deno.inspect(error, { depth: 9 })), false);
});

Deno.test("Exchange.send: quotes nothing at 401 and 403", async () => {
  for (const status of [401, 403]) {
    const error = await errorOf(status, {}, message("half of the key is sk-test"));
    assertEquals([error.code, error.status], ["http_status", status]);
    assertStringIncludes(error.message, String(status));
    assertEquals(/half|sk-/.test(error.message), false);
  }
});

Deno.test("Exchange.send: does not trust the reason phrase, and copes with any body", async () => {
  await withServer(async ({ write }) => {
    await write(`HTTP/1.1 418 ${KEY}\r\ncontent-length: 3\r\n\r\n\xff\0`);
    return false;
  }, async ({ origin }) => {
    const { error } = await outcomeOf(exchangeWith(origin));
    assertEquals([error.code, error.status, error.message.includes("SECRET")], ["http_status", 418, false]);
  });
  for (const body of ["", "<html><body>Bad</body></html>", "null", "[]", "{", '"text"', "\x1b[31m"]) {
    const error = await errorOf(502, {}, body);
    // deno-lint-ignore no-control-regex -- none may be left
    assertEquals(/[<>\x00-\x1f]/.test(error.message), false, error.message);
  }
  assertEquals((await errorOf(599)).status, 599);
});

Deno.test("Exchange.send: adds the dialect's hint", async () => {
  const seen: [number, string][] = [];
  const hint = (status: number, text: string) => {
    seen.push([status, text]);
    return status === 422 ? "set compat.streamUsage to false" : undefined;
  };
  const error = await errorOf(422, {}, message("stream_options is unknown"), { hint });
  assertStringIncludes(error.message, "set compat.streamUsage to false");
  assertEquals(seen, [[422, "stream_options is unknown"]]);
  assertEquals((await errorOf(404, {}, message("a"), { hint })).message.includes("undefined"), false);
});

Deno.test("Exchange.send: every 413, and a 400 that says so, is a context overflow", async () => {
  const long = message("This model's maximum context length is 8192 tokens, your prompt has 9000");
  for (const [status, body] of [[413, ""], [413, message("request too large")], [400, long]] as const) {
    const error = await errorOf(status, { "x-should-retry": "true" }, body, { maxRetries: 2 });
    assertEquals([error.code, error.status, error.retryable], ["context_overflow", status, false]);
    assertStringIncludes(error.message, String(status));
  }
  assertEquals((await errorOf(422, {}, long)).code, "http_status");
  assertEquals((await errorOf(400, {}, message("bad"))).code, "http_status");
});

Deno.test("Exchange.send: repeats what may pass by itself, at most maxRetries times", async () => {
  for (const status of [408, 409, 429, 500, 503, 529, 599]) {
    const endpoint = answers([status]);
    const { notices, error } = await outcomeOf(exchangeWith("http://x", { ...endpoint, maxRetries: 2 }));
    assertEquals([endpoint.sent(), error.status, error.retryable], [3, status, true]);
    assertEquals(notices.map(({ attempt, code, status }) => [attempt, code, status]), [
      [1, "http_status", status],
      [2, "http_status", status],
    ]);
  }
  for (const status of [400, 401, 403, 404, 410, 422]) {
    const endpoint = answers([status]);
    const { notices, error } = await outcomeOf(exchangeWith("http://x", { ...endpoint, maxRetries: 2 }));
    assertEquals([endpoint.sent(), notices, error.retryable], [1, [], false]);
  }
});

Deno.test("Exchange.send: x-should-retry rules over the status", async () => {
  for (const [status, word, retryable] of [[400, "true", true], [429, "false", false], [500, "maybe", true]] as const) {
    const endpoint = answers([status, { "x-should-retry": word }]);
    const { error } = await outcomeOf(exchangeWith("http://x", { ...endpoint, maxRetries: 1 }));
    assertEquals([endpoint.sent(), error.retryable], [retryable ? 2 : 1, retryable]);
  }
});

Deno.test("Exchange.send: a repetition is the same request, byte by byte, and its reply is read as any other", async () => {
  await withServer(async ({ id, write }) => {
    if (id === 1) await write("HTTP/1.1 500 X\r\ncontent-length: 4\r\nconnection: close\r\n\r\nboom");
    if (id === 3) await write(OK + "connection: close\r\n\r\ndata: a\n\n");
    return false;
  }, async ({ origin, requests }) => {
    const { notices, text, error } = await outcomeOf(exchangeWith(origin, { maxRetries: 2 }));
    assertEquals([text, error], ["data: a\n\n", undefined]);
    assertEquals(notices.map(({ code }) => code), ["http_status", "unreachable"]);
    const [first, ...others] = requests;
    assertEquals(others, [first!, first!]);
  });
});

Deno.test("Exchange.send: waits as long as it is asked to, with a floor that grows", async () => {
  const limits = { maxRetryDelayMs: 60_000 };
  for (
    const [headers, wish] of [
      [{ "retry-after": "7" }, 7000],
      [{ "retry-after-ms": "1250", "retry-after": "60" }, 1250],
      [{ "retry-after": new Date(Date.now() + 30_000).toUTCString() }, 30_000],
      [{ "retry-after-ms": "soon", "retry-after": "3" }, 3000],
    ] as [Head, number][]
  ) {
    const exchange = exchangeWith("http://x", { ...answers([429, headers]), maxRetries: 1, limits });
    const notice = await exchange.send();
    assert(notice && Math.abs(notice.delayMs - wish) <= 1100, `${notice?.delayMs}`);
    exchange.close();
  }
  for (const after of ["0", "-5", "soon", "", "NaN", "0x10", "1e3", new Date(0).toUTCString()]) {
    const exchange = exchangeWith("http://x", { ...answers([429, { "retry-after": after }]), maxRetries: 3, limits });
    for (const highest of after === "soon" ? [750, 1250, 2250] : [750]) {
      const notice = await exchange.send();
      assert(notice && notice.delayMs >= 250 && notice.delayMs <= highest, `${after}: ${notice?.delayMs}`);
    }
    exchange.close();
  }
});

Deno.test("Exchange.send: a wish beyond maxRetryDelayMs ends the call and is told", async () => {
  for (
    const [headers, wish] of [
      [{ "retry-after": "61" }, 61_000],
      [{ "retry-after": "999999999" }, 999_999_999_000],
      [{ "retry-after-ms": "1000000000000000", "retry-after": "1" }, 1e15],
      [{ "retry-after": "9".repeat(30) }, Number.MAX_SAFE_INTEGER],
    ] as [Head, number][]
  ) {
    const endpoint = answers([429, headers]);
    const exchange = exchangeWith("http://x", { ...endpoint, maxRetries: 2, limits: { maxRetryDelayMs: 60_000 } });
    const { error, notices } = await outcomeOf(exchange);
    assertEquals([error.retryAfterMs, error.retryable, endpoint.sent(), notices], [wish, true, 1, []]);
    assertStringIncludes(error.message, `asks to wait ${wish} ms, limits.maxRetryDelayMs is 60000 ms`);
  }
});

Deno.test("Exchange.send: the last error says how long the endpoint asked to wait", async () => {
  assertEquals((await errorOf(429, { "retry-after": "12" })).retryAfterMs, 12_000);
  assertEquals("retryAfterMs" in await errorOf(429, { "retry-after": "soon" }), false);
});

Deno.test("Exchange.send: reads at most maxErrorBytes of an error, then leaves", async () => {
  const left = Promise.withResolvers<void>();
  await withServer(async ({ write, chunks, left: client }) => {
    await write("HTTP/1.1 400 X\r\ntransfer-encoding: chunked\r\n\r\n");
    await chunks("boom ".repeat(4000));
    await client();
    left.resolve();
    return false;
  }, async ({ origin }) => {
    const { error } = await outcomeOf(exchangeWith(origin));
    assertEquals(error.status, 400);
    assertStringIncludes(error.message, "boom");
    await left.promise;
  });
});

Deno.test("Exchange.send: does not wait for an error whose text stalls or breaks", async () => {
  for (const stalls of [true, false]) {
    await withServer(async ({ write, left }) => {
      await write("HTTP/1.1 400 X\r\ncontent-length: 100\r\n\r\nboom");
      if (stalls) await left();
      return false;
    }, async ({ origin }) => {
      const { error } = await outcomeOf(exchangeWith(origin));
      assertEquals([error.code, error.status], ["http_status", 400]);
      assertStringIncludes(error.message, "boom");
    });
  }
});

Deno.test("Exchange.send: an error in an encoding that nobody decodes is told by its status", async () => {
  const { error } = await outcomeOf(exchangeWith("http://x", {
    fetch: fetchOf(["(\xb5/\xfd"], { status: 500, headers: { "content-encoding": "zstd" } }),
  }));
  assertEquals(error.message, "Cannot get a reply: HTTP status 500");
});

Deno.test("Exchange.send: binary is not quoted, gzip that nobody labelled", async () => {
  const gzip = new Response(message("no")).body!.pipeThrough(new CompressionStream("gzip"));
  const { error } = await outcomeOf(exchangeWith("http://x", {
    fetch: () => Promise.resolve(new Response(gzip, { status: 400 })),
  }));
  assertEquals(error.message, "Cannot get a reply: HTTP status 400");
});
