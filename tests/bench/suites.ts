/**
 * What is measured, and the gates of it.
 *
 * @module
 */
import {
  type DialectName,
  expected,
  type Framing,
  keyOf,
  type Kind,
  type Subject,
  type TextFunction,
} from "./corpus.ts";
import { median, type Rounds, type Summary, takeTurns, type Workers } from "./pool.ts";
import { measureStartUp } from "./start_up.ts";

/** A line of what was measured. */
export interface Row {
  what: string;
  contestant: string;
  summary: Summary;
  /** Deltas, events or requests that the figures are of. */
  count: number;
}

/** A figure with its bound. */
export interface Gate {
  gate: string;
  bound: number;
  /** Absent: it could not be measured, as without peers. */
  figure: number | undefined;
  unit: "×" | "ms" | "MB" | "exponent";
  met: boolean;
}

/** One run of the bench. */
export interface Bench {
  pool: Workers;
  /** Small subjects and few rounds: shows that everything works, and no figure that counts. */
  quick: boolean;
  /** Also measure packages from npm. */
  peers: boolean;
  rows: Row[];
  gates: Gate[];
  /** What went wrong with what was measured; a contestant that lost text counts for nothing. */
  faults: string[];
}

/** Suites by name. */
export const SUITES: Record<string, (bench: Bench) => Promise<void>> = {
  parser: measureParsers,
  replies: measureReplies,
  concurrent: measureConcurrent,
  tiny: measureTiny,
  startup: measureStartUps,
  text: measureTexts,
  growth: measureGrowth,
  memory: measureMemory,
};

function roundsOf({ quick }: Bench, counted: number): Rounds {
  return quick ? { warmUp: 1, counted: 2 } : { warmUp: 2, counted };
}

function addGate(
  bench: Bench,
  gate: string,
  figure: number | undefined,
  bound: number,
  unit: Gate["unit"] = "×",
): void {
  bench.gates.push({ gate, bound, figure, unit, met: figure !== undefined && figure <= bound });
}

/** The middle of the ratios within each round: what slows a round down slows both. */
function ratio(one: Summary | undefined, other: Summary | undefined): number | undefined {
  if (!one || !other) return undefined;
  return median(one.rounds.map((cpu, i) => cpu / other.rounds[i]!));
}

/** The smallest ratio that is the worst for the product: over the best of its peers. */
function overBest(one: Summary | undefined, peers: ReadonlyArray<Summary | undefined>): number | undefined {
  const ratios = peers.map((peer) => ratio(one, peer)).filter((figure) => figure !== undefined);
  return ratios.length > 0 ? Math.max(...ratios) : undefined;
}

interface Turns {
  subject: Subject;
  contestants: readonly string[];
  rounds: Rounds;
  times?: number;
  streams?: number;
}

/** Lets clients read a reply in turns; those that do not have all of it are out. */
async function read(bench: Bench, turns: Turns): Promise<Map<string, Summary>> {
  const { subject, contestants, rounds, times = 1, streams = 1 } = turns;
  const what = `${subject.dialect} ${subject.kind} ${subject.framing}${streams > 1 ? ` × ${streams}` : ""}`;
  const command = { do: "read", subject, times, streams } as const;
  const entries = contestants.map((contestant) => ({ id: contestant, contestant, command }));
  const summaries = await takeTurns(bench.pool, entries, rounds);
  const wanted = expected(subject);
  for (const [contestant, summary] of summaries) {
    if (summary.fingerprint !== undefined && summary.fingerprint !== wanted) {
      bench.faults.push(`${contestant} read another reply than was sent: ${what}`);
      summaries.delete(contestant);
    } else bench.rows.push({ what, contestant, summary, count: subject.size * streams * times });
  }
  return summaries;
}

const PARSERS = ["SseParser", "eventsource-parser"] as const;

