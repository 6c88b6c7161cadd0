import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { isPawlError, PawlError } from "../../src/model/error.ts";
import { scriptedFetch } from "../../src/wire/scripted.ts";
import { exchangeWith, fetchOf, KEY, outcomeOf, read } from "./exchanges.ts";
import { CHUNKED, deadPort, OK, withServer } from "./raw_server.ts";

const EVENT = 'data: {"text":"ä€😀"}\n\n';
const utf8 = new TextEncoder();

async function gzip(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

Deno.test("Exchange: sends exactly the request, and reads the reply to its end", async () => {
  await withServer(async ({ write, chunks }) => {
    await write(CHUNKED);
    await chunks(EVENT, EVENT);
    await write("0\r\n\r\n");
  }, async ({ origin, requests }) => {
    const exchange = exchangeWith(`${origin}/v1/x`);
    const { text, error, notices } = await outcomeOf(exchange);
    assertEquals([text, error, notices], [EVENT + EVENT, undefined, []]);
    assertEquals(exchange.contentType, "text/event-stream");
    const { method, path, head, body } = requests[0]!;
    assertEquals([method, path, body], ["POST", "/v1/x", "{}"]);
    const names = head.split("\r\n").slice(1, -2).map((line) => line.split(":")[0]!.toLowerCase()).sort();
    assertEquals(
      names.filter((name) => name !== "accept-language" && name !== "user-agent"),
      ["accept", "accept-encoding", "authorization", "content-length", "content-type", "host"],
    );
    assertStringIncludes(head, "identity;q=1, *;q=0");
  });
});

Deno.test("Exchange: replies one after another share a connection", async () => {
  await withServer(async ({ write }) => {
    await write(OK + "content-length: 9\r\n\r\ndata: a\n\n");
  }, async (server) => {
    for (let i = 0; i < 5; i++) {
      assertEquals((await outcomeOf(exchangeWith(server.origin))).text, "data: a\n\n");
    }
    assertEquals([server.requests.length, server.connections], [5, 1]);
  });
});

Deno.test("Exchange.read: the text is the same, however the bytes are cut", async () => {
  const body = EVENT.repeat(3) + "data: ä\r\rdata: b\r\n\r\n: €";
  const bytes = utf8.encode("\ufeff" + body);
  for (const size of [1, 2, 3, 7, 64, 1000]) {
    await withServer(async ({ write }) => {
      await write(OK + `content-length: ${bytes.length}\r\n\r\n`);
      for (let at = 0; at < bytes.length; at += size) {
        await write(bytes.subarray(at, at + size));
        if (size > 1) await new Promise((resolve) => setTimeout(resolve));
      }
    }, async ({ origin }) => {
      const { text, error } = await outcomeOf(exchangeWith(origin));
      assertEquals([text, error], [body, undefined]);
    });
  }
});

Deno.test("Exchange.read: strips one byte order mark, in every kind of stream", async () => {
  const marked = utf8.encode("\ufeff\ufeffdata: a\n\n");
  const cut = [marked.slice(0, 1), marked.slice(1, 2), marked.slice(2)];
  for (const chunks of [[marked], cut, ["\ufeff\ufeffdata: a\n\n"], ["", "\ufeff", "\ufeffdata: a\n\n"]]) {
    assertEquals((await outcomeOf(exchangeWith("http://x", { fetch: fetchOf(chunks) }))).text, "\ufeffdata: a\n\n");
    if (typeof chunks[0] === "string") continue;
    const body = new Blob(chunks as Uint8Array<ArrayBuffer>[]);
    const { text } = await outcomeOf(exchangeWith("http://x", { fetch: () => Promise.resolve(new Response(body)) }));
    assertEquals(text, "\ufeffdata: a\n\n");
  }
});

Deno.test("Exchange.read: takes text and bytes from a mocked fetch, and nothing else", async () => {
  const bytes = utf8.encode("x€y");
  const chunks = ["data: ", bytes.slice(0, 2), new Uint8Array(), bytes.slice(2, 3), bytes.slice(3), "\n\n"];
  assertEquals((await outcomeOf(exchangeWith("http://x", { fetch: fetchOf(chunks) }))).text, "data: x€y\n\n");
  for (const chunk of [{}, [97], 1, new ArrayBuffer(3), new DataView(bytes.buffer)]) {
    const { error } = await outcomeOf(exchangeWith("http://x", { fetch: fetchOf([chunk]) }));
    assert(isPawlError(error), String(error));
    assertEquals(error.code, chunk instanceof ArrayBuffer ? "response_too_large" : "truncated");
  }
});

Deno.test("Exchange.read: a line longer than the buffer comes in pieces, as it arrives", async () => {
  const line = `data: ${"€".repeat(50_000)}\n\n`;
  await withServer(async ({ write, chunks }) => {
    await write(CHUNKED);
    await chunks("data: a\n\n", line, "data: b\n\n");
    await write("0\r\n\r\n");
  }, async ({ origin }) => {
    const { text, pieces } = await outcomeOf(exchangeWith(origin));
    assertEquals(text, `data: a\n\n${line}data: b\n\n`);
    for (const piece of pieces) assert(piece.length <= 16 * 1024);
  });
});

Deno.test("Exchange.read: a long line in tiny chunks costs what its bytes cost", async () => {
  const line = `data: ${"x".repeat(20_000)}\n\n`;
  const started = performance.now();
  for (const stream of ["bytes", "plain"] as const) {
    const fetch = scriptedFetch([{ chunks: line.split(""), stream }]);
    const { text, pieces } = await outcomeOf(exchangeWith("http://x", { fetch }));
    assertEquals([text === line, pieces.length], [true, line.length]);
  }
  assert(performance.now() - started < 5_000);
});

Deno.test("Exchange.read: a reply without a body ends at once", async () => {
  for (const fetch of [() => Promise.resolve(new Response(null)), fetchOf([])]) {
    assertEquals((await outcomeOf(exchangeWith("http://x", { fetch }))).pieces, []);
  }
});

Deno.test("Exchange.contentType: is clean, short and without the key", async () => {
  const fetch = fetchOf([], { headers: { "content-type": `text/\u009b ${KEY} ${"x".repeat(400)}` } });
  const exchange = exchangeWith("http://x", { fetch });
  await outcomeOf(exchange);
  assert(exchange.contentType.length <= 200);
  assertEquals(/\u009b|SECRET/.test(exchange.contentType), false);
});

Deno.test("Exchange.send: follows no redirect and does not say where it leads", async () => {
  for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
    await withServer(async ({ write }) => {
      await write(`HTTP/1.1 ${status} X\r\nlocation: /elsewhere?k=${KEY}\r\ncontent-length: 0\r\n\r\n`);
    }, async ({ origin, requests }) => {
      const { error } = await outcomeOf(exchangeWith(origin, { maxRetries: 2 }));
      assert(isPawlError(error, "redirect"));
      assertEquals([error.status, error.retryable, requests.length], [status, false, 1]);
      assertStringIncludes(error.message, String(status));
      assertEquals(/elsewhere|SECRET/.test(error.message), false);
    });
  }
});

