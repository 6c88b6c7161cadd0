/**
 * What every command is given, and the way to an endpoint: profile, settings, permissions, in this order.
 * @module
 */
import { PawlError, quote } from "../model/error.ts";
import {
  isLookedUp,
  loadProfile,
  type Profile,
  profileFiles,
  readGrantedEnv,
  readKey,
  resolveSettings,
  type Settings,
} from "./config.ts";
import { usage } from "./exit.ts";
import type { Options } from "./flag_table.ts";
import type { CommandLine } from "./flags.ts";
import { readText } from "./input.ts";
import {
  dropPermissions,
  explain,
  isGranted,
  joinNeeds,
  type Needs,
  permissionFlags,
  requirePermissions,
  shellQuote,
} from "./permissions.ts";
import type { Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

/** What every command is given. */
export interface Context extends CommandLine {
  terminal: Terminal;
  progress: Progress;
  /** Aborted by a signal, or when nobody reads standard output any more. */
  signal: AbortSignal;
  /** Aborts it. */
  stop(reason: unknown): void;
  /** Takes over Ctrl-C while a conversation decides what it means. */
  onInterrupt?: (() => void) | undefined;
  /** Host and port of the endpoint, once it is known; errors name it. */
  host?: string;
  /** Start-up is over. Until then a stop ends the program at once; from then on the command ends in order. */
  isBegun?: boolean;
  /** Told at the end of a run that went well. */
  remark?: string;
  /** Address of the entry module. */
  entry: string;
  /** The argument vector. */
  args: readonly string[];
}

/** Settings with everything granted and the key read. */
export interface Ready {
  settings: Settings;
  apiKey: string | undefined;
  /** What was needed to get here. */
  used: Needs;
  /** What is needed still. */
  rest: Needs;
}

/**
 * Finds the endpoint's settings and makes sure of all permissions, those of the command included.
 *
 * @param command Needs beside the endpoint; `start` only until the run begins, `run` until its end.
 * @returns `undefined` if the permissions were only explained.
 * @throws {CliError} `usage` or `permission`.
 */
export async function makeReady(
  context: Context,
  command: { start?: readonly Needs[]; run?: readonly Needs[] } = {},
): Promise<Ready | undefined> {
  const { options, terminal } = context;
  await checkWritten(options);
  const asked = new Set<string>();
  function env(name: string): string | undefined {
    const value = readGrantedEnv(name);
    if (value !== undefined) asked.add(name);
    return value;
  }
  const places = profileFiles(options, isLookedUp(options) ? env("HOME") : undefined);
  const readable = places.filter((path) => isGranted("read", path));
  // A name is looked for where that is allowed; a file that was named must be allowed.
  const files = isLookedUp(options) && readable.length > 0 ? readable : places;
  const { record, replay } = options;
  const start: Needs[] = [...command.start ?? [], { read: replay === undefined ? [] : [replay] }];
  const run: Needs[] = [...command.run ?? [], { write: record === undefined ? [] : [record] }];
  const own = joinNeeds(...start, ...run);
  const lookup: Lookup = { files, readable, unseen: unseenPlaces(options, places, files) };
  const profile = files.length === 0 ? undefined : await readProfile(context, lookup, own);
  if (profile === "unreadable") return undefined;
  if (profile?.file === places[0]) asked.delete("HOME");

  const settings = resolveSettings(options, env, profile);
  const isOnline = options.replay === undefined && options["dry-run"] !== true;
  const net: Needs = isOnline ? { net: [settings.host] } : {};
  const variable = settings.key && "variable" in settings.key ? [settings.key.variable] : [];
  const all = joinNeeds(net, { read: profile ? [profile.file] : [] }, own, { env: [...variable, ...asked] });
  if (options["explain-permissions"]) {
    tellPermissions(context, all);
    if (options["tools-file"]) terminal.note("note: what the tools file imports and does may need more");
    return undefined;
  }
  context.host = settings.host;
  requirePermissions(all, terminal);
  for (const note of settings.notes) terminal.note(note);
  return {
    settings,
    apiKey: readKey(settings.key, env),
    used: joinNeeds(all, { read: files }),
    rest: joinNeeds(net, ...run),
  };
}

/** Refuses one file for two purposes: what came last would be all that is left of it. */
async function checkWritten({ session, output, record }: Options): Promise<void> {
  const given = Object.entries({ session, output, record }).filter(([, path]) => path !== undefined);
  // What takes `node:path` is loaded only where it may matter.
  if (given.length < 2) return;
  const [{ resolve }, { sessionPath }] = await Promise.all([import("node:path"), import("./session_path.ts")]);
  const users = new Map<string, string>();
  for (const [flag, value] of given) {
    const path = resolve(flag === "session" ? sessionPath(value!) : value!);
    const other = users.get(path);
    if (other !== undefined) {
      throw usage(`Cannot use --${other} together with --${flag} on the same file ${quote(value!)}`);
    }
    users.set(path, flag);
  }
}

/** Where a profile is looked for. */
interface Lookup {
  files: readonly string[];
  /** Those that may be read already. */
  readable: readonly string[];
  /** The other places, as the end of a sentence. */
  unseen: string;
}

/** Reads the profile; where only the permissions are asked for, one that may not be read is no error. */
async function readProfile(
  context: Context,
  { files, readable, unseen }: Lookup,
  own: Needs,
): Promise<Profile | "unreadable"> {
  const { options, terminal } = context;
  const needs = joinNeeds({ read: files }, own);
  if (!options["explain-permissions"]) requirePermissions(needs, terminal, readable.length > 0 ? "" : unseen);
  else if (readable.length === 0) {
    tellPermissions(context, needs);
    terminal.note(`note: the profile may need more; ask again with these flags${unseen}`);
    return "unreadable";
  }
  return await loadProfile(options, files, readText, unseen);
}

/** Says which places a name is not looked for in, and what that takes. Only the shell knows `$HOME` as long as pawl may not. */
function unseenPlaces(options: Options, places: readonly string[], files: readonly string[]): string {
  if (!isLookedUp(options)) return "";
  if (places.length === 1) {
    return `; a profile in $HOME takes --allow-env=HOME "--allow-read=${profileFiles(options, "$HOME")[1]}"`;
  }
  const rest = places.filter((path) => !files.includes(path));
  const [flag] = permissionFlags({ read: rest });
  return flag === undefined ? "" : `; another place takes ${shellQuote(flag)}`;
}

/** Ends a command that has no deadline of its own when `--timeout` is over. */
export function startDeadline({ options: { timeout }, stop }: Context): void {
  // A timer does not count further, and would end at once.
  if (timeout === undefined || timeout >= 2 ** 31) return;
  const late = new PawlError("timeout", `Cannot finish within --timeout (${timeout} ms)`, { retryable: true });
  Deno.unrefTimer(setTimeout(() => stop(late), timeout));
}

/** Prints the line that runs this command with exactly its permissions. */
export function tellPermissions({ terminal, entry, args }: Context, needs: Needs): void {
  const address = entry.startsWith("file:") ? decodeURIComponent(new URL(entry).pathname) : entry;
  terminal.out(explain(needs, address, args.filter((arg) => arg !== "--explain-permissions")) + "\n");
}

/**
 * Ends the start-up: gives back what the run itself does not need. A module with tools may need anything that was granted: beside one, only what pawl has
 * used itself is given back.
 *
 * @param alsoKeep Classes that are kept as they are.
 */
export function keepOnly(
  context: Context,
  { used, rest }: Pick<Ready, "used" | "rest">,
  alsoKeep: readonly (keyof Needs)[] = [],
): void {
  context.isBegun = true;
  const isOwn = context.options["tools-file"] === undefined;
  const narrower = dropPermissions(used, rest, isOwn ? alsoKeep : "all");
  if (narrower === undefined) return;
  context.remark = `note: every host is allowed, which cannot be narrowed while running; ${narrower} would do`;
}
