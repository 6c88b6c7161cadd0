/**
 * Random and damaged replies, each made from a seed and its number alone, and what must hold for all of them.
 * @module
 */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { Agent, type AgentEvent, Conversation, createProvider, isPawlError, type StreamEvent } from "@pawl/pawl";
import { assertAnswered } from "../agent/fake_provider.ts";
import { checkReply, checkRun, joinDeltas } from "../support/grammar.ts";
import { fitsMemory, memoryFetch } from "../support/memory_fetch.ts";
import type { Answer } from "../support/replay_server.ts";
import { lintRequest } from "../support/request_lint.ts";
import { readCases, seeded, steps } from "../support/wire_case.ts";
import { type Writer, WRITERS } from "../support/writer.ts";
import { CANARY, leakIn } from "./leaks.ts";

/** Of one reply; far above what any takes, but a loop that grows faster than its input would meet it. */
const MAX_MS = 5_000;
const TEXT = { "content-type": "text/event-stream" };

type Random = () => number;

function upTo(random: Random, end: number): number {
  return Math.floor(random() * end);
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[upTo(random, list.length)]!;
}

function many<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: upTo(random, most + 1) }, make);
}

const KEYS =
  ("id type role index delta content text thinking signature data message choices finish_reason stop_reason usage " +
    "tool_calls function name arguments input partial_json content_block reasoning_content reasoning reasoning_details refusal " +
    "error code status details prompt_tokens completion_tokens input_tokens output_tokens function_call extra_content model " +
    "summary encrypted citations container __proto__ constructor toString object stop_sequence").split(" ");
const WORDS = [
  ...("message_start content_block_start content_block_delta content_block_stop message_delta message_stop ping error text_delta " +
    "input_json_delta thinking_delta signature_delta citations_delta text thinking tool_use redacted_thinking server_tool_use " +
    "function custom stop tool_calls length content_filter end_turn max_tokens refusal pause_turn model_context_window_exceeded " +
    "assistant add x c1 reasoning.text reasoning.encrypted").split(" "),
  ...[
    "",
    " ",
    "\n",
    "{",
    "}",
    "{}",
    '{"a":1}',
    '"{}"',
    "null",
    "[",
    "<think>",
    "</think>",
    "<",
    "`",
    "```\n",
    "\ud83d",
    "\ude00",
  ],
  ...[
    "\u001b[2J",
    "\u202e",
    "é",
    "a".repeat(300),
    "[TOOL_CALLS]",
    "<|im_end|>",
    "prompt is too long",
    CANARY.slice(0, 12),
  ],
];
const NUMBERS = [0, 1, 2, -1, 1.5, 1e9, 2 ** 53, -0, 1e308, 400, 429, 500];
const EVENT_NAMES = [
  "",
  "",
  "",
  "event: error\n",
  "event: ping\n",
  "event: message_stop\n",
  ": c\n",
  "id: 1\n",
  "retry: 5\n",
];
const HEADS: Record<string, string>[] = [
  TEXT,
  TEXT,
  TEXT,
  { "content-type": "application/json" },
  { "content-type": "text/html" },
  { "content-type": "\u00ff; x" },
  { "content-type": "text/event-stream", "retry-after": "0", "x-should-retry": "true" },
];

function json(random: Random, depth: number): unknown {
  const kind = depth > 5 ? upTo(random, 3) : upTo(random, 10);
  if (kind === 0) return pick(random, NUMBERS);
  if (kind === 1) return pick(random, [null, true, false]);
  if (kind < 5) return pick(random, WORDS);
  if (kind === 5) return many(random, 3, () => json(random, depth + 1));
  return Object.fromEntries(many(random, 5, () => [pick(random, KEYS), json(random, depth + 1)]));
}

/** An object of the shape that belongs there, with anything in the places of some of its values. */
function shaped(random: Random, value: unknown): unknown {
  if (random() < 0.02) return json(random, 3);
  if (Array.isArray(value)) return value.flatMap((item) => random() < 0.05 ? [] : [shaped(random, item)]);
  if (typeof value !== "object" || value === null) return random() < 0.06 ? json(random, 4) : value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => random() < 0.03 ? [] : [[key, shaped(random, inner)]]),
  );
}

