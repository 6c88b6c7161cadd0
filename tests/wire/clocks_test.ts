import { assert, assertEquals, assertRejects } from "@std/assert";
import { isPawlError } from "../../src/model/error.ts";
import { resolveLimits } from "../../src/model/limits.ts";
import { type ClockName, type Clocks, createClocks } from "../../src/wire/clocks.ts";
import { scriptedFetch } from "../../src/wire/scripted.ts";
import { exchangeWith, fetchOf, outcomeOf, read } from "./exchanges.ts";
import { CHUNKED, withServer } from "./raw_server.ts";

/** Clocks that take part; the others stay at their defaults of minutes. */
const SHORT = 60;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// deno-lint-ignore no-explicit-any -- whatever was thrown
function assertClock(error: any, clock: ClockName, ms = SHORT): void {
  assert(isPawlError(error, "timeout"), String(error));
  assert(error.retryable);
  assert(error.message.endsWith(`exceeds limits.${clock} (${ms})`), error.message);
}

Deno.test("Exchange: headersTimeoutMs ends the wait for a head, and is not repeated", async () => {
  const left = Promise.withResolvers<void>();
  await withServer(async (connection) => {
    await connection.left();
    left.resolve();
    return false;
  }, async ({ origin, requests }) => {
    const { error, notices } = await outcomeOf(
      exchangeWith(origin, { maxRetries: 2, limits: { headersTimeoutMs: SHORT } }),
    );
    assertClock(error, "headersTimeoutMs");
    assertEquals([notices, requests.length], [[], 1]);
    await left.promise;
  });
});

Deno.test("Exchange: headersTimeoutMs holds for all attempts and their waits together", async () => {
  let sent = 0;
  const fetch = () => {
    sent++;
    return Promise.resolve(new Response("", { status: 500 }));
  };
  const { error } = await outcomeOf(exchangeWith("http://x", {
    fetch,
    maxRetries: 1000,
    limits: { headersTimeoutMs: SHORT, maxRetryDelayMs: 25 },
  }));
  assertClock(error, "headersTimeoutMs");
  assert(sent > 1 && sent < 20, `${sent} requests`);
});

Deno.test("Exchange: headersTimeoutMs also ends a fetch that does not heed its signal, whose reply is dropped", async () => {
  const reply = Promise.withResolvers<Response>();
  const dropped = Promise.withResolvers<void>();
  const exchange = exchangeWith("http://x", { fetch: () => reply.promise, limits: { headersTimeoutMs: SHORT } });
  assertClock((await outcomeOf(exchange)).error, "headersTimeoutMs");
  reply.resolve(new Response(new ReadableStream({ cancel: () => dropped.resolve() })));
  await dropped.promise;
});

Deno.test("Exchange: idleTimeoutMs ends a silent body, behind what it said", async () => {
  await withServer(async ({ write, chunks, left }) => {
    await write(CHUNKED);
    await chunks("data: a\n\n");
    await left();
    return false;
  }, async ({ origin }) => {
    const { error, text } = await outcomeOf(exchangeWith(origin, { limits: { idleTimeoutMs: SHORT } }));
    assertClock(error, "idleTimeoutMs");
    assertEquals(text, "data: a\n\n");
  });
});

Deno.test("Exchange: progressTimeoutMs ends a body without content, however alive; totalTimeoutMs ends any", async () => {
  for (const clock of ["progressTimeoutMs", "totalTimeoutMs"] as const) {
    await withServer(async ({ write, chunks }) => {
      await write(CHUNKED);
      for (;;) {
        await chunks(": ping\n");
        await pause(5);
      }
    }, async ({ origin }) => {
      const exchange = exchangeWith(origin, { limits: { [clock]: SHORT } });
      const { error, text } = await outcomeOf(exchange);
      assertClock(error, clock);
      assert(text.startsWith(": ping\n"));
    });
  }
});

Deno.test("Exchange.progress: keeps a slow reply alive", async () => {
  await withServer(async ({ write, chunks }) => {
    await write(CHUNKED);
    for (let i = 0; i < 12; i++) {
      await chunks("data: a\n\n");
      await pause(15);
    }
    await write("0\r\n\r\n");
  }, async ({ origin }) => {
    const exchange = exchangeWith(origin, { limits: { progressTimeoutMs: 100 } });
    const { error, text } = await outcomeOf(exchange, () => exchange.progress());
    assertEquals([error, text.length], [undefined, 108]);
  });
});

