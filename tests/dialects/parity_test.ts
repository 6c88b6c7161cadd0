import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Conversation } from "@pawl/pawl";
import { randomReply } from "../support/arbitrary.ts";
import { scripted, tellReply, tellRun } from "../support/tell.ts";
import { CHUNKINGS } from "../support/wire_case.ts";
import { write, WRITERS } from "../support/writer.ts";
import { ANSWER, REPLIES, RUNS, TOOLS } from "./scripts.ts";

/** The same told by every dialect: the first one's telling. */
async function agree<T>(tell: (writer: (typeof WRITERS)[number]) => Promise<T>): Promise<T> {
  const [first, ...others] = await Promise.all(WRITERS.map(tell));
  for (const other of others) assertEquals(other, first);
  return first!;
}

for (const [name, script] of Object.entries(REPLIES)) {
  Deno.test(`dialects: one event sequence for ${name}, however it is cut`, async () => {
    const whole = await agree((writer) => tellReply(writer, script));
    for (const chunking of CHUNKINGS) {
      const told = await agree((writer) =>
        tellReply(writer, script, { chunking, seed: 7, byob: chunking === "bytes" })
      );
      assertEquals(told, whole, `cut: ${chunking}`);
    }
  });
}

for (const [name, { replies, options = {} }] of Object.entries(RUNS)) {
  Deno.test(`dialects: one run, one result and one error for ${name}`, async () => {
    const agent = { tools: TOOLS, ...options.agent };
    const told = await agree((writer) => tellRun(writer, replies, { ...options, agent }));
    for (const chunking of CHUNKINGS) {
      assertEquals(await agree((writer) => tellRun(writer, replies, { ...options, agent, chunking, seed: 3 })), told);
    }
  });
}

Deno.test("dialects: retries are told alike", async () => {
  const busy = REPLIES["HTTP 429"]!;
  const http = { ...busy.http!, headers: { "retry-after-ms": "1" } };
  await agree(async (writer) => {
    const answers = [{ ...busy, http }, ANSWER].map((script) => write(writer, script));
    const provider = scripted(writer, answers, { provider: { maxRetries: 1 } });
    const conversation = new Conversation();
    conversation.addUserMessage("Go on");
    const events = [];
    for await (const event of provider.stream(conversation)) events.push(event);
    const [retry] = events;
    assert(retry?.type === "retry" && retry.attempt === 1 && retry.status === 429 && retry.code === "http_status");
    return events.length;
  });
});

const RUNS_PER_PROPERTY = 1500;

Deno.test(`dialects: ${RUNS_PER_PROPERTY} random replies in random cuts are told alike`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`      seed ${seed}, ${RUNS_PER_PROPERTY} replies`);
  await fc.assert(
    fc.asyncProperty(randomReply, fc.nat(), async (script, cuts) => {
      await agree((writer) => tellReply(writer, script, { chunking: "random", seed: cuts }));
    }),
    { seed, numRuns: RUNS_PER_PROPERTY },
  );
});

Deno.test(`dialects: ${RUNS_PER_PROPERTY / 5} random conversations are run alike`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`      seed ${seed}, ${RUNS_PER_PROPERTY / 5} conversations`);
  await fc.assert(
    fc.asyncProperty(fc.array(randomReply, { minLength: 1, maxLength: 4 }), fc.nat(), async (replies, cuts) => {
      const script = [...replies, ANSWER, ANSWER, ANSWER, ANSWER];
      await agree((writer) => tellRun(writer, script, { chunking: "random", seed: cuts, agent: { tools: TOOLS } }));
    }),
    { seed, numRuns: RUNS_PER_PROPERTY / 5 },
  );
});