Deno.test("Exchange: a connection that cannot be made or breaks before the head is unreachable, and says how", async () => {
  const cases: [string, () => Promise<unknown>][] = [
    ["connection refused", () => outcomeOf(exchangeWith(`http://127.0.0.1:${deadPort()}`)).then(({ error }) => error)],
    ["blocked port", () => outcomeOf(exchangeWith("http://127.0.0.1:1")).then(({ error }) => error)],
  ];
  const broken: [string, string, string][] = [
    ["connection reset", "http", ""],
    ["other failure", "http", "SSH-2.0-x\r\n\r\n"],
    ["tls failure", "https", "HTTP/1.1 200 OK\r\n\r\n"],
  ];
  for (const [words, protocol, bytes] of broken) {
    cases.push([words, async () => {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const served = (async () => {
        const conn = await listener.accept();
        await conn.read(new Uint8Array(4096));
        await conn.write(utf8.encode(bytes));
        conn.close();
      })();
      const { error } = await outcomeOf(exchangeWith(`${protocol}://127.0.0.1:${listener.addr.port}/p?q`));
      await served;
      listener.close();
      return error;
    }]);
  }
  // What Deno and Node say of a name that cannot be resolved; a test must not ask a resolver.
  for (
    const cause of [
      new Error(
        "error sending request for url (https://tls.reset.example/): client error (Connect): dns error: no record",
      ),
      Object.assign(new Error("getaddrinfo ENOTFOUND x"), { code: "ENOTFOUND" }),
    ]
  ) {
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
    cases.push(["dns failure", () => outcomeOf(exchangeWith("http://x", { fetch })).then(({ error }) => error)]);
  }
  for (const [words, run] of cases) {
    const error = await run();
    assert(isPawlError(error, "unreachable"), words);
    assertEquals([error.message, error.retryable], [`Cannot reach the endpoint: ${words}`, true]);
    assertEquals(error.cause, undefined);
    assertEquals(/127|example|SECRET/.test(Deno.inspect(error, { depth: 9 }).replaceAll(/ at .*/g, "")), false);
  }
});

