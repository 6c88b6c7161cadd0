/**
 * Cost grows with the bytes received, never faster: ten times the input costs at most fifteen times the time.
 * @module
 */
import { assert } from "@std/assert";
import { Conversation, createProvider, decodeJsonObject, isPawlError, type Limits, stripReasoning } from "@pawl/pawl";
import { excerpt, readError } from "../../src/text/error_text.ts";
import { createRedactor } from "../../src/text/redact.ts";
import { visible } from "../../src/text/visible.ts";
import { memoryFetch } from "../support/memory_fetch.ts";
import { type Part, type Writer, WRITERS } from "../support/writer.ts";
import { ATTACKS } from "./attacks.ts";
import { CANARY } from "./leaks.ts";

const MAX_RATIO = 15;
/** A machine that is busy makes a run slow now and then, but not every run. */
const MAX_ROUNDS = 40;
const CHUNK = 16 * 1024;

/** Nothing ends a reply but its end: it is the cost of reading all of it that counts. */
const UNBOUNDED: Partial<Limits> = {
  maxResponseBytes: 2 ** 40,
  maxEventBytes: 2 ** 40,
  maxErrorBytes: 2 ** 40,
  maxBlocks: 2 ** 40,
  maxToolInputBytes: 2 ** 40,
};

/** What is measured, by attack: how much of it, first once and then ten times; for what has no end, bytes. */
const AMOUNTS: Record<string, number> = {
  "endless-no-newline": 400_000,
  "endless-comments": 200_000,
  "endless-pings": 200_000,
  "endless-deltas": 200_000,
  "endless-empty-deltas": 200_000,
  "endless-data-lines": 100_000,
  "endless-error-body": 200_000,
  "endless-thinking": 200_000,
  "endless-tool-args": 300_000,
  "huge-event": 1,
  "million-blocks": 1000,
  "10k-tool-calls": 500,
  "deep-json-args": 2000,
  "deep-json-event": 2000,
  "tool-name-injection": 50,
  "think-redos": 10_000,
  "json-redos": 15_000,
  "many-tiny-writes": 4,
  "garbage-bytes": 64,
  "escape-error": 64,
};

/** Replies in the smallest pieces, for what looks at all that came before. */
const PIECES: Record<string, (n: number) => Part[]> = {
  "text": (n) => [{ text: Array(n).fill("a") }],
  "blank text": (n) => [{ text: Array(n).fill(" ") }],
  "reasoning": (n) => [{ thinking: Array(n).fill("a") }],
  "tags": (n) => [{ text: [..."<think>a</think>`<think>`\n```\n".repeat(n / 30)] }],
  "arguments": (n) => [{ call: { id: "c", name: "f", args: ['{"x":"', ...Array(n).fill("a"), '"}'] } }],
  "arguments of a call that was complete": (n) => [
    { call: { id: "c", name: "f", args: ["{}", ...Array(n).fill("{}")] } },
    { text: ["a"] },
  ],
  "text behind a call that is open": (n) => [
    { call: { id: "c", name: "f", args: ['{"x":'] } },
    { text: Array(n).fill("a") },
  ],
  "arguments of calls that take turns": (n) => [
    {
      interleaved: Array.from({ length: 100 }, (_, i) => ({
        id: `c${i}`,
        name: "f",
        args: ['{"x":"', ...Array(n / 100).fill("a"), '"}'],
      })),
    },
  ],
};
const PIECE_COUNT = 1000;

/** Adversarial texts for the functions that look at them. */
const TEXTS: [name: string, text: (n: number) => string, work: (text: string) => unknown][] = [
  ["stripReasoning of opened tags", (n) => "<think>".repeat(n) + " </thin".repeat(n), stripReasoning],
  ["stripReasoning of closers", (n) => "a</think>".repeat(n), stripReasoning],
  ["stripReasoning of fences", (n) => "```\n<think>`".repeat(n), stripReasoning],
  ["decodeJsonObject of opened objects", (n) => '{"a":'.repeat(n), attempt(decodeJsonObject)],
  ["decodeJsonObject of objects in strings", (n) => `{"${"{'".repeat(n)}`, attempt(decodeJsonObject)],
  ["decodeJsonObject of small objects", (n) => '{"a":1} '.repeat(n), attempt(decodeJsonObject)],
  ["a redactor of pieces of the key", (n) => `${CANARY.slice(3, 10)} `.repeat(n), createRedactor([CANARY])],
  ["a redactor of keys", (n) => `${CANARY} `.repeat(n), createRedactor([CANARY])],
  ["a redactor of marks", (n) => "Bearer sk-%2".repeat(n), createRedactor([CANARY])],
  ["visible of escapes", (n) => "\x1b[0m\u202e".repeat(n), visible],
  ["readError of a page", (n) => "<p \x1b[31m".repeat(n), readError],
  ["readError of nested errors", (n) => `{"error":`.repeat(n) + "1" + "}".repeat(n), readError],
  ["excerpt of a long line", (n) => "a <b:// ".repeat(n), (text) => excerpt(text, createRedactor([CANARY]))],
];
/** A text is as long as to take this: what grows faster than its input shows only where there is something to do. */
const LEAST_MS = 2;
const MAX_AMOUNT = 50_000;

