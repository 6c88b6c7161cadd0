/**
 * Runs the command line as its users do: a process of its own, with exactly the permissions that `--explain-permissions` prints.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { activeMapFlags } from "../../scripts/deps.ts";

/** The entry point. */
export const CLI = `${import.meta.dirname}/../../cli.ts`.replace(/tests\/cli\/\.\.\/\.\.\//, "");

const DENO = ["run", "--no-check", "--quiet", ...activeMapFlags()];

/** How a process is run. */
export interface RunOptions {
  /** Standard input; none unless given. */
  stdin?: string;
  /** Environment, instead of the test's own. */
  env?: Record<string, string>;
  cwd?: string;
}

/** What a process did. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Starts a process. */
export function spawn(command: string, args: readonly string[], options: RunOptions = {}): Deno.ChildProcess {
  const { env = {}, cwd } = options;
  const inherited = Object.fromEntries(
    ["PATH", "HOME", "DENO_DIR", "LANG"].map((name) => [name, Deno.env.get(name) ?? ""]).filter(([, value]) => value),
  );
  return new Deno.Command(command, {
    args: [...args],
    clearEnv: true,
    env: { NO_COLOR: "1", ...inherited, ...env },
    ...cwd !== undefined && { cwd },
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function finish(child: Deno.ChildProcess, stdin: string | undefined): Promise<Outcome> {
  if (stdin !== undefined) {
    const writer = child.stdin.getWriter();
    // A process that fails early reads nothing, which is its right.
    await writer.write(new TextEncoder().encode(stdin)).catch(() => {});
    await writer.close().catch(() => {});
  }
  const { code, stdout, stderr } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: withoutDeno(new TextDecoder().decode(stderr)) };
}

/** Takes away what Deno itself says, quiet or not, while another process holds its cache. */
export function withoutDeno(text: string): string {
  return text.replaceAll(/^Failed to open cache file .*\r?\n/gm, "");
}

/** Arguments of `deno` for a command line. */
export function denoArgs(flags: readonly string[], args: readonly string[]): string[] {
  return [...DENO, ...flags, CLI, ...args];
}

/** Runs pawl with some permission flags. */
export async function pawlWith(
  flags: readonly string[],
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  return await finish(spawn(Deno.execPath(), denoArgs(flags, args), options), options.stdin);
}

/** Runs a line in a shell; `pawl` in it is the command line with some permission flags. */
export async function shell(line: string, flags: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const words = [Deno.execPath(), ...denoArgs(flags, [])].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const script = `pawl() { ${words.join(" ")} "$@"; }\n${line}`;
  return await finish(spawn("bash", ["-c", script], options), options.stdin);
}

/** The permission flags that a command line asks for. */
export async function explained(args: readonly string[], options: RunOptions = {}): Promise<string[]> {
  const { code, stdout, stderr } = await pawlWith([], ["--explain-permissions", ...args], options);
  assertEquals([code, stderr.replace(/^note: what the tools file imports .*\n$/, "")], [0, ""]);
  assertMatch(stdout, /^deno run .*\n$/s);
  // The shell itself takes the line apart: so its quoting is tried too.
  const words = await finish(spawn("bash", ["-c", `printf '%s\\0' ${stdout}`]), undefined);
  const parts = words.stdout.split("\0").slice(0, -1);
  const entry = parts.indexOf(CLI);
  assertEquals(parts.slice(entry + 1), [...args]);
  return parts.slice(2, entry);
}

/** Runs pawl with exactly the permissions that it asks for. */
export async function pawl(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return await pawlWith(await explained(args, options), args, options);
}

/**
 * Runs pawl with exactly the permissions that it asks for, and then with each of them missing once: it must say so, and name the flag.
 *
 * @returns The first outcome.
 */
export async function pawlNeedsAll(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome & { flags: string[] }> {
  const flags = await explained(args, options);
  const outcome = await pawlWith(flags, args, options);
  for (const flag of flags) {
    const [name, list] = flag.split("=", 2) as [string, string];
    const values = list.split(",");
    for (const value of values) {
      const others = values.filter((other) => other !== value);
      const fewer = flags.flatMap((one) =>
        one !== flag ? [one] : others.length > 0 ? [`${name}=${others.join(",")}`] : []
      );
      const { code, stderr } = await pawlWith(fewer, args, options);
      assertEquals(code, 9, `${flag} without ${value} was not missed: ${stderr}`);
      assertStringIncludes(stderr, `${name}=${value}`);
      assertEquals(lines(stderr).length, 1, stderr);
    }
  }
  return { ...outcome, flags };
}

/** Lines of a text that ends with a line feed or is empty. */
export function lines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Host and port where nothing listens. */
export function closedHost(): string {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return `127.0.0.1:${port}`;
}

/** Runs something in a directory of its own. */
export async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