async function measureParsers(bench: Bench): Promise<void> {
  const deltas = bench.quick ? 2_000 : 50_000;
  for (const size of [64, 1024, 16 * 1024, 64 * 1024, "event"] as const) {
    const entries = PARSERS.filter((name) => name === "SseParser" || bench.peers)
      .map((contestant) => ({ id: contestant, contestant, command: { do: "parse", deltas, size } as const }));
    const summaries = await takeTurns(bench.pool, entries, roundsOf(bench, 15));
    const what = `events in chunks of ${size === "event" ? "one event" : `${size} bytes`}`;
    for (const [contestant, summary] of summaries) bench.rows.push({ what, contestant, summary, count: deltas });
    const [own, other] = PARSERS.map((name) => summaries.get(name));
    if (other && own?.fingerprint !== other.fingerprint) bench.faults.push(`parsers disagree: ${what}`);
    if (size === 64) continue;
    addGate(bench, `parser, ${what}: CPU over eventsource-parser`, ratio(own, other), size === "event" ? 0.8 : 1.1);
  }
  await bench.pool.retire(...PARSERS);
}

const DIALECTS: readonly DialectName[] = ["openai_chat", "anthropic_messages"];

/** The peers that are worth their time; langchain takes quadratic time for arguments, and also for Anthropic's thinking. */
function peersFor({ peers }: Bench, dialect: DialectName, kind: Kind): string[] {
  if (!peers) return [];
  if (dialect === "anthropic_messages") return ["anthropic"];
  return kind === "text" || kind === "thinking" ? ["xsai", "langchain"] : ["xsai"];
}

const SIZES: Record<Kind, number> = { text: 25_000, thinking: 25_000, tool: 20_000, big: 1_000 };

async function measureReplies(bench: Bench): Promise<void> {
  for (const dialect of DIALECTS) {
    for (const kind of ["text", "thinking", "tool", "big"] as const) {
      const size = bench.quick ? SIZES[kind] / 20 : SIZES[kind];
      const framings: readonly Framing[] = kind === "big" ? ["1k"] : ["event", "16k"];
      for (const framing of framings) {
        const peers = peersFor(bench, dialect, kind);
        const forms = kind === "text" ? ["stream", "step", "agent"] : ["stream"];
        const summaries = await read(bench, {
          subject: { dialect, kind, size, framing },
          contestants: ["readOnly", "readAndParse", ...forms, ...peers],
          rounds: roundsOf(bench, framing === "event" ? 9 : 15),
        });
        const stream = summaries.get("stream");
        const name = `${dialect} ${kind}, ${framing === "event" ? "one event a frame" : `${framing} frames`}`;
        const best = overBest(stream, peers.map((peer) => summaries.get(peer)));
        if (framing === "event" && kind === "text") {
          addGate(bench, `${name}: CPU over reading only`, ratio(stream, summaries.get("readOnly")), 1.8);
          addGate(bench, `${name}: CPU over the best peer`, best, 0.4);
        } else if (framing === "16k") {
          const parsing = ratio(stream, summaries.get("readAndParse"));
          addGate(bench, `${name}: CPU over read + decode + split + JSON.parse`, parsing, 1.35);
          addGate(bench, `${name}: CPU over the best peer`, best, 0.6);
        }
        for (const form of forms.slice(1)) {
          addGate(bench, `${name}: ${form} over stream`, ratio(summaries.get(form), stream), 1.15);
        }
      }
    }
  }
}

async function measureConcurrent(bench: Bench): Promise<void> {
  const streams = bench.quick ? 20 : 200;
  for (const framing of ["event", "paced"] as const) {
    const size = bench.quick ? 20 : framing === "event" ? 500 : 250;
    const summaries = await read(bench, {
      subject: { dialect: "openai_chat", kind: "text", size, framing },
      contestants: ["readOnly", "stream"],
      rounds: roundsOf(bench, 5),
      streams,
    });
    const over = ratio(summaries.get("stream"), summaries.get("readOnly"));
    addGate(
      bench,
      `${streams} streams, ${framing === "event" ? "full speed" : "paced"}: CPU over reading only`,
      over,
      1.8,
    );
  }
}

