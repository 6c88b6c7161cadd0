/**
 * Exactly the permissions that a command line needs: asked for once, named in one message, given back when they have served.
 * @module
 */
import { CliError } from "./exit.ts";
import { unheard } from "./signals.ts";
import type { Terminal } from "./terminal.ts";

/** Classes of permissions that pawl uses; each flag is `--allow-CLASS`. */
const CLASSES = ["net", "read", "write", "env", "run"] as const;
type Class = (typeof CLASSES)[number];

/** The separators in front of the last part of a path. */
const ABOVE = Deno.build.os === "windows" ? /[/\\]+[^/\\]*$/ : /\/+[^/]*$/;

/** Names within the classes: `host:port`, paths, variables, programs. */
export type Needs = { [C in Class]?: readonly string[] };

/** Joins needs; each name stays once, in the order of its first appearance. */
export function joinNeeds(...all: readonly Needs[]): Needs {
  const joined: Partial<Record<Class, string[]>> = {};
  for (const name of CLASSES) {
    const names = [...new Set(all.flatMap((needs) => needs[name] ?? []))];
    if (names.length > 0) joined[name] = names;
  }
  return joined;
}

function descriptor(name: Class, value?: string): Deno.PermissionDescriptor {
  if (value === undefined) return { name };
  switch (name) {
    case "net":
      return { name, host: value };
    case "read":
    case "write":
      return { name, path: value };
    case "env":
      return { name, variable: value };
    case "run":
      return { name, command: value };
  }
}

/** Whether something is granted: all of a class, or one name of it. */
export function isGranted(name: Class, value?: string): boolean {
  return Deno.permissions.querySync(descriptor(name, value)).state === "granted";
}

/** The flags that grant some needs, as arguments of `deno run`. */
export function permissionFlags(needs: Needs): string[] {
  const { read = [], write = [] } = needs;
  // Deno lets a terminal be read, and not written to.
  const areGrantable = read.every((path) => isGrantable(path) || path === "/dev/tty") && write.every(isGrantable);
  if (!areGrantable) return ["--allow-all"];
  return CLASSES.flatMap((name) => {
    const names = needs[name] ?? [];
    return names.length === 0 ? [] : [`--allow-${name}=${[...new Set(names.map(grantable))].join(",")}`];
  });
}

/** Whether a path can be granted: what the kernel keeps, open files and standard input among it, takes all permissions. */
function isGrantable(path: string): boolean {
  return !/^\/+(dev|proc|sys)(\/(?!(null|zero|u?random)$)|$)/.test(path);
}

/** Deno splits at commas and has no escape: a path with one is granted by the directory above it. */
function grantable(name: string): string {
  const at = name.indexOf(",");
  if (at < 0) return name;
  // By hand: the first module of `node:` costs a start 13 ms.
  const above = name.slice(0, at).search(ABOVE);
  return above < 0 ? "." : name.slice(0, above) || "/";
}

/** What of some needs is not granted. */
function missing(needs: Needs): Needs {
  const lacking: Partial<Record<Class, string[]>> = {};
  for (const name of CLASSES) {
    const names = (needs[name] ?? []).filter((value) => !isGranted(name, value));
    if (names.length > 0) lacking[name] = names;
  }
  return lacking;
}

/**
 * Makes sure that all needs are granted. Without a terminal nobody is asked.
 *
 * @param advice Added to the error.
 * @throws {CliError} `permission`, exit 9: names every missing flag at once.
 */
export function requirePermissions(needs: Needs, terminal: Terminal, advice = ""): void {
  let lacking = missing(needs);
  if (Object.keys(lacking).length === 0) return;
  if (terminal.errIsTerminal && Deno.stdin.isTerminal()) {
    terminal.line(`pawl needs ${permissionFlags(lacking).map(shellQuote).join(" ")}`);
    const wanted = lacking;
    unheard(() => {
      for (const name of CLASSES) {
        for (const value of wanted[name] ?? []) Deno.permissions.requestSync(descriptor(name, value));
      }
    });
    lacking = missing(needs);
    if (Object.keys(lacking).length === 0) return;
  }
  const flags = permissionFlags(lacking).map(shellQuote).join(" ");
  const how = Deno.build.standalone ? "compile with" : "run with";
  // Deno grants no program that it cannot find.
  const unfound = lacking.run ? " (or there is no such program)" : "";
  throw new CliError("permission", `Cannot start without more permissions: ${how} ${flags}${unfound}${advice}`, {
    exit: 9,
  });
}

/**
 * Gives back what has served: whole classes that `rest` does not name, and the exact names of `used` that it does not name.
 *
 * @param used What has been needed so far.
 * @param rest What is still needed.
 * @param keep Classes that are not given back whole.
 * @returns The flag that would do instead, if every host is granted: Deno cannot narrow that.
 */
export function dropPermissions(used: Needs, rest: Needs, keep: readonly Class[] | "all"): string | undefined {
  if (keep !== "all") {
    for (const name of ["sys", "ffi"] as const) Deno.permissions.revokeSync({ name });
  }
  for (const name of CLASSES) {
    const kept = rest[name] ?? [];
    if (kept.length === 0 && keep !== "all" && !keep.includes(name)) {
      Deno.permissions.revokeSync(descriptor(name));
      continue;
    }
    for (const value of used[name] ?? []) {
      if (!kept.includes(value)) Deno.permissions.revokeSync(descriptor(name, value));
    }
  }
  return rest.net !== undefined && isGranted("net") ? permissionFlags({ net: rest.net })[0] : undefined;
}

/**
 * The line that runs a command with exactly its permissions.
 *
 * @param entry The entry module.
 * @param args Arguments of pawl, without `--explain-permissions`.
 */
export function explain(needs: Needs, entry: string, args: readonly string[]): string {
  // A compiled binary has its permissions baked in; the published module takes the same ones.
  const module = Deno.build.standalone ? "jsr:@pawl/pawl/cli" : entry;
  return ["deno", "run", ...permissionFlags(needs), module, ...args].map(shellQuote).join(" ");
}

/** A word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
