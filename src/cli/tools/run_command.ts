/**
 * The tool `run_command`: a granted program with arguments. What it starts is outside of every fence: it has the rights of the user.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { textOf } from "./input.ts";
import { ioReason } from "../io_reason.ts";
import { plainText } from "./plain_text.ts";

const TIMEOUT_MS = 120_000;
const GRACE_MS = 500;
const MAX_ARGUMENTS = 200;
const HEAD_BYTES = 8 * 1024;
const TAIL_BYTES = 16 * 1024;

/** Settings of {@linkcode runCommandTool}. */
export interface RunCommandOptions {
  /** Milliseconds. Default 120,000. */
  timeoutMs?: number | undefined;
}

/**
 * Makes `run_command`: no shell, no standard input, an empty environment, 120 seconds, of each output the first 8 and the last 16 KiB. When its
 * time is over or the run is aborted, the program and all it started are killed; where there is no program `kill`, only the program itself.
 *
 * @param programs Granted programs, as in `--allow-run`.
 */
export function runCommandTool(programs: readonly string[], { timeoutMs = TIMEOUT_MS }: RunCommandOptions = {}): Tool {
  return {
    name: "run_command",
    description:
      `Runs a program with arguments in the working directory and returns its output. There is no shell: no pipes, no wildcards, no variables. Programs: "${
        programs.join('", "')
      }".`,
    inputSchema: {
      type: "object",
      properties: {
        program: { type: "string", enum: programs, description: "The program" },
        args: {
          type: "array",
          items: { type: "string" },
          description: 'Its arguments, one by one, such as ["log", "-1"]',
        },
      },
      required: ["program"],
    },
    timeoutMs: timeoutMs + 5000,
    async run({ program, args = [] }, { signal }) {
      const name = textOf(program, "program");
      if (!programs.includes(name)) {
        throw new Error(`Cannot run "${name}": only these programs are granted: ${programs.join(", ")}`);
      }
      if (
        !Array.isArray(args) || args.length > MAX_ARGUMENTS ||
        !args.every((arg) => typeof arg === "string" && !arg.includes("\0"))
      ) {
        throw new Error(`Cannot run "${name}": args must be an array of at most ${MAX_ARGUMENTS} strings`);
      }
      signal.throwIfAborted();
      return await runToEnd(name, args, timeoutMs, signal);
    },
  };
}

async function runToEnd(program: string, args: string[], timeoutMs: number, signal: AbortSignal): Promise<string> {
  let child: Deno.ChildProcess;
  try {
    // A process group of its own: that is what can be killed as a whole.
    child = new Deno.Command(program, {
      args,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
  } catch (error) {
    throw new Error(`Cannot run "${program}": ${ioReason(error)}`);
  }
  const outputs = [new Output(child.stdout), new Output(child.stderr)] as const;
  let timedOut = false;
  let killed: Promise<void> | undefined;
  const stop = () => void (killed ??= kill(child));
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, timeoutMs);
  signal.addEventListener("abort", stop);
  try {
    const status = await child.status;
    // Something it started may hold the pipes open for ever.
    const closed = Promise.all(outputs.map((output) => output.done));
    if (!await within(GRACE_MS, closed)) {
      stop();
      await killed;
      await within(GRACE_MS, closed);
    }
    await killed;
    signal.throwIfAborted();
    const end = timedOut
      ? `stopped after ${timeoutMs} ms`
      : status.signal
      ? `ended by ${status.signal}`
      : `exit code ${status.code}`;
    const [out, err] = outputs.map((output) => output.text());
    return [`(${end})`, out, err && `(standard error)\n${err}`].filter(Boolean).join("\n");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await Promise.all(outputs.map((output) => output.close()));
  }
}

/** Kills the process group, which needs the program `kill`: Deno.kill needs the permission to run everything. */
async function kill(child: Deno.ChildProcess): Promise<void> {
  try {
    const args = ["-KILL", "--", `-${child.pid}`];
    await new Deno.Command("kill", { args, clearEnv: true, stdin: "null", stdout: "null", stderr: "null" }).output();
  } catch {
    signalChild(child, "SIGTERM"); // the program is missing; many programs then end their own children
    await within(GRACE_MS, child.status);
  }
  signalChild(child, "SIGKILL");
}

function signalChild(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch {
    // It has ended already.
  }
}

/** `false` if the time was over first. */
async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([
      promise.then(() => true),
      new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ms)),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a pipe to its end and keeps its beginning and its end, in memory that does not grow. */
class Output {
  readonly done: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #kept = new Uint8Array(HEAD_BYTES + TAIL_BYTES);
  #size = 0;

  constructor(pipe: ReadableStream<Uint8Array>) {
    this.#reader = pipe.getReader();
    this.done = this.#read();
  }

  async #read(): Promise<void> {
    for (let next = await this.#reader.read(); !next.done; next = await this.#reader.read()) this.#keep(next.value);
  }

  /** Behind the head the buffer is a ring. */
  #keep(chunk: Uint8Array): void {
    const head = Math.min(Math.max(HEAD_BYTES - this.#size, 0), chunk.length);
    if (head > 0) this.#kept.set(chunk.subarray(0, head), this.#size);
    const skipped = Math.max(chunk.length - head - TAIL_BYTES, 0);
    for (let from = head + skipped; from < chunk.length;) {
      const at = (this.#size + from - HEAD_BYTES) % TAIL_BYTES;
      const piece = chunk.subarray(from, from + TAIL_BYTES - at);
      this.#kept.set(piece, HEAD_BYTES + at);
      from += piece.length;
    }
    this.#size += chunk.length;
  }

  text(): string {
    const decoder = new TextDecoder();
    const left = this.#size - this.#kept.length;
    if (left <= 0) return plainText(decoder.decode(this.#kept.subarray(0, this.#size))).trimEnd();
    const at = HEAD_BYTES + (this.#size - HEAD_BYTES) % TAIL_BYTES;
    const parts = [this.#kept.subarray(0, HEAD_BYTES), this.#kept.subarray(at), this.#kept.subarray(HEAD_BYTES, at)];
    const [head, older, newer] = parts.map((part, i) => decoder.decode(part, { stream: i === 1 }));
    return plainText(`${head}\n[${left} bytes left out]\n${older}${newer}`).trimEnd();
  }

  async close(): Promise<void> {
    await this.#reader.cancel();
  }
}
