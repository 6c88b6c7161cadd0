/**
 * Dispatch: reads the command line, loads the one command it names, and turns whatever happens into an exit status.
 * @module
 */
import type { Context } from "./context.ts";
import type { FailureOptions } from "./failure.ts";
import { Interruption, usage } from "./exit.ts";
import { type Command, COMMANDS, type Options } from "./flag_table.ts";
import { type CommandLine, parseCommandLine, wantsJson } from "./flags.ts";
import { Progress } from "./progress.ts";
import { hear, hearNothing } from "./signals.ts";
import { Terminal } from "./terminal.ts";

/** Runs a command; resolves to the exit status. */
type Run = (context: Context) => Promise<number>;

/** How long a start-up may take to end by itself, so that a question gives the terminal back. */
const PATIENCE_MS = 50;

/** Each command is a module of its own: what is not used is not loaded. */
const LOAD: Record<Command, () => Promise<{ default: Run }>> = {
  chat: () => import("./commands/chat.ts"),
  run: () => import("./commands/run.ts"),
  probe: () => import("./commands/probe.ts"),
  models: () => import("./commands/models.ts"),
  skills: () => import("./commands/skills.ts"),
  completions: () => import("./commands/completions.ts"),
};

/**
 * The program.
 *
 * @param args The argument vector.
 * @param entry Address of the entry module, for `--explain-permissions`.
 * @returns The exit status.
 */
export async function main(args: readonly string[], entry: string): Promise<number> {
  const stop = new AbortController();
  function makeTerminal(options: Options): Terminal {
    const color = (options.color ?? "auto") as "auto" | "always" | "never";
    return new Terminal({ color, quiet: options.quiet === true, onFailure: (reason) => stop.abort(reason) });
  }
  let line: CommandLine;
  try {
    line = parseCommandLine(args);
  } catch (error) {
    return await fail(makeTerminal({}), error, { json: wantsJson(args) });
  }
  const terminal = makeTerminal(line.options);
  const progress = new Progress(terminal);
  const context: Context = {
    ...line,
    terminal,
    progress,
    signal: stop.signal,
    stop: (reason) => stop.abort(reason),
    entry,
    args,
  };
  const release = watchSignals(context, stop);
  const json = wantsJson(args);
  let status: number;
  try {
    status = await Promise.race([dispatch(context), stoppedEarly(context)]);
    if (status === 0 && context.remark !== undefined) terminal.note(context.remark);
    terminal.flush();
    // Writing may have failed at the very end, with the work itself long done.
    if (status === 0) stop.signal.throwIfAborted();
  } catch (error) {
    const reason = stop.signal.aborted ? stop.signal.reason : error;
    status = await fail(terminal, reason, { json, ...context.host !== undefined && { host: context.host } });
  }
  progress.end();
  release();
  return status;
}

async function dispatch(context: Context): Promise<number> {
  const { command, options, terminal } = context;
  if (options.version) {
    const { default: { version } } = await import("../../deno.json", { with: { type: "json" } });
    terminal.out(`pawl ${version}\n`);
    return 0;
  }
  if (options.help || command === undefined) {
    const { help } = await import("./help.ts");
    if (options.help) {
      terminal.out(help(command));
      return 0;
    }
    throw usage(`No command given; it must be one of ${Object.keys(COMMANDS).join(", ")}, see pawl --help`);
  }
  const { default: run } = await LOAD[command]();
  return await run(context);
}

/** Rejects when a start-up is stopped that does not end by itself: opening a FIFO or reading a slow file hears no signal. */
function stoppedEarly(context: Context): Promise<never> {
  const { signal } = context;
  return new Promise((_, reject) => {
    function end(): void {
      if (!context.isBegun) reject(signal.reason);
    }
    signal.addEventListener("abort", () => setTimeout(end, PATIENCE_MS));
  });
}

/** The first signal stops what is running, in order; a second Ctrl-C leaves at once. */
function watchSignals(context: Context, stop: AbortController): () => void {
  function on(signal: "SIGINT" | "SIGTERM"): void {
    if (context.onInterrupt && signal === "SIGINT") return context.onInterrupt();
    const reason = new Interruption(signal);
    if (stop.signal.aborted) {
      context.terminal.clearStatus();
      Deno.exit(reason.exit);
    }
    stop.abort(reason);
  }
  function onStray(event: PromiseRejectionEvent): void {
    // A tools file may leave a promise behind; without this the process would end with a stack.
    event.preventDefault();
    stop.abort(event.reason);
  }
  hear("SIGINT", () => on("SIGINT"));
  hear("SIGTERM", () => on("SIGTERM"));
  globalThis.addEventListener("unhandledrejection", onStray);
  return () => {
    hearNothing();
    globalThis.removeEventListener("unhandledrejection", onStray);
  };
}

async function fail(terminal: Terminal, error: unknown, options: FailureOptions): Promise<number> {
  const { tellFailure } = await import("./failure.ts");
  const status = tellFailure(terminal, error, options);
  terminal.flush();
  return status;
}
