/**
 * Runs a client against the wire cases, under every chunking.
 * @module
 */
import { fitsMemory, memoryFetch } from "../support/memory_fetch.ts";
import { answerOf } from "../support/replay_server.ts";
import { type Chunking, seedOf, type WireCase } from "../support/wire_case.ts";
import { judge, type Outcome, REPLAY_KEY } from "./outcome.ts";
import { readReply } from "./pawl_client.ts";

/** Longest time for a case that sets none: a client that hangs must not hang the run. */
const PATIENCE_MS = 10_000;

/** A client under test: reads the one reply that the base URL stands for. */
export type Client = (wireCase: WireCase, chunking: Chunking, baseUrl: string, signal: AbortSignal) => Promise<Outcome>;

/** A case that a client got wrong. */
export interface Failure {
  id: string;
  chunking: Chunking;
  problems: string[];
  falseSuccess: boolean;
}

/** One line of the table. */
export interface Row {
  dialect: string;
  chunking: Chunking;
  cases: number;
  right: number;
  falseSuccesses: number;
  ms: number;
  /** The largest resident set seen between two cases. */
  peakBytes: number;
}

/** What is run. */
export interface RunOptions {
  cases: readonly WireCase[];
  chunkings: readonly Chunking[];
  client: Client;
  /** Where a replay server answers by path. */
  origin: string;
  onFailure?: (failure: Failure) => void;
}

/** Runs every case under every chunking, one after another, and counts. */
export async function runConformance(options: RunOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const dialect of new Set(options.cases.map(({ dialect }) => dialect))) {
    const cases = options.cases.filter((wireCase) => wireCase.dialect === dialect);
    for (const chunking of options.chunkings) {
      const row = { dialect, chunking, cases: cases.length, right: 0, falseSuccesses: 0, ms: 0, peakBytes: 0 };
      const start = performance.now();
      for (const wireCase of cases) {
        const { problems, falseSuccess } = await runCase(wireCase, chunking, options);
        row.right += Number(problems.length === 0);
        row.falseSuccesses += Number(falseSuccess);
        if (problems.length > 0) options.onFailure?.({ id: wireCase.id, chunking, problems, falseSuccess });
        row.peakBytes = Math.max(row.peakBytes, Deno.memoryUsage().rss);
      }
      row.ms = performance.now() - start;
      rows.push(row);
    }
  }
  return rows;
}

async function runCase(
  wireCase: WireCase,
  chunking: Chunking,
  { client, origin }: RunOptions,
): Promise<{ problems: string[]; falseSuccess: boolean }> {
  const patience = wireCase.max_ms ?? PATIENCE_MS;
  const control = new AbortController();
  const late = new Error(`not finished within ${patience} ms`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const lateness = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      control.abort(late);
      reject(late);
    }, patience);
  });
  try {
    const reading = client(wireCase, chunking, baseUrlOf(wireCase, chunking, origin), control.signal);
    return judge(wireCase, await Promise.race([reading, lateness]));
  } catch (error) {
    return { problems: [`the client threw: ${error}`], falseSuccess: false };
  } finally {
    clearTimeout(timer);
  }
}

/** The base URL under which a replay server answers with a case: `/CHUNKING/CASE-ID`, for OpenAI with `/v1` behind it. */
export function baseUrlOf({ id, dialect }: WireCase, chunking: Chunking, origin: string): string {
  return `${origin}/${chunking}/${id}${dialect === "openai" ? "/v1" : ""}`;
}

/**
 * pawl itself. Only what was recorded goes over sockets: they would blur the borders of re-cut chunks, and cost time.
 *
 * @param seed Of the random cuts.
 * @param overSockets Everything goes over sockets.
 */
export function pawlClient(seed: number, overSockets = false): Client {
  return (wireCase, chunking, baseUrl, signal) => {
    if (overSockets || chunking === "recorded" || !fitsMemory(wireCase.response)) {
      return readReply(wireCase, { baseUrl, signal });
    }
    // Both ways to read a body must agree, so each case takes one of them by chance.
    const byob = chunking === "bytes" || (chunking === "random" && seedOf(wireCase.id, seed) % 2 === 0);
    const answers = [answerOf(wireCase, chunking, seed)];
    return readReply(wireCase, { baseUrl: "http://memory.invalid/v1", signal, fetch: memoryFetch(answers, { byob }) });
  };
}

/** What a command that is driven from outside is told, one JSON line for each case. */
export interface CommandRequest {
  dialect: string;
  base_url: string;
  api_key: string;
  model: string;
  prompt: string;
  options: NonNullable<WireCase["options"]>;
}

/** Any program: it is told one case a line on standard input, and answers each with one outcome a line on standard output. */
export function commandClient(command: string, args: string[]): Client & AsyncDisposable {
  const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "inherit" }).spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  const line = async () => {
    while (!held.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the command has ended");
      held += value;
    }
    const first = held.slice(0, held.indexOf("\n"));
    held = held.slice(first.length + 1);
    return first;
  };
  const client = async (wireCase: WireCase, _chunking: Chunking, base_url: string) => {
    const { dialect, options = {} } = wireCase;
    const request: CommandRequest = {
      dialect,
      base_url,
      api_key: REPLAY_KEY,
      model: "syn-model",
      prompt: "Hi",
      options,
    };
    await writer.write(new TextEncoder().encode(JSON.stringify(request) + "\n"));
    return JSON.parse(await line()) as Outcome;
  };
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      await writer.close();
      await reader.cancel();
      await child.status;
    },
  });
}

/** The rows as a table for people, with a line of sums. */
export function table(rows: readonly Row[]): string {
  const lines = [["dialect", "chunking", "right", "false successes", "time", "peak memory"]];
  const sum = { cases: 0, right: 0, falseSuccesses: 0, ms: 0, peakBytes: 0 };
  const show = (name: string, chunking: string, row: typeof sum) =>
    lines.push([
      name,
      chunking,
      `${row.right} of ${row.cases}`,
      String(row.falseSuccesses),
      `${(row.ms / 1000).toFixed(2)} s`,
      `${Math.round(row.peakBytes / 1024 / 1024)} MiB`,
    ]);
  for (const row of rows) {
    show(row.dialect, row.chunking, row);
    sum.cases += row.cases;
    sum.right += row.right;
    sum.falseSuccesses += row.falseSuccesses;
    sum.ms += row.ms;
    sum.peakBytes = Math.max(sum.peakBytes, row.peakBytes);
  }
  show("all", "", sum);
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines.map((line) =>
    line.map((cell, i) => i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join("  ").trimEnd()
  )
    .join("\n");
}