Deno.test("Exchange: no clock runs while the caller holds a text, asleep or busy", async () => {
  await withServer(async ({ write, chunks }) => {
    await write(CHUNKED);
    await chunks("data: a\n\n");
    await pause(20);
    await chunks("data: b\n\n");
    await pause(20);
    await write("0\r\n\r\n");
  }, async ({ origin }) => {
    const limits = { idleTimeoutMs: 100, progressTimeoutMs: 120, totalTimeoutMs: 150, headersTimeoutMs: 100 };
    for (const busy of [true, false]) {
      const { error, text } = await outcomeOf(exchangeWith(origin, { limits }), () => {
        if (!busy) return pause(250);
        for (const end = performance.now() + 250; performance.now() < end;);
      });
      assertEquals([error, text], [undefined, "data: a\n\ndata: b\n\n"]);
    }
  });
});

Deno.test("Exchange: a body that never lets a timer run is still ended", async () => {
  for (const clock of ["progressTimeoutMs", "totalTimeoutMs"] as const) {
    const fetch = fetchOf((function* () {
      for (;;) yield ": ping\n";
    })());
    const { error } = await outcomeOf(exchangeWith("http://x", { fetch, limits: { [clock]: SHORT } }));
    // The cap is the other bound that may end it first.
    if (!isPawlError(error, "response_too_large")) assertClock(error, clock);
  }
});

/** Runs with a `Date.now` that goes on only when it is told to; the timer gets no turn. */
function withTime(
  limits: Parameters<typeof resolveLimits>[0],
  run: (clocks: Clocks, pass: (ms: number) => void) => void,
) {
  const { now } = Date;
  const expired: ClockName[] = [];
  const clocks = createClocks(resolveLimits(limits), (clock) => expired.push(clock));
  let time = now();
  Date.now = () => time;
  try {
    run(clocks, (ms) => time += ms);
  } finally {
    clocks.stop();
    Date.now = now;
  }
  return expired;
}

Deno.test("createClocks: what passes is counted in full, however rarely the timer runs", () => {
  const limits = { headersTimeoutMs: 4000 };
  for (const [ms, expired] of [[1999, []], [2000, ["headersTimeoutMs"]]] as const) {
    assertEquals(
      withTime(limits, (clocks, pass) => {
        for (let i = 0; i < 2; i++) {
          clocks.begin();
          pass(ms);
          clocks.end();
          pass(60_000);
        }
      }),
      [...expired],
    );
  }
});

Deno.test("createClocks: a byte ends the silence, however late it is looked at", () => {
  const limits = { idleTimeoutMs: 2000, progressTimeoutMs: 10_000 };
  assertEquals(
    withTime(limits, (clocks, pass) => {
      clocks.head();
      for (let i = 0; i < 4; i++) {
        clocks.begin();
        pass(3000);
        clocks.end();
      }
    }),
    ["progressTimeoutMs"],
  );
});

Deno.test("createClocks: a step of the system's clock or a stopped process is no hour of waiting", () => {
  const limits = { headersTimeoutMs: 20_000 };
  assertEquals(
    withTime(limits, (clocks, pass) => {
      for (const ms of [3_600_000, -7_200_000, 3_600_000]) {
        clocks.begin();
        pass(ms);
        clocks.end();
      }
    }),
    [],
  );
});

const REASONS: unknown[] = [new Error("mine"), "text", 0, null, new DOMException("stop", "TimeoutError")];

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(() => assert(false, "settled"), (reason) => reason);
}

Deno.test("Exchange: aborted before it began, nothing is sent", async () => {
  for (const reason of REASONS) {
    let sent = 0;
    const fetch = () => Promise.reject(new Error(`sent ${++sent}`));
    const exchange = exchangeWith("http://x", { fetch, signal: AbortSignal.abort(reason) });
    assertEquals([await reasonOf(exchange.send()) === reason, sent], [true, 0]);
    exchange.close();
  }
});