const BODIES = readCases().filter(({ response }) => fitsMemory(response)).map(({ response, dialect }) => {
  const pieces = response.chunks.filter((piece) => typeof piece === "string" || "b64" in piece);
  const [bytes = new Uint8Array()] = steps(pieces, "whole") as Uint8Array[];
  return { dialect: dialect === "openai" ? "openai_chat" : "anthropic_messages", status: response.status, bytes };
}).filter(({ bytes }) => bytes.length > 0 && bytes.length < 6_000);

function transcript(random: Random, dialect: string): { status: number; bytes: Uint8Array } {
  // Now and then one of the other protocol.
  const own = BODIES.filter((body) => (body.dialect === dialect) === (random() < 0.95));
  return pick(random, own);
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** The same events with other values in them, and some of them gone, twice or elsewhere. */
function bent(random: Random, bytes: Uint8Array): Uint8Array {
  const events = decoder.decode(bytes).split(/\r?\n\r?\n/);
  for (let i = 0; i < events.length; i++) {
    const at = events[i]!.indexOf("data: {");
    if (at < 0 || random() < 0.5) continue;
    try {
      const value = shaped(random, JSON.parse(events[i]!.slice(at + 6)));
      events[i] = events[i]!.slice(0, at) + `data: ${JSON.stringify(value)}`;
    } catch {
      // Not every transcript is JSON; such an event stays as it is.
    }
  }
  for (let n = upTo(random, 3); n > 0; n--) {
    const [event = ""] = events.splice(upTo(random, events.length), random() < 0.3 ? 1 : 0);
    events.splice(upTo(random, events.length), 0, event || pick(random, events) || "");
  }
  return encoder.encode(events.join("\n\n"));
}

function damaged(random: Random, original: Uint8Array, other: Uint8Array): Uint8Array {
  let bytes = original;
  for (let n = 1 + upTo(random, 4); n > 0; n--) {
    const at = upTo(random, bytes.length + 1), end = Math.min(bytes.length, at + 1 + upTo(random, 30));
    const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
    const noise = Uint8Array.from({ length: 1 + upTo(random, 20) }, () => upTo(random, 256));
    const from = upTo(random, other.length);
    const parts = pick(random, [
      [before],
      [before, after],
      [before, piece, piece, after],
      [before, piece.map((byte) => byte ^ (1 << upTo(random, 8))), after],
      [before, noise, piece, after],
      [before, encoder.encode(pick(random, WORDS)), after],
      [before, other.subarray(from, from + upTo(random, 200)), piece, after],
      [after, before],
    ]);
    bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
  }
  return bytes;
}

/** What a reply is made of, by name: told in the counts. */
const KINDS: Record<string, (random: Random, dialect: string) => Partial<Answer> & { bytes: Uint8Array }> = {
  bytes: (random) => ({ bytes: Uint8Array.from({ length: upTo(random, 600) }, () => upTo(random, 256)) }),
  text: (random) => ({
    bytes: encoder.encode(many(random, 20, () => pick(random, ["data:", "\n", ": ", ...WORDS])).join("")),
  }),
  json: (random) => ({
    bytes: encoder.encode(
      many(random, 8, () => `${pick(random, EVENT_NAMES)}data: ${JSON.stringify(json(random, 0))}\n\n`).join("") +
        pick(random, ["", "data: [DONE]\n\n", "data: "]),
    ),
  }),
  document: (random) => ({ bytes: encoder.encode(JSON.stringify(json(random, 0))) }),
  bent(random, dialect) {
    const { status, bytes } = transcript(random, dialect);
    return { status, bytes: bent(random, bytes) };
  },
  damaged(random, dialect) {
    const { status, bytes } = transcript(random, dialect);
    return { status, bytes: damaged(random, bytes, transcript(random, dialect).bytes) };
  },
};
const WEIGHTED = ["bytes", "text", "json", "json", "document", "bent", "bent", "bent", "damaged", "damaged"];

/** A reply, whole and in pieces. */
interface Fuzzed {
  kind: string;
  bytes: Uint8Array;
  /** The same bytes, cut in two ways. */
  answers: [Answer, Answer];
}

/** The reply of a seed and a number. */
export function fuzzed(seed: number, number: number, dialect: string): Fuzzed {
  const random = seeded(seed ^ Math.imul(number + 1, 0x9e3779b1));
  const kind = pick(random, WEIGHTED);
  const { bytes, status = random() < 0.1 ? pick(random, [400, 401, 413, 429, 500, 299]) : 200 } = KINDS[kind]!(
    random,
    dialect,
  );
  const headers = pick(random, HEADS);
  const end = random() < 0.1 ? [{ abort: true as const }] : [];
  const pieces = bytes.length > 0 ? [{ b64: base64(bytes) }] : [];
  const answers = [steps(pieces, "whole"), steps(pieces, random() < 0.1 ? "bytes" : "random", random)].map((cut) => ({
    status,
    headers,
    steps: [...cut, ...end],
  }));
  return { kind, bytes, answers: answers as [Answer, Answer] };
}

/** Bytes as base64, to reproduce a failure from. */
export function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function provide({ dialect, baseUrl }: Writer, answers: readonly Answer[], byob: boolean) {
  return createProvider({
    dialect,
    baseUrl,
    model: "m",
    maxTokens: 100,
    maxRetries: 0,
    apiKey: CANARY,
    fetch: memoryFetch(answers, { byob }),
  });
}

function asking(): Conversation {
  const conversation = new Conversation();
  conversation.addUserMessage("Go on");
  return conversation;
}

function checkError(error: unknown): string {
  assert(isPawlError(error), `a foreign exception: ${error instanceof Error ? error.stack : error}`);
  assert(error.message.length <= 300 && !/[\x00-\x1f\x7f-\x9f]/.test(error.message), error.message);
  assertEquals(leakIn(error.message), undefined);
  return `${error.code} ${error.message} ${error.retryable} ${JSON.stringify(error.partial)}`;
}

async function replyOf(
  writer: Writer,
  answer: Answer,
  byob: boolean,
): Promise<{ events: StreamEvent[]; error?: string }> {
  const events: StreamEvent[] = [];
  try {
    for await (const event of provide(writer, [answer], byob).stream(asking())) events.push(event);
  } catch (error) {
    checkReply(events, error);
    return { events: joinDeltas(events), error: checkError(error) };
  }
  checkReply(events);
  return { events: joinDeltas(events) };
}

async function runOf(writer: Writer, answers: readonly Answer[]): Promise<void> {
  const conversation = asking();
  const events: AgentEvent[] = [];
  const tool = { name: "add", description: "Adds", inputSchema: { type: "object", properties: {} }, run: () => "5" };
  let thrown: unknown;
  try {
    const agent = new Agent(provide(writer, answers, true), { tools: [tool], maxIterations: 2 });
    for await (const event of agent.stream(conversation)) events.push(event);
  } catch (error) {
    checkError(error);
    thrown = error;
  }
  checkRun(events, thrown);
  assertAnswered(conversation);
  conversation.addUserMessage("And now?");
  for (const other of WRITERS) {
    const { headers, body } = provide(other, [], true).encode(conversation, { tools: [tool] });
    const { name } = other.dialect;
    assertEquals(lintRequest(name, { path: "/", headers, body: JSON.parse(body) }, CANARY), []);
  }
}

/**
 * Holds what must be true of a reply, whatever it is: its events are legal and end in one terminal event, only our own errors are thrown,
 * the cuts between packets mean nothing, the conversation of a run can be sent in both dialects, and all of it takes no time.
 */
export async function checkFuzzed(writer: Writer, { answers: [whole, cut], bytes }: Fuzzed): Promise<void> {
  const began = performance.now();
  const reply = await replyOf(writer, whole, false);
  assertEquals(await replyOf(writer, cut, true), reply, "cut otherwise it means something else");
  // A run costs three times as much as a reply, and sees little more.
  if (bytes.length % 3 === 0) await runOf(writer, [cut, whole]);
  assertLessOrEqual(performance.now() - began, MAX_MS, "milliseconds");
}
