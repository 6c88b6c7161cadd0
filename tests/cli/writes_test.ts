/** How often something is written: a network chunk is written at once, and in one go. */
import { assert, assertEquals } from "@std/assert";
import { createProvider, openAiChat, run } from "@pawl/pawl";
import { Progress } from "../../src/cli/progress.ts";
import { JsonRenderer, receiverOf, type Renderer, TextRenderer } from "../../src/cli/render.ts";
import { Terminal } from "../../src/cli/terminal.ts";

/** Counts what is written to a file. */
class Sink {
  readonly writes: string[] = [];
  readonly #isTerminal: boolean;

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
  }

  writeSync(bytes: Uint8Array): number {
    this.writes.push(new TextDecoder().decode(bytes));
    return bytes.length;
  }

  isTerminal(): boolean {
    return this.#isTerminal;
  }
}

interface Setup {
  out: Sink;
  err: Sink;
  renderer: Renderer;
}

function setup(format: "text" | "stream-json", isTerminal: boolean): Setup {
  const out = new Sink(isTerminal), err = new Sink(isTerminal);
  const terminal = new Terminal({ color: "never", quiet: false, onFailure() {}, stdout: out, stderr: err });
  const progress = new Progress(terminal);
  const renderer = format === "text"
    ? new TextRenderer(terminal, progress, { host: "h", stream: true, hideReasoning: false, usage: false })
    : new JsonRenderer(terminal, progress, { events: true, host: "h", usage: false });
  return { out, err, renderer };
}

/** A reply whose chunks are handed out when asked for. */
function startRun({ renderer }: Setup): { send(...deltas: object[]): Promise<void>; end(): Promise<void> } {
  let body!: ReadableByteStreamController;
  const stream = new ReadableStream({ type: "bytes", start: (controller) => void (body = controller) });
  const provider = createProvider({
    dialect: openAiChat,
    baseUrl: "http://localhost/v1",
    model: "m",
    maxTokens: 100,
    fetch: () => Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } })),
  });
  const done = run(provider, { prompt: "Hi", receiver: receiverOf((event) => renderer.event(event)) });
  function enqueue(chunk: string): Promise<void> {
    body.enqueue(new TextEncoder().encode(chunk));
    return new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    send: (...deltas) =>
      enqueue(deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`).join("")),
    async end() {
      await enqueue('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
      renderer.result(await done, { model: "m" });
    },
  };
}

const WORDS = Array.from({ length: 1000 }, (_, i) => `word${i} `);

for (const format of ["text", "stream-json"] as const) {
  for (const isTerminal of [false, true]) {
    const where = isTerminal ? "a terminal" : "a pipe";

    Deno.test(`a reply of 1000 deltas in one chunk makes a handful of writes, as ${format} on ${where}`, async () => {
      const parts = setup(format, isTerminal);
      const { send, end } = startRun(parts);
      await send(...WORDS.map((content) => ({ content })));
      await end();
      const { writes } = parts.out;
      assert(writes.length <= 12, `${writes.length} writes`);
      if (format === "text") assertEquals(writes.join("").trimEnd(), WORDS.join("").trimEnd());
    });

    Deno.test(`a delta that comes alone is written at once, as ${format} on ${where}`, async () => {
      const parts = setup(format, isTerminal);
      const { send, end } = startRun(parts);
      await send({ content: "first" });
      for (const content of [" one", " two", " three"]) {
        const before = parts.out.writes.length;
        await send({ content });
        assertEquals(parts.out.writes.length, before + 1);
        assert(parts.out.writes.at(-1)!.includes(content));
      }
      await end();
    });
  }
}

Deno.test("thinking of 1000 deltas in one chunk makes a handful of writes on standard error", async () => {
  const parts = setup("text", true);
  const { send, end } = startRun(parts);
  await send(...WORDS.map((word) => ({ reasoning_content: word })));
  await send({ content: "answer" });
  await end();
  const { writes } = parts.err;
  assert(writes.length <= 8, `${writes.length} writes`);
  assertEquals(writes.join("").trimEnd(), `thinking: ${WORDS.join("").trimEnd()}`);
});
