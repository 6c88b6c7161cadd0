import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { createProvider } from "@pawl/pawl";
import { randomReply } from "../support/arbitrary.ts";
import { conversationOf, reply, result, results, system, use } from "../support/requests.ts";
import { tellReply, tellRun } from "../support/tell.ts";
import { CHUNKINGS } from "../support/wire_case.ts";
import { type ReplyScript, takeTurns, type Writer, WRITERS } from "../support/writer.ts";
import { REPLIES, RUNS, TOOLS } from "./scripts.ts";
import { toyTalk } from "./toy_dialect.ts";

function events({ parts, end, usage }: ReplyScript): string[] {
  const out: string[] = [];
  const tell = (value: unknown) => out.push(`data: ${JSON.stringify(value)}\n\n`);
  tell({ id: "reply_1", toy: "m-1" });
  let calls = 0;
  for (const part of parts) {
    if ("text" in part) part.text.forEach((say) => tell({ say }));
    else if ("thinking" in part) part.thinking.forEach((think) => tell({ think }));
    else {
      const list = "call" in part ? [part.call] : part.interleaved;
      for (const { call, nth, fragment, first } of takeTurns(list)) {
        if (first) tell({ call: calls + nth, as: call.id, name: call.name });
        if (fragment !== "") tell({ of: calls + nth, args: fragment });
      }
      calls += list.length;
    }
  }
  if (end === "cut" || end === "reset") return out;
  if (typeof end === "object") {
    tell({ error: end });
    return out;
  }
  const counts = usage && { asked: usage.input, told: usage.output, known: usage.cached };
  tell({ ...(end !== "mark_only" && { end }), ...(counts && { usage: counts }), bye: true });
  return out;
}

const TOY: Writer = {
  dialect: toyTalk,
  baseUrl: "http://memory.invalid",
  events,
  errorBody: (type, message) => JSON.stringify({ error: { type, message } }),
};
const [OPENAI] = WRITERS as [Writer];

Deno.test("a third dialect, in one file, tells every scripted reply as the others do", async () => {
  for (const [name, script] of Object.entries(REPLIES)) {
    // Its calls have a key of their own, so that one id twice is two calls for it.
    if (name === "two calls of one id") continue;
    const told = await tellReply(OPENAI, script);
    for (const chunking of CHUNKINGS) assertEquals(await tellReply(TOY, script, { chunking, seed: 5 }), told, name);
  }
});

Deno.test("a third dialect runs every scripted run as the others do", async () => {
  for (const [name, { replies, options = {} }] of Object.entries(RUNS)) {
    const agent = { tools: TOOLS, ...options.agent };
    assertEquals(await tellRun(TOY, replies, { agent }), await tellRun(OPENAI, replies, { agent }), name);
  }
});

Deno.test("a third dialect tells 300 random replies as the others do", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`      seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(randomReply, fc.nat(), async (script, cuts) => {
      const options = { chunking: "random", seed: cuts } as const;
      assertEquals(await tellReply(TOY, script, options), await tellReply(OPENAI, script, options));
    }),
    { seed, numRuns: 300 },
  );
});

Deno.test("a third dialect chooses its path by the request, and shares the order of a conversation", () => {
  const provider = createProvider({
    dialect: toyTalk,
    baseUrl: "http://localhost:1/api/",
    model: "big bear",
    maxTokens: 7,
    apiKey: "toy-key-0001",
  });
  const turns = ["hi", reply([use("c1", "f")]), system("S"), results(result("c1", ""))];
  const { url, headers, body } = provider.encode(conversationOf(...turns));
  assertEquals(url, "http://localhost:1/api/toys/big%20bear:talk");
  assertEquals(headers["x-toy-key"], "toy-key-0001");
  const sent = JSON.parse(body);
  assertEquals([sent.system, sent.room, sent.turns.length], ["S", 7, 3]);
  assertStringIncludes(body, "(no output)");
});
