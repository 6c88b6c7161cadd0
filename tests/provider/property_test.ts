import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Conversation, isPawlError, type StreamEvent } from "@pawl/pawl";
import { mutate, mutations, randomReply } from "../support/arbitrary.ts";
import { checkReply, joinDeltas } from "../support/grammar.ts";
import { fitsMemory } from "../support/memory_fetch.ts";
import { scripted, tellReply } from "../support/tell.ts";
import { readCases, seeded, type Step, steps } from "../support/wire_case.ts";
import { write, type Writer, WRITERS } from "../support/writer.ts";

const SEED = Math.floor(Math.random() * 2 ** 31);

async function holds<T>(
  runs: number,
  arbitrary: fc.Arbitrary<T>,
  property: (value: T) => Promise<void>,
): Promise<void> {
  console.log(`      seed ${SEED}, ${runs} runs`);
  await fc.assert(fc.asyncProperty(arbitrary, property), { seed: SEED, numRuns: runs });
}

interface Reading {
  /** Neighbouring deltas joined. */
  events: StreamEvent[];
  error?: string;
}

/** Reads bytes as a reply; whatever they are, the events are legal and end in one terminal event, and an error is one of ours. */
async function read(writer: Writer, body: Step[], byob: boolean, status = 200): Promise<Reading> {
  const answer = { status, headers: { "content-type": "text/event-stream" }, steps: body };
  const provider = scripted(writer, [answer], { byob });
  const conversation = new Conversation();
  conversation.addUserMessage("Go on");
  const events: StreamEvent[] = [];
  try {
    for await (const event of provider.stream(conversation)) events.push(event);
  } catch (error) {
    assert(isPawlError(error), String(error));
    assert(error.message.length <= 300 && !/[\x00-\x1f]/.test(error.message));
    checkReply(events, error);
    return { events: joinDeltas(events), error: `${error.code}: ${error.message} ${JSON.stringify(error.partial)}` };
  }
  checkReply(events);
  return { events: joinDeltas(events) };
}

/** The same bytes, whole and cut anew, mean the same. */
async function readAnyhow(writer: Writer, bytes: Uint8Array, cuts: number, end: Step[] = []): Promise<Reading> {
  const whole = await read(writer, [...bytes.length > 0 ? [bytes] : [], ...end], false);
  assertEquals(await read(writer, [...cutBytes(bytes, cuts), ...end], cuts % 2 === 0), whole);
  return whole;
}

function cutBytes(bytes: Uint8Array, seed: number): Step[] {
  const binary = String.fromCharCode(...bytes);
  return steps([{ b64: btoa(binary) }], "random", seeded(seed));
}

const BODIES = readCases().filter(({ response }) => response.status === 200 && fitsMemory(response))
  .map(({ response, dialect }) => {
    const pieces = response.chunks.filter((piece) => typeof piece === "string" || "b64" in piece);
    const [whole = new Uint8Array()] = steps(pieces, "whole");
    return { dialect, bytes: whole as Uint8Array };
  }).filter(({ bytes }) => bytes.length < 8000);

/** Mostly what belongs there, now and then anything. */
function odd(...usual: unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom<unknown>(...usual) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<unknown>(null, "", 0, -1, 1e300, true, false, [], {}, [[]], [null], "x", { a: 1 }),
    },
  );
}

function shape(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 19, arbitrary: fc.record(fields, { requiredKeys: [] }) }, {
    weight: 1,
    arbitrary: odd(null),
  });
}

function some(item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: fc.array(item, { maxLength: 2 }) }, { weight: 1, arbitrary: odd(null) });
}

const PIECES = odd("a", " ", "<think>", "</think>", "\n", "\ud83d", "\ude80", "`");
const ARGS = odd("", "{", "}", "{}", '{"a":', "1}", "null", '"{}"', "[");
const IDS = odd("c1", "c2", "c3");
const NAMES = odd("f", "g", "f<|x", "fg");
const INDEXES = odd(0, 0, 1, 2);

const SHAPES: Record<string, fc.Arbitrary<unknown>> = {
  openai_chat: shape({
    id: IDS,
    choices: some(shape({
      index: INDEXES,
      delta: shape({
        content: PIECES,
        refusal: odd(undefined, "no"),
        reasoning_content: PIECES,
        reasoning: PIECES,
        reasoning_details: some(
          shape({ type: odd("reasoning.text", "reasoning.encrypted"), text: PIECES, index: INDEXES }),
        ),
        tool_calls: some(shape({
          index: INDEXES,
          id: IDS,
          type: odd("function"),
          function: shape({ name: NAMES, arguments: ARGS }),
          extra_content: odd(undefined, { a: 1 }),
        })),
        function_call: shape({ name: NAMES, arguments: ARGS }),
      }),
      message: shape({ content: PIECES }),
      finish_reason: odd(null, null, null, "stop", "tool_calls", "length"),
    })),
    usage: shape({ prompt_tokens: INDEXES, completion_tokens: INDEXES }),
    error: odd(undefined, null, {}),
  }),
  anthropic_messages: fc.oneof(
    shape({
      type: odd("message_start"),
      message: shape({ id: odd("m1"), content: some(odd(null)), usage: shape({ input_tokens: INDEXES }) }),
    }),
    shape({
      type: odd("content_block_start"),
      index: INDEXES,
      content_block: shape({
        type: odd("text", "thinking", "tool_use", "redacted_thinking", "server_tool_use"),
        id: IDS,
        name: NAMES,
        text: PIECES,
        thinking: PIECES,
        signature: odd("", "s"),
        data: odd("d"),
        input: odd({}, { a: 1 }, "{}"),
      }),
    }),
    shape({
      type: odd("content_block_delta"),
      index: INDEXES,
      delta: shape({
        type: odd("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"),
        text: PIECES,
        thinking: PIECES,
        signature: odd("s"),
        partial_json: ARGS,
      }),
    }),
    shape({ type: odd("content_block_stop"), index: INDEXES }),
    shape({
      type: odd("message_delta"),
      delta: shape({ stop_reason: odd(null, "end_turn", "tool_use") }),
      usage: shape({ output_tokens: INDEXES }),
    }),
    shape({ type: odd("message_stop", "ping", "message_delta") }),
  ),
};

