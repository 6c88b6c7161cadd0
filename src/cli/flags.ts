/**
 * Reads the argument vector by the flag table.
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { quote } from "../model/error.ts";
import { type CliError, usage } from "./exit.ts";
import { type Command, COMMANDS, type Flag, flagList, type FlagName, FLAGS, type Options } from "./flag_table.ts";

/** A command line that has been understood. */
export interface CommandLine {
  /** Absent only with `--help` and `--version`, or where nothing was given. */
  command?: Command;
  options: Options;
  /** What stands behind the command, in order. */
  words: string[];
}

const SHORT = new Map(flagList().flatMap(([name, { short }]) => short ? [[short, name] as const] : []));

/**
 * Reads an argument vector.
 *
 * @throws {CliError} `usage`: a flag or command is unknown, a value is missing or wrong.
 */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { flags, words } = glue(args);
  const all = flagList();
  const given = parseArgs([...flags], {
    boolean: all.filter(([, flag]) => flag.value === "").map(([name]) => name),
    string: all.filter(([, flag]) => flag.value !== "").map(([name]) => name),
    collect: all.filter(([, flag]) => flag.repeat).map(([name]) => name),
    alias: Object.fromEntries(SHORT),
    unknown: (arg: string) => {
      throw unknownFlag(arg);
    },
  }) as Record<string, unknown>;

  const options: Record<string, unknown> = {};
  for (const [name, flag] of all) {
    const value = given[name];
    if (flag.value === "") {
      if (value === true) options[name] = true;
    } else if (flag.repeat) {
      const list = (value as string[]).map((text) => readFlag(name, flag, text.slice(1)));
      if (list.length > 0) options[name] = list;
    } else if (value !== undefined) {
      options[name] = readFlag(name, flag, (value as string).slice(1));
    }
  }

  const asksHelp = words[0] === "help";
  if (asksHelp) {
    words.shift();
    options.help = true;
  }
  const [first, ...rest] = words;
  if (first === undefined) return { options, words: [] };
  if (!Object.hasOwn(COMMANDS, first)) throw unknownCommand(first);
  const command = first as Command;
  for (const name of Object.keys(options) as FlagName[]) {
    const knownBy: readonly Command[] | undefined = (FLAGS[name] as Flag).for;
    if (knownBy?.includes(command) === false) {
      throw usage(`Cannot use --${name} with ${command}: it belongs to ${knownBy.join(", ")}`);
    }
  }
  return { command, options, words: rest };
}

/**
 * Puts each value into its flag's own argument, and the words apart. `parseArgs` alone takes an empty value for a missing one, a value
 * that begins with a dash for a flag, and the word "true" behind a switch for its value; a mark before each value rules out all three.
 */
function glue(args: readonly string[]): { flags: string[]; words: string[] } {
  const flags: string[] = [];
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--") {
      words.push(...args.slice(i + 1));
      break;
    }
    const { name, before, inline } = valuedFlag(arg) ?? {};
    if (name !== undefined) {
      const value = inline ?? args[++i];
      if (value === undefined || inline === undefined && isFlag(value)) {
        throw usage(`Cannot use --${name} as its value is missing: it takes ${(FLAGS[name] as Flag).value}`);
      }
      if (before) flags.push(before);
      flags.push(`--${name}=:${value}`);
    } else if (arg.startsWith("-") && arg !== "-") {
      const switches = arg.split("=", 1)[0]!;
      if (switches !== arg && isSwitch(switches)) {
        throw usage(
          `Cannot use ${switches} with a value: it is a switch, on where it stands and off where it does not`,
        );
      }
      flags.push(arg);
    } else {
      words.push(arg);
    }
  }
  return { flags, words };
}

/** Whether an argument vector asks for JSON, also one that cannot be parsed. */
export function wantsJson(args: readonly string[]): boolean {
  for (let i = 0; i < args.length && args[i] !== "--"; i++) {
    const { name, inline } = valuedFlag(args[i]!) ?? {};
    if (name === undefined && args[i] === "--json") return true;
    if (name === undefined) continue;
    const value = inline ?? args[i + 1] ?? "";
    if (name === "output-format" && /json$/.test(value)) return true;
    if (inline === undefined && !isFlag(value)) i++;
  }
  return false;
}

