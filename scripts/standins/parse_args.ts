/** Stand-in for `@std/cli/parse-args`: the options and the quirks that the command line relies on, no dotted names. */

type Names = string | readonly string[];

/** Options of {@linkcode parseArgs}. */
export interface ParseOptions {
  "--"?: boolean;
  alias?: Record<string, string | readonly string[]>;
  boolean?: Names;
  collect?: Names;
  default?: Record<string, unknown>;
  negatable?: Names;
  stopEarly?: boolean;
  string?: Names;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** What {@linkcode parseArgs} returns. */
export interface Args {
  // deno-lint-ignore no-explicit-any -- the real function's type for names it cannot know
  [name: string]: any;
  _: Array<string | number>;
}

function isNumeric(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}

function isTruth(text: string | undefined): boolean {
  return text === "true" || text === "false";
}

class Parser {
  readonly args: Args = { _: [] };
  readonly #options: ParseOptions;
  readonly #aliases = new Map<string, string[]>();
  readonly #sets: Record<"boolean" | "string" | "collect" | "negatable", Set<string>>;

  constructor(options: ParseOptions) {
    this.#options = options;
    for (const [name, others] of Object.entries(options.alias ?? {})) {
      const group = [name, ...[others].flat()];
      for (const member of group) this.#aliases.set(member, group.filter((other) => other !== member));
    }
    this.#sets = {
      boolean: this.#named(options.boolean),
      string: this.#named(options.string),
      collect: this.#named(options.collect),
      negatable: this.#named(options.negatable),
    };
  }

  #named(names: Names = []): Set<string> {
    return new Set([names].flat().flatMap((name) => [name, ...this.#aliases.get(name) ?? []]));
  }

  #put(name: string, value: unknown, append: boolean): void {
    for (const key of [name, ...this.#aliases.get(name) ?? []]) {
      // A name from the command line must not reach a prototype.
      if (key === "__proto__" || key === "constructor") continue;
      const before: unknown = Object.hasOwn(this.args, key) ? this.args[key] : undefined;
      const after = append ? [...Array.isArray(before) ? before : [], value] : value;
      this.args[key] = after;
    }
  }

  set(name: string, value: string | boolean, arg: string): void {
    const { boolean, string, collect } = this.#sets;
    const known = boolean.has(name) || string.has(name) || collect.has(name) || this.#aliases.has(name);
    if (!known && this.#options.unknown?.(arg, name, value) === false) return;
    const typed = typeof value === "string" && !string.has(name) && isNumeric(value) ? Number(value) : value;
    this.#put(name, typed, collect.has(name));
  }

  #bare(name: string, arg: string, next: string | undefined, valuePattern: RegExp): boolean {
    if (next && !this.#sets.boolean.has(name) && valuePattern.test(next)) {
      this.set(name, next, arg);
      return true;
    }
    if (isTruth(next)) {
      this.set(name, next === "true", arg);
      return true;
    }
    this.set(name, this.#sets.string.has(name) ? "" : true, arg);
    return false;
  }

  /** Takes a `--name`; true when the next argument was its value. */
  long(arg: string, next: string | undefined): boolean {
    const equals = arg.indexOf("=");
    const name = arg.slice(2, equals < 0 ? undefined : equals);
    if (equals >= 0) {
      const value = arg.slice(equals + 1);
      this.set(name, this.#sets.boolean.has(name) ? value !== "false" : value, arg);
      return false;
    }
    const positive = name.startsWith("no-") ? name.slice(3) : "";
    if (positive && this.#sets.negatable.has(positive)) {
      this.#put(positive, false, false);
      return false;
    }
    return this.#bare(name, arg, next, /^[^-]/);
  }

  /** Takes `-abc`; true when the next argument was the last letter's value. */
  short(arg: string, next: string | undefined): boolean {
    for (let i = 1; i < arg.length - 1; i++) {
      const letter = arg[i]!;
      const rest = arg.slice(i + 1);
      // A letter takes all behind it as its value when an equals sign or a number at the end says that there is one.
      const value = !/[A-Za-z]/.test(letter)
        ? undefined
        : /=(.+)/.exec(rest)?.[1] ?? /^.*\d(?:\.\d*)?$/.exec(rest)?.[0];
      if (rest === "=" || value !== undefined || /^\W./.test(rest)) {
        this.set(letter, rest === "=" ? "" : value ?? rest, arg);
        return false;
      }
      this.set(letter, rest === "-" ? rest : this.#sets.string.has(letter) ? "" : true, arg);
    }
    const last = arg.slice(-1);
    return last !== "-" && this.#bare(last, arg, next, /^(?!--?[^-])/);
  }

  positional(arg: string): void {
    if (this.#options.unknown?.(arg) === false) return;
    this.args._.push(this.#sets.string.has("_") || !isNumeric(arg) ? arg : Number(arg));
  }

  finish(rest: readonly string[]): Args {
    for (const [name, value] of Object.entries(this.#options.default ?? {})) {
      if (!Object.hasOwn(this.args, name)) this.#put(name, value, false);
    }
    const { boolean, string, collect } = this.#sets;
    for (const name of boolean) {
      if (!Object.hasOwn(this.args, name)) this.#put(name, collect.has(name) ? [] : false, false);
    }
    for (const name of string) {
      if (!Object.hasOwn(this.args, name) && collect.has(name)) this.#put(name, [], false);
    }
    if (this.#options["--"]) this.args["--"] = [...rest];
    else this.args._.push(...rest);
    return this.args;
  }
}

/** Parses an argument vector into an object of options and `_`, the rest. */
export function parseArgs(args: readonly string[], options: ParseOptions = {}): Args {
  const parser = new Parser(options);
  const end = args.indexOf("--");
  const vector = end < 0 ? args : args.slice(0, end);
  for (let i = 0; i < vector.length; i++) {
    const arg = vector[i]!;
    if (/^--[^=]/.test(arg)) i += Number(parser.long(arg, vector[i + 1]));
    else if (/^-[^-]/.test(arg)) i += Number(parser.short(arg, vector[i + 1]));
    else {
      parser.positional(arg);
      if (options.stopEarly) {
        parser.args._.push(...vector.slice(i + 1));
        break;
      }
    }
  }
  return parser.finish(end < 0 ? [] : args.slice(end + 1));
}
