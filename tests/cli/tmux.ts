/**
 * A terminal for tests: tmux with a server of its own.
 *
 * @module
 */
import { activeMapFlags } from "../../scripts/deps.ts";
import { CLI, withoutDeno } from "./pawl.ts";

async function has(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["-V"], stdout: "null", stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

/** Whether there are the programs that terminal tests need. */
export const HAS_TMUX = await has("tmux");
export const HAS_SCRIPT = await has("script");

if (!HAS_TMUX || !HAS_SCRIPT) {
  const missing = [HAS_TMUX ? [] : "tmux", HAS_SCRIPT ? [] : "script (util-linux)"].flat().join(" and ");
  console.error(`SKIPPED: terminal tests, as ${missing} cannot be run; apt-get install tmux util-linux`);
}

/** How long a screen is waited for: a cold start on a busy machine takes seconds. */
const PATIENCE_MS = 20_000;

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A shell line that runs pawl. */
export function pawlLine(flags: readonly string[], args: readonly string[], asks = false): string {
  const quiet = ["--no-check", "--quiet", ...asks ? [] : ["--no-prompt"]];
  const deno = ["run", ...quiet, ...activeMapFlags(), ...flags, CLI, ...args];
  return [Deno.execPath(), ...deno].map(quote).join(" ");
}

/** One terminal with a shell in it. */
export class Tmux {
  readonly #socket: string;

  /** Use {@linkcode Tmux.start}. */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /**
   * Starts a terminal in which pawl runs; when it ends the screen shows `EXIT` and its status.
   *
   * @param asks Deno asks for permissions.
   */
  static async start(flags: readonly string[], args: readonly string[], asks = false): Promise<Tmux> {
    const directory = await Deno.makeTempDir();
    const script = `${directory}/run.sh`;
    const line = `(echo $BASHPID > ${directory}/pid; exec ${pawlLine(flags, args, asks)})`;
    await Deno.writeTextFile(script, `export NO_COLOR=1\n${line}\necho EXIT $?\n`);
    const tmux = new Tmux(`${directory}/socket`);
    await tmux.#tmux("-u", "new-session", "-d", "-x", "100", "-y", "50", "env LANG=C.UTF-8 PS1='$ ' bash --norc");
    await tmux.type(`clear; source ${script}`, "Enter");
    return tmux;
  }

  async #tmux(...args: string[]): Promise<string> {
    const { stdout } = await new Deno.Command("tmux", { args: ["-S", this.#socket, "-f", "/dev/null", ...args] })
      .output();
    return new TextDecoder().decode(stdout);
  }

  /** Types: text as it is; `Enter`, `Tab`, `Up`, `C-c` and `C-d` as keys. */
  async type(...keys: string[]): Promise<void> {
    for (const key of keys) {
      const isKey = /^(Enter|Tab|Up|Down|C-.)$/.test(key);
      await this.#tmux("send-keys", ...isKey ? [] : ["-l"], key);
    }
  }

  /** Pastes a text as a terminal does: all at once. */
  async paste(text: string): Promise<void> {
    await this.#tmux("set-buffer", text);
    await this.#tmux("paste-buffer", "-r");
  }

  /** Sends a signal to pawl. */
  async signal(name: Deno.Signal): Promise<void> {
    Deno.kill(Number(await Deno.readTextFile(this.#socket.replace(/socket$/, "pid"))), name);
  }

  /** What the screen shows, without trailing blanks. */
  async screen(): Promise<string> {
    const screen = await this.#tmux("capture-pane", "-p");
    return withoutDeno(screen.split("\n").map((line) => line.trimEnd()).join("\n").trimEnd());
  }

  /** Waits until the screen shows something. */
  async shows(what: RegExp | string): Promise<string> {
    const end = performance.now() + PATIENCE_MS;
    let screen = "";
    while (performance.now() < end) {
      screen = await this.screen();
      if (typeof what === "string" ? screen.includes(what) : what.test(screen)) return screen;
      await new Promise((done) => setTimeout(done, 30));
    }
    throw new Error(`The screen never showed ${what}:\n${screen}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server");
    await Deno.remove(this.#socket.replace(/\/[^/]*$/, ""), { recursive: true });
  }
}

/** Runs pawl on a pseudo-terminal and returns what it wrote there, byte for byte. */
export async function onTerminal(
  flags: readonly string[],
  args: readonly string[],
): Promise<{ code: number; text: string }> {
  const { code, stdout } = await new Deno.Command("script", {
    args: ["-qefc", pawlLine(flags, args), "/dev/null"],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stderr: "null",
  }).output();
  return { code, text: withoutDeno(new TextDecoder().decode(stdout)) };
}