async function measureTiny(bench: Bench): Promise<void> {
  const rounds = bench.quick ? 2 : 10, times = bench.quick ? 20 : 100;
  const summaries = await read(bench, {
    subject: { dialect: "openai_chat", kind: "text", size: 3, framing: "event" },
    contestants: ["plainFetch", "stream", ...(bench.peers ? ["xsai"] : [])],
    rounds: { warmUp: 2, counted: rounds },
    times,
  });
  const own = summaries.get("stream"), plain = summaries.get("plainFetch");
  const added = own && plain ? own.turn - plain.turn : undefined;
  addGate(bench, `${rounds * times} tiny requests: p50 added to a raw fetch`, added, 0.05, "ms");
}

async function measureStartUps(bench: Bench): Promise<void> {
  const subject: Subject = { dialect: "openai_chat", kind: "text", size: 3, framing: "event" };
  const added = await measureStartUp(keyOf(subject), bench.quick ? 2 : 20);
  addGate(bench, "start-up added to a bare fetch: the library", added.library, 6, "ms");
  addGate(bench, "start-up added to a bare fetch: cli.ts run", added.cli, 25, "ms");
}

const TEXT_BOUNDS: Record<TextFunction, number> = { decodeJsonObject: 100, stripReasoning: 50 };

async function measureTexts(bench: Bench): Promise<void> {
  const length = bench.quick ? 2 ** 14 : 2 ** 20;
  const texts = `ten texts of ${length / 1024} KiB`;
  for (const name of ["decodeJsonObject", "stripReasoning"] as const) {
    const entry = { id: name, contestant: name, command: { do: "text", name, length } as const };
    const summary = (await takeTurns(bench.pool, [entry], roundsOf(bench, 5))).get(name);
    if (summary) bench.rows.push({ what: texts, contestant: name, summary, count: 10 });
    addGate(
      bench,
      `${name}: the worst of ${texts}`,
      summary && Math.max(...summary.turns),
      TEXT_BOUNDS[name],
      "ms",
    );
    await bench.pool.retire(name);
  }
}

async function measureGrowth(bench: Bench): Promise<void> {
  for (const kind of ["text", "thinking", "tool", "big"] as const) {
    const first = bench.quick ? SIZES[kind] / 20 : SIZES[kind] / 2;
    const entries = [1, 2, 4, 8].map((factor) => {
      const subject: Subject = {
        dialect: "openai_chat",
        kind,
        size: first * factor,
        framing: kind === "big" ? "1k" : "16k",
      };
      return { id: `${factor}`, contestant: "stream", command: { do: "read", subject, times: 1, streams: 1 } as const };
    });
    const summaries = await takeTurns(bench.pool, entries, roundsOf(bench, 7));
    for (const [factor, summary] of summaries) {
      const count = first * Number(factor);
      bench.rows.push({ what: `growth of ${kind}: ${count}`, contestant: "stream", summary, count });
    }
    // The smallest is left out: what a request costs by itself would hide the growth.
    const over = ratio(summaries.get("8"), summaries.get("2"));
    addGate(bench, `growth of CPU, ${kind}`, over && Math.log2(over) / 2, 1.1, "exponent");
  }
}

async function measureMemory(bench: Bench): Promise<void> {
  await bench.pool.retire("stream");
  const size = bench.quick ? 2_000 : 100_000;
  const subject: Subject = { dialect: "openai_chat", kind: "text", size: 500, framing: "event" };
  await bench.pool.ask("stream", { do: "read", subject, times: 3, streams: 1 });
  const rounds = { warmUp: 0, counted: 1 };
  const summary = (await read(bench, { subject: { ...subject, size }, contestants: ["stream"], rounds })).get("stream");
  addGate(bench, `memory grown over ${size} deltas`, summary?.grown, 25, "MB");
}