Deno.test({
  name: "Exchange: a missing permission names the exact flag, as this Deno says it",
  permissions: { net: false },
  async fn() {
    for (
      const [url, flag] of [
        ["https://host.example/v1", "--allow-net=host.example:443"],
        ["http://host.example/v1", "--allow-net=host.example:80"],
        ["http://[::1]:8080/v1", "--allow-net=[::1]:8080"],
      ]
    ) {
      const { error, notices } = await outcomeOf(exchangeWith(url!, { maxRetries: 2 }));
      assert(isPawlError(error, "permission"), String(error));
      assertEquals(error.message, `Cannot reach the endpoint: Deno needs ${flag}`);
      assertEquals([error.retryable, notices.length], [false, 0]);
    }
  },
});

Deno.test("Exchange: needs the permission for one host and port, and nothing else", async () => {
  await withServer(async ({ write }) => {
    await write(OK + "connection: close\r\n\r\ndata: a\n\n");
    return false;
  }, async ({ origin }) => {
    const other = `127.0.0.1:${deadPort()}`;
    const here = new URL("exchanges.ts", import.meta.url).href;
    const code = `
      import { exchangeWith, outcomeOf } from ${JSON.stringify(here)};
      const good = await outcomeOf(exchangeWith("${origin}"));
      const bad = await outcomeOf(exchangeWith("http://${other}/"));
      console.log(JSON.stringify([good.text, good.error, bad.error.code, bad.error.message]));`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-lock", `--allow-net=${origin.slice(7)}`, "--ext=ts", "-"],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(utf8.encode(code));
    await writer.close();
    const { stdout, stderr } = await child.output();
    const text = new TextDecoder().decode(stdout);
    assert(text !== "", new TextDecoder().decode(stderr));
    assertEquals(JSON.parse(text), [
      "data: a\n\n",
      null,
      "permission",
      `Cannot reach the endpoint: Deno needs --allow-net=${other}`,
    ]);
  });
});

Deno.test("Exchange: a PawlError that a fetch throws is not repeated or renamed", async () => {
  const own = new PawlError("unreachable", "Cannot replay", { retryable: true });
  const { error, notices } = await outcomeOf(
    exchangeWith("http://x", { fetch: () => Promise.reject(own), maxRetries: 2 }),
  );
  assert(error === own);
  assertEquals(notices, []);
});

Deno.test("Exchange.read: a body that breaks is truncated, behind what it said", async () => {
  const heads: [string, string][] = [
    [OK + "content-length: 100\r\n\r\n", "data: a\n\ndata: b"],
    [CHUNKED, "9\r\ndata: a\n\n\r\n7\r\ndata: b\r\n"],
    [CHUNKED, "ff\r\ndata: a\n\ndata: b"],
  ];
  for (const [head, body] of heads) {
    await withServer(async ({ write }) => {
      await write(head, body);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return false;
    }, async ({ origin }) => {
      const { text, error } = await outcomeOf(exchangeWith(origin, { maxRetries: 2 }));
      assertEquals(text, "data: a\n\ndata: b");
      assert(isPawlError(error, "truncated"));
      assertEquals([error.retryable, error.message], [
        true,
        "Cannot read the reply: the connection broke",
      ]);
    });
  }
});

Deno.test("Exchange.read: a body that only its connection ends, ends well", async () => {
  await withServer(async ({ write }) => {
    await write(OK + "\r\ndata: a\n\ndata: b");
    return false;
  }, async ({ origin }) => {
    const { text, error } = await outcomeOf(exchangeWith(origin));
    assertEquals([text, error], ["data: a\n\ndata: b", undefined]);
  });
});

Deno.test("Exchange: decodes gzip, and tells broken from short", async () => {
  const packed = await gzip(EVENT.repeat(100));
  const wrong = packed.slice();
  wrong[wrong.length - 6]! ^= 0xff;
  const bodies: [Uint8Array, string | undefined][] = [
    [packed, undefined],
    [packed.slice(0, -9), "truncated"],
    [utf8.encode(EVENT), "malformed_stream"],
    [wrong, "malformed_stream"],
  ];
  for (const [body, code] of bodies) {
    for (const encoding of ["gzip", "GZIP"]) {
      await withServer(async ({ write }) => {
        await write(OK + `content-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n\r\n`, body);
      }, async ({ origin }) => {
        const { text, error } = await outcomeOf(exchangeWith(origin));
        assertEquals(error?.code, code);
        if (!code) assertEquals(text, EVENT.repeat(100));
        assertEquals(error?.retryable, code && code === "truncated");
      });
    }
  }
});