for (const writer of WRITERS) {
  const { name } = writer.dialect;

  Deno.test(`provider.stream: any bytes end in one terminal event, ${name}`, async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: "binary", maxLength: 200 }).map((text) => new TextEncoder().encode(text)),
    );
    const anything = fc.record({ bytes, cuts: fc.nat(), abort: fc.boolean() });
    await holds(400, anything, async ({ bytes, cuts, abort }) => {
      await readAnyhow(writer, bytes, cuts, abort ? [{ abort: true }] : []);
    });
  });

  Deno.test(`provider.stream: any JSON in any events ends in one terminal event, ${name}`, async () => {
    const key = fc.constantFrom(
      "choices",
      "delta",
      "content",
      "tool_calls",
      "function",
      "name",
      "arguments",
      "id",
      "index",
      "type",
      "message",
      "finish_reason",
      "usage",
      "error",
      "content_block",
      "text",
      "thinking",
      "partial_json",
      "stop_reason",
      "reasoning_details",
    );
    const word = fc.constantFrom(
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
      "text_delta",
      "input_json_delta",
      "thinking_delta",
      "signature_delta",
      "tool_use",
      "text",
      "thinking",
      "redacted_thinking",
      "stop",
      "end_turn",
      "{}",
      "x",
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        word,
        fc.constantFrom(null, 0, 1, -1, true, ""),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
      ),
    }));
    const event = fc.tuple(
      fc.constantFrom("", "event: error\n", "event: ping\n", "id: 1\n"),
      fc.dictionary(key, tree, { maxKeys: 6 }),
    );
    const stream = fc.record({ list: fc.array(event, { maxLength: 6 }), done: fc.boolean(), cuts: fc.nat() });
    await holds(600, stream, async ({ list, done, cuts }) => {
      const wire = list.map(([head, json]) => `${head}data: ${JSON.stringify(json)}\n\n`).join("") +
        (done ? "data: [DONE]\n\n" : "");
      await readAnyhow(writer, new TextEncoder().encode(wire), cuts);
    });
  });

  Deno.test(`provider.stream: any values in the places of real ones end in one terminal event, ${name}`, async () => {
    const stream = fc.record({
      list: fc.array(SHAPES[name]!, { minLength: 1, maxLength: 8 }),
      end: fc.boolean(),
      cuts: fc.nat(),
    });
    await holds(800, stream, async ({ list, end, cuts }) => {
      const wire = list.map((json) => `data: ${JSON.stringify(json)}\n\n`).join("") + (end ? "data: [DONE]\n\n" : "");
      await readAnyhow(writer, new TextEncoder().encode(wire), cuts);
    });
  });

  Deno.test(`provider.stream: a damaged transcript ends in one terminal event, ${name}`, async () => {
    const damaged = fc.record({ body: fc.constantFrom(...BODIES), list: mutations, cuts: fc.nat() });
    await holds(500, damaged, async ({ body, list, cuts }) => {
      await readAnyhow(writer, mutate(body.bytes, list), cuts);
    });
  });

  Deno.test(`provider.stream: any body of an HTTP error is one error, ${name}`, async () => {
    const failed = fc.record({
      bytes: fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.json().map((json) => new TextEncoder().encode(json))),
      status: fc.constantFrom(400, 401, 404, 413, 422, 429, 500, 503, 529),
      cuts: fc.nat(),
    });
    await holds(300, failed, async ({ bytes, status, cuts }) => {
      const { events, error } = await read(writer, cutBytes(bytes, cuts), cuts % 2 === 0, status);
      assertEquals(events, []);
      assert(error !== undefined);
    });
  });

  Deno.test(`provider.stream: chunking changes nothing in a valid reply, ${name}`, async () => {
    await holds(400, fc.record({ script: randomReply, cuts: fc.nat() }), async ({ script, cuts }) => {
      const whole = await tellReply(writer, script);
      assertEquals(await tellReply(writer, script, { chunking: "random", seed: cuts, byob: cuts % 2 === 0 }), whole);
    });
  });

  Deno.test(`provider.stream: a reply cut anywhere is truncated or whole, never something else, ${name}`, async () => {
    const cut = fc.record({ script: randomReply, at: fc.double({ min: 0, max: 1, noNaN: true }), abort: fc.boolean() });
    await holds(400, cut, async ({ script, at, abort }) => {
      if (typeof script.end === "object") return;
      const whole = await tellReply(writer, script);
      const [body = new Uint8Array()] = write(writer, script, "whole").steps as Uint8Array[];
      const piece = body.subarray(0, Math.floor(at * body.length));
      const { events } = await readAnyhow(writer, piece, 1, abort ? [{ abort: true }] : []);
      const last = events[events.length - 1];
      if (last?.type !== "message_complete") return;
      // The finish word had come: what is called whole is the whole.
      const complete = whole.events[whole.events.length - 1];
      assert(complete?.type === "message_complete", "a cut reply is complete, the whole one is not");
      assertEquals(last.stopReason, complete.stopReason);
      assertEquals(last.message.content.length, complete.message.content.length);
    });
  });
}