Deno.test("Exchange: an abort rejects with the signal's reason, before the head, in a wait, in a read, between reads", async () => {
  for (const reason of REASONS) {
    const controller = new AbortController();
    const exchange = exchangeWith("http://x", { fetch: () => new Promise(() => {}), signal: controller.signal });
    setTimeout(() => controller.abort(reason));
    assertEquals(await reasonOf(exchange.send()), reason);
    assertEquals(await reasonOf(exchange.send()), reason);
    exchange.close();
  }

  const controller = new AbortController();
  const waiting = exchangeWith("http://x", {
    fetch: () => Promise.resolve(new Response("", { status: 500, headers: { "retry-after": "60" } })),
    maxRetries: 1,
    signal: controller.signal,
    limits: { maxRetryDelayMs: 60_000 },
  });
  assertEquals((await waiting.send())?.delayMs, 60_000);
  setTimeout(() => controller.abort("now"));
  assertEquals(await reasonOf(waiting.send()), "now");
  waiting.close();

  for (const isReading of [true, false]) {
    const left = Promise.withResolvers<void>();
    await withServer(async (connection) => {
      await connection.write(CHUNKED);
      await connection.chunks("data: a\n\n");
      await connection.left();
      left.resolve();
      return false;
    }, async ({ origin }) => {
      const controller = new AbortController();
      const exchange = exchangeWith(origin, { signal: controller.signal });
      await exchange.send();
      assertEquals(await read(exchange), "data: a\n\n");
      if (isReading) setTimeout(() => controller.abort("now"));
      else controller.abort("now");
      assertEquals(await reasonOf(read(exchange)), "now");
      await left.promise;
      exchange.close();
    });
  }
});

Deno.test("Exchange: an abort ends the wait for a real head, and for a body that nobody else can end", async () => {
  const left = Promise.withResolvers<void>();
  await withServer(async (connection) => {
    await connection.left();
    left.resolve();
    return false;
  }, async ({ origin }) => {
    const controller = new AbortController();
    const exchange = exchangeWith(origin, { signal: controller.signal });
    setTimeout(() => controller.abort("now"), 20);
    assertEquals(await reasonOf(exchange.send()), "now");
    await left.promise;
  });
  const controller = new AbortController();
  const deaf = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => new Promise(() => {}) });
  const exchange = exchangeWith("http://x", {
    fetch: () => Promise.resolve(new Response(deaf)),
    signal: controller.signal,
  });
  await exchange.send();
  setTimeout(() => controller.abort("now"));
  assertEquals(await reasonOf(read(exchange)), "now");
});

Deno.test("Exchange: aborted at any turn, it ends with the reason and hands out nothing more", async () => {
  const whole = "data: a\n\ndata: b\n\n";
  let finished = 0;
  for (let turn = 0; finished < 3; turn++) {
    for (const stream of ["bytes", "plain"] as const) {
      const controller = new AbortController();
      const fetch = scriptedFetch([{ status: 500 }, { chunks: ["data: a\n\n", "data: b\n\n"], stream }]);
      const exchange = exchangeWith("http://x", {
        fetch,
        maxRetries: 1,
        signal: controller.signal,
        limits: { maxRetryDelayMs: 1 },
      });
      let isAborted = false;
      const pending = outcomeOf(exchange, () => assertEquals(isAborted, false));
      for (let i = 0; i < turn; i++) await Promise.resolve();
      // Behind the wait for the repetition the turns go on.
      if (turn > 60) await pause(5);
      isAborted = true;
      controller.abort("now");
      const { error, text } = await pending;
      if (error === undefined) {
        assertEquals(text, whole);
        finished++;
      } else assertEquals([error, whole.startsWith(text)], ["now", true]);
    }
    assert(turn < 1000);
  }
});

Deno.test("Exchange: leaves no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners.add(args[1]), add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners.delete(args[1]), remove(...args));
  await outcomeOf(exchangeWith("http://x", { fetch: fetchOf(["data: a\n\n"]), signal }));
  await outcomeOf(exchangeWith("http://x", { fetch: () => Promise.reject(new TypeError("refused")), signal }));
  const unfinished = exchangeWith("http://x", { fetch: fetchOf(["data: a\n\n"]), signal });
  await unfinished.send();
  assertEquals(listeners.size, 1);
  unfinished.close();
  await assertRejects(() => read(unfinished));
  assertEquals(listeners.size, 0);
});