Deno.test("Exchange.send: refuses a content-encoding that nobody decodes, by its header", async () => {
  for (const encoding of ["deflate", "zstd", "x-gzip", "gzip, gzip", "aws-chunked", `x ${KEY}`]) {
    const fetch = fetchOf(["data: a\n\n"], { headers: { "content-encoding": encoding } });
    const { error, pieces } = await outcomeOf(exchangeWith("http://x", { fetch }));
    assert(isPawlError(error, "malformed_stream"));
    assertStringIncludes(error.message, encoding.replace(KEY, "[redacted]"));
    assertEquals([pieces.length, error.message.includes("SECRET")], [0, false]);
  }
  for (const encoding of ["", "identity", "none", "Identity"]) {
    const fetch = fetchOf(["data: a\n\n"], { headers: { "content-encoding": encoding } });
    assertEquals((await outcomeOf(exchangeWith("http://x", { fetch }))).text, "data: a\n\n");
  }
});

Deno.test("Exchange.read: maxResponseBytes counts bytes, hands out what is within it, and closes", async () => {
  for (const [cap, whole] of [[27, true], [26, false], [18, false], [1, false]] as const) {
    await withServer(async ({ write, chunks, left }) => {
      await write(CHUNKED);
      await chunks("data: ä\n", "\n: x\n\n", "data: b\n\n", ":  ".padEnd(2));
      await write("0\r\n\r\n");
      await left();
      return false;
    }, async ({ origin }) => {
      const body = "data: ä\n\n: x\n\ndata: b\n\n:  ";
      const { text, error } = await outcomeOf(exchangeWith(origin, { limits: { maxResponseBytes: cap } }));
      if (whole) return assertEquals([text, error], [body, undefined]);
      assert(isPawlError(error, "response_too_large"));
      assertEquals(
        error.message,
        `Cannot read the reply: it exceeds limits.maxResponseBytes (${cap})`,
      );
      assert(body.startsWith(text) && utf8.encode(text).length <= cap);
    });
  }
});

Deno.test("Exchange.read: an endless reply is left at the cap", async () => {
  let written = 0;
  await withServer(async ({ write, chunks }) => {
    await write(CHUNKED);
    for (const piece = "x".repeat(100_000);;) {
      await chunks(piece);
      written += piece.length;
    }
  }, async ({ origin }) => {
    const { error } = await outcomeOf(exchangeWith(origin, { limits: { maxResponseBytes: 200_000 } }));
    assert(isPawlError(error, "response_too_large"));
  });
  // The sockets of both sides hold some of it.
  assert(written < 20_000_000);
});

Deno.test("Exchange.read: the cap counts what an encoding unfolds to", async () => {
  const bomb = await gzip("data: x\n\n".repeat(2_000_000));
  await withServer(async ({ write }) => {
    await write(OK + `content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`, bomb);
  }, async ({ origin }) => {
    const { error, text } = await outcomeOf(exchangeWith(origin, { limits: { maxResponseBytes: 100_000 } }));
    assert(isPawlError(error, "response_too_large"));
    assertEquals(text.length, 100_000);
  });
});

Deno.test("Exchange.close: may come at any time and again; the server sees the client leave", async () => {
  exchangeWith("http://x").close();
  const closed = exchangeWith("http://x", { fetch: () => Promise.reject(new Error("sent")) });
  closed.close();
  assertEquals((await assertRejects(() => closed.send()) as Error).name, "AbortError");

  const gone = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await withServer(async ({ id, write, chunks, left }) => {
    await write(CHUNKED);
    await chunks(EVENT);
    await left();
    gone[id - 1]!.resolve();
    return false;
  }, async ({ origin }) => {
    const idle = exchangeWith(origin);
    await idle.send();
    assertEquals(await read(idle), EVENT);
    idle.close();
    idle.close();

    const reading = exchangeWith(origin);
    await reading.send();
    await read(reading);
    const pending = read(reading);
    reading.close();
    assertEquals((await assertRejects(() => pending) as Error).name, "AbortError");
    await Promise.all(gone.map(({ promise }) => promise));
  });

  await withServer(({ left }) => left(), async ({ origin }) => {
    const sending = exchangeWith(origin);
    const pending = sending.send();
    sending.close();
    assertEquals((await assertRejects(() => pending) as Error).name, "AbortError");
  });
});