/** The flag of an argument, if that flag takes a value. */
function valuedFlag(arg: string): { name: FlagName; before?: string; inline?: string } | undefined {
  const [, long, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
  if (long !== undefined) {
    if (!Object.hasOwn(FLAGS, long) || (FLAGS[long as FlagName] as Flag).value === "") return undefined;
    return { name: long as FlagName, ...inline !== undefined && { inline } };
  }
  if (!/^-[A-Za-z]/.test(arg)) return undefined;
  for (let i = 1; i < arg.length; i++) {
    const name = SHORT.get(arg[i]!);
    if (name === undefined) return undefined;
    if ((FLAGS[name] as Flag).value === "") continue;
    const rest = arg.slice(i + 1).replace(/^=/, "");
    return { name, ...i > 1 && { before: arg.slice(0, i) }, ...i + 1 < arg.length && { inline: rest } };
  }
  return undefined;
}

/** Whether an argument is a flag that the table knows; other text that begins with a dash may be a value. */
function isFlag(arg: string): boolean {
  if (arg.startsWith("--")) return Object.hasOwn(FLAGS, arg.slice(2).split("=", 1)[0]!);
  return /^-[A-Za-z]$/.test(arg) && SHORT.has(arg[1]!);
}

/** Whether an argument is a switch, or several of one letter each. */
function isSwitch(arg: string): boolean {
  const names = arg.startsWith("--") ? [arg.slice(2)] : Array.from(arg.slice(1), (letter) => SHORT.get(letter) ?? "");
  return names.every((name) => Object.hasOwn(FLAGS, name) && (FLAGS[name as FlagName] as Flag).value === "");
}

/**
 * Reads one value.
 *
 * @param label How the place is called in an error; the flag itself if absent.
 * @throws {CliError} `usage`.
 */
export function readFlag(name: string, flag: Flag, text: string, label = `--${name}`): unknown {
  try {
    const value = flag.read(text);
    if (flag.choices?.includes(text) === false) throw new Error(`must be ${flag.choices.join(" or ")}`);
    return value;
  } catch (error) {
    if (error instanceof TypeError) throw usage(error.message);
    throw usage(`Cannot use ${label} as it ${(error as Error).message}: current value is ${quote(text)}`);
  }
}

function unknownFlag(arg: string): CliError {
  const name = arg.split("=", 1)[0]!;
  const hint = name.startsWith("--") ? didYouMean(name, flagList().map(([long]) => `--${long}`)) : "";
  const literal = name.startsWith("--") ? "" : "; write -- before words that begin with a dash";
  return usage(`Unknown flag ${quote(name)}${hint}${literal}`);
}

function unknownCommand(word: string): CliError {
  const names = Object.keys(COMMANDS);
  const hint = didYouMean(word, names);
  return usage(`Unknown command ${quote(word)}${hint || `; it must be one of ${names.join(", ")}`}`);
}

/** A hint at the nearest of some names, or nothing if none is near. */
export function didYouMean(given: string, names: readonly string[]): string {
  let best = "";
  let least = Math.floor(given.replace(/^-+/, "").length / 3) + 1;
  for (const name of names) {
    const steps = distance(given, name);
    if (steps <= least && (steps < least || best === "")) [best, least] = [name, steps];
  }
  if (best === "") best = names.find((name) => given.length > 4 && name.startsWith(given)) ?? "";
  return best === "" ? "" : `; did you mean ${best}?`;
}

/** Edits between two short texts, a swap of neighbours counting as one. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 4) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let steps = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        steps = Math.min(steps, beforeLast[j - 2]! + 1);
      }
      row.push(steps);
    }
    beforeLast = last;
    last = row;
  }
  return last.at(-1)!;
}
