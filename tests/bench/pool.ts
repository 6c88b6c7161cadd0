/**
 * The workers of a bench: started once, asked in turns.
 *
 * @module
 */
import { common } from "./corpus.ts";
import type { Command, Figures } from "./worker.ts";

const HERE = import.meta.dirname;

/** A worker that does not answer is ended. */
const PATIENCE_MS = 120_000;

/** What a process of the bench may do; npm packages read facts of the system. */
const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-sys", "--no-prompt"];

/** A `deno` process that is spoken with in lines, until its input is closed. */
class Talk {
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(script: string, args: string[]) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "--no-lock", ...PERMISSIONS, `${HERE}/${script}`, ...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#reader = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async say(line: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(line + "\n"));
  }

  /** @returns The next line, or undefined once the process has ended. */
  async hear(): Promise<string | undefined> {
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), PATIENCE_MS);
    try {
      while (!this.#text.includes("\n")) {
        const { done, value } = await this.#reader.read();
        if (done) return undefined;
        this.#text += value;
      }
    } finally {
      clearTimeout(timer);
    }
    const end = this.#text.indexOf("\n");
    const line = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 1);
    return line;
  }

  async close(): Promise<void> {
    // The process may have ended already; then its input is closed.
    await this.#writer.close().catch(() => {});
    await this.#reader.cancel();
    await this.#process.status;
  }
}

/** The replay server and, by their contestant, the workers that are at work. */
export class Pool {
  readonly #server = new Talk("server.ts", []);
  readonly #workers = new Map<string, Talk>();
  #origin: string | undefined;

  /** Contestants that could not be had or failed. */
  readonly failed: Set<string> = new Set();

  /**
   * Lets a contestant obey a command.
   *
   * @returns What it took, or undefined if the contestant has failed
   */
  async ask(contestant: string, command: Command): Promise<Figures | undefined> {
    if (this.failed.has(contestant)) return undefined;
    const origin = this.#origin ??= await this.#server.hear();
    let worker = this.#workers.get(contestant);
    if (!worker) this.#workers.set(contestant, worker = new Talk("worker.ts", [contestant, origin ?? ""]));
    let answer: string | undefined;
    try {
      await worker.say(JSON.stringify(command));
      answer = await worker.hear();
    } catch {
      // A worker that has ended takes no command; what it was is on standard error.
    }
    if (answer !== undefined) return JSON.parse(answer);
    this.failed.add(contestant);
    return undefined;
  }

  /** Ends workers: the next command of their contestants finds a new process. */
  async retire(...contestants: string[]): Promise<void> {
    for (const contestant of contestants.length > 0 ? contestants : [...this.#workers.keys()]) {
      await this.#workers.get(contestant)?.close();
      this.#workers.delete(contestant);
    }
  }

  async close(): Promise<void> {
    await this.retire();
    await this.#server.close();
  }
}

/** What a suite needs of a pool. */
export type Workers = Pick<Pool, "ask" | "retire" | "close" | "failed">;

/** Figures of several rounds as one: medians, and the highest peak. */
export interface Summary {
  cpu: number;
  wall: number;
  /** Mebibytes: the highest ever, and the highest growth within one command. */
  peak: number;
  grown: number;
  /** Milliseconds of one turn. */
  turn: number;
  /** Of each turn within a command, over the rounds. */
  turns: number[];
  /** CPU time of each round. */
  rounds: number[];
  fingerprint?: string | undefined;
}

/** The middle of some numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

/** Sums up the rounds of one contestant. */
export function summarize(rounds: readonly Figures[]): Summary {
  return {
    cpu: median(rounds.map(({ cpu }) => cpu)),
    wall: median(rounds.map(({ wall }) => wall)),
    peak: Math.max(...rounds.map(({ peak }) => peak)),
    grown: Math.max(...rounds.map(({ before, peak }) => peak - before)),
    turn: median(rounds.flatMap(({ turns }) => turns)),
    turns: rounds[0]!.turns.map((_, i) => median(rounds.map(({ turns }) => turns[i]!))),
    rounds: rounds.map(({ cpu }) => cpu),
    fingerprint: common(rounds.map(({ fingerprint }) => fingerprint)),
  };
}

/** How often contestants take turns. */
export interface Rounds {
  /** At first, not counted: code is compiled in them. */
  warmUp: number;
  counted: number;
}

/**
 * Lets contestants take turns (A B C, B C A, …), so that whatever else the machine does hits all alike.
 *
 * @returns Summaries by contestant; those that failed are missing
 */
export async function takeTurns(
  pool: Pick<Workers, "ask">,
  entries: ReadonlyArray<{ id: string; contestant: string; command: Command }>,
  { warmUp, counted }: Rounds,
): Promise<Map<string, Summary>> {
  const figures = new Map<string, Figures[]>(entries.map(({ id }) => [id, []]));
  for (let round = 0; round < warmUp + counted; round++) {
    for (let i = 0; i < entries.length; i++) {
      const { id, contestant, command } = entries[(i + round) % entries.length]!;
      const answer = await pool.ask(contestant, command);
      if (answer && round >= warmUp) figures.get(id)!.push(answer);
    }
  }
  return new Map([...figures].filter(([, { length }]) => length > 0).map(([id, rounds]) => [id, summarize(rounds)]));
}