function attempt(work: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return work(text);
    } catch (error) {
      if (!isPawlError(error)) throw error;
      return error;
    }
  };
}

/** A reply as chunks in memory. */
interface Reply {
  status: number;
  steps: Uint8Array[];
}

async function chunksOf(attack: string, writer: Writer, amount: number): Promise<Reply> {
  const isEndless = attack.startsWith("endless");
  const { status = 200, body } = await ATTACKS[attack]!.answer({
    writer,
    nth: 0,
    scale: () => amount,
    tool: "lookup",
    key: CANARY,
    path: "/",
    elsewhere: "",
    body: {},
  });
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (const piece of typeof body === "string" ? [body] : body) {
    if (typeof piece === "number") continue;
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
    length += bytes.length;
    if (bytes.length <= CHUNK) pieces.push(bytes);
    else for (let at = 0; at < bytes.length; at += CHUNK) pieces.push(bytes.subarray(at, at + CHUNK));
    if (isEndless && length >= amount) break;
  }
  return { status, steps: pieces };
}

async function read(writer: Writer, { status, steps }: Reply): Promise<void> {
  const provider = createProvider({
    dialect: writer.dialect,
    baseUrl: writer.baseUrl,
    model: "m",
    maxTokens: 100,
    maxRetries: 0,
    apiKey: CANARY,
    limits: UNBOUNDED,
    fetch: memoryFetch([{ status, headers: { "content-type": "text/event-stream" }, steps }], { byob: true }),
  });
  const conversation = new Conversation();
  conversation.addUserMessage("hello");
  try {
    await provider.streamStep(conversation, {});
  } catch (error) {
    if (!isPawlError(error)) throw error;
  }
}

/**
 * Holds the tenfold work against ten times the single one, which takes as long and so is interrupted as often on a busy machine. They take
 * turns, until the smallest times are near enough.
 */
async function checkGrowth(name: string, once: () => unknown, tenfold: () => unknown): Promise<void> {
  let small = Infinity, large = Infinity;
  await once();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const began = performance.now();
    for (let i = 0; i < 10; i++) await once();
    const between = performance.now();
    await tenfold();
    small = Math.min(small, (between - began) / 10);
    large = Math.min(large, performance.now() - between);
    if (round > 0 && large / small <= MAX_RATIO) return;
  }
  assert(false, `${name}: ${small.toFixed(2)} ms became ${large.toFixed(2)} ms, ${(large / small).toFixed(1)} times`);
}

for (const [attack, amount] of Object.entries(AMOUNTS)) {
  Deno.test(`ten times ${attack} costs at most fifteen times the time`, async () => {
    for (const writer of WRITERS) {
      const [once, tenfold] = [await chunksOf(attack, writer, amount), await chunksOf(attack, writer, amount * 10)];
      await checkGrowth(writer.dialect.name, () => read(writer, once), () => read(writer, tenfold));
    }
  });
}

for (const [name, parts] of Object.entries(PIECES)) {
  Deno.test(`ten times ${name}, a letter a delta, costs at most fifteen times the time`, async () => {
    for (const writer of WRITERS) {
      const [once, tenfold] = [PIECE_COUNT, PIECE_COUNT * 10].map((n) => {
        const body = new TextEncoder().encode(writer.events({ parts: parts(n), end: "end_turn" }).join(""));
        const count = Math.ceil(body.length / CHUNK);
        const steps = Array.from({ length: count }, (_, i) => body.subarray(i * CHUNK, (i + 1) * CHUNK));
        return { status: 200, steps };
      }) as [Reply, Reply];
      await checkGrowth(writer.dialect.name, () => read(writer, once), () => read(writer, tenfold));
    }
  });
}

for (const [name, text, work] of TEXTS) {
  Deno.test(`${name}: ten times the text costs at most fifteen times the time`, async () => {
    let amount = 1000;
    for (; amount < MAX_AMOUNT; amount *= 2) {
      const once = text(amount);
      work(once);
      const began = performance.now();
      work(once);
      if (performance.now() - began >= LEAST_MS) break;
    }
    const [once, tenfold] = [text(amount), text(amount * 10)];
    await checkGrowth(name, () => work(once), () => work(tenfold));
  });
}
