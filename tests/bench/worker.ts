/**
 * A process in which one contestant is measured, again and again: so contestants can take turns without starting anew. It
 * takes one command a line on standard input, answers each with one line, and ends with its input.
 *
 *     deno run … tests/bench/worker.ts CONTESTANT ORIGIN
 *
 * @module
 */
import process from "node:process";
import { decodeJsonObject, isPawlError, stripReasoning } from "../../mod.ts";
import { SseParser } from "../../src/wire/sse.ts";
import { type Client, CLIENTS, fingerprintOf, type Job, type Outcome } from "./contestants.ts";
import { common, cut, eventsOf, hostileTexts, keyOf, type Subject, type TextFunction } from "./corpus.ts";
import { eventSourceParser, type Parse, PEERS } from "./peers.ts";

/** What a worker is asked to do. */
export type Command =
  /** Read a reply, `times` times in a row, each time by `streams` clients at once. */
  | { do: "read"; subject: Subject; times: number; streams: number }
  /** Parse the events of a text of so many deltas, in chunks of `size` bytes, or an event a chunk. */
  | { do: "parse"; deltas: number; size: number | "event" }
  /** Give hostile texts of so many characters to a function. */
  | { do: "text"; name: TextFunction; length: number };

/** What a command took. */
export interface Figures {
  /** Milliseconds of CPU time of the process, its helper threads included. */
  cpu: number;
  /** Milliseconds that passed. */
  wall: number;
  /** Mebibytes held by the process before and, at most, during it. */
  before: number;
  peak: number;
  /** Milliseconds of each turn: requests, or hostile texts in their order. */
  turns: number[];
  /** Of what was read, to be compared; absent if the contestant understands nothing. */
  fingerprint?: string | undefined;
}

const [contestant = "", origin] = Deno.args;

function memory(): number {
  return Deno.memoryUsage().rss / 2 ** 20;
}

/** Takes the time of some turns; looks at the memory now and then. */
async function measure(turns: ReadonlyArray<() => unknown>): Promise<Figures & { last: unknown }> {
  const before = memory();
  const figures: Figures & { last: unknown } = { cpu: 0, wall: 0, before, peak: before, turns: [], last: undefined };
  function look(): void {
    figures.peak = Math.max(figures.peak, memory());
  }
  const timer = setInterval(look, 25);
  const cpu = process.cpuUsage(), start = performance.now();
  for (const turn of turns) {
    const begun = performance.now();
    figures.last = await turn();
    figures.turns.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(cpu);
  figures.wall = performance.now() - start;
  figures.cpu = (user + system) / 1000;
  clearInterval(timer);
  look();
  return figures;
}

async function clientOf(name: string): Promise<Client> {
  return CLIENTS[name] ?? await PEERS[name]!();
}

let client: Client | undefined;

async function read({ subject, times, streams }: Command & { do: "read" }): Promise<Figures> {
  const run = client ??= await clientOf(contestant);
  const { dialect, kind } = subject;
  const job: Job = { dialect, baseUrl: `${origin}/${keyOf(subject)}`, tool: kind === "tool" || kind === "big" };
  const turn = streams === 1 ? () => run(job) : () => Promise.all(Array.from({ length: streams }, () => run(job)));
  const { last, ...figures } = await measure(Array<typeof turn>(times).fill(turn));
  const outcomes = [last].flat() as Array<Outcome | undefined>;
  return { ...figures, fingerprint: common(outcomes.map((outcome) => outcome && fingerprintOf(outcome))) };
}

/** The product as a parser, fed with bytes like the other. */
function sseParser(chunks: readonly Uint8Array<ArrayBuffer>[]): ReturnType<Parse> {
  const seen = { events: 0, characters: 0 };
  const parser = new SseParser();
  for (const chunk of chunks) {
    for (const { data } of parser.feed(chunk)) {
      seen.events++;
      seen.characters += data.length;
    }
  }
  return seen;
}

const chunkings = new Map<unknown, Uint8Array<ArrayBuffer>[]>();

async function parse({ deltas, size }: Command & { do: "parse" }): Promise<Figures> {
  const run = contestant === "SseParser" ? sseParser : await eventSourceParser();
  let chunks = chunkings.get(size);
  if (!chunks) {
    const events = eventsOf({ dialect: "openai_chat", kind: "text", size: deltas, framing: "event" });
    chunks = size === "event" ? events.map((event) => new TextEncoder().encode(event)) : cut(events, size);
    chunkings.set(size, chunks);
  }
  const { last, ...figures } = await measure([() => run(chunks)]);
  return { ...figures, fingerprint: JSON.stringify(last) };
}

const FUNCTIONS: Record<TextFunction, (text: string) => unknown> = { decodeJsonObject, stripReasoning };

async function readText({ name, length }: Command & { do: "text" }): Promise<Figures> {
  const { last: _, ...figures } = await measure(
    hostileTexts(name, length).map((text) => () => {
      try {
        FUNCTIONS[name](text);
      } catch (error) {
        // That there is no JSON object in a text is an answer.
        if (!isPawlError(error)) throw error;
      }
    }),
  );
  return figures;
}

function obey(command: Command): Promise<Figures> {
  switch (command.do) {
    case "read":
      return read(command);
    case "parse":
      return parse(command);
    case "text":
      return readText(command);
  }
}

for await (const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  console.log(JSON.stringify(await obey(JSON.parse(line))));
}
