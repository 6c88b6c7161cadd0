/**
 * Where the settings of an endpoint come from: flag, then environment, then profile, then default.
 * @module
 */
import { quote } from "../model/error.ts";
import { DIALECT_NAMES, type DialectName, DIALECTS } from "./dialects.ts";
import { usage } from "./exit.ts";
import { type Flag, type FlagName, FLAGS, type Options } from "./flag_table.ts";
import { didYouMean, readFlag } from "./flags.ts";

/** A profile that has been read: values by flag name, and the key if it holds one itself. */
export interface Profile {
  /** What it is called in messages. */
  label: string;
  /** Where it was found. */
  file: string;
  options: Options;
  apiKey?: string;
}

/** What a request needs to know about its endpoint. */
export interface Settings {
  dialect: DialectName;
  baseUrl: string;
  /** `host:port`, as in `--allow-net` and in errors. */
  host: string;
  model?: string;
  /** Where the key comes from, if there is one. */
  key?: KeySource;
  /** All options: the given ones, and below them the profile's. */
  options: Options;
  /** Things that a person should be told before anything is sent. */
  notes: string[];
}

/** A key that may go to the endpoint: itself, or the variable that holds it. */
export type KeySource = { value: string } | { variable: string; label: string };

/** Reads an environment variable; `undefined` also where reading it is not permitted. */
export type ReadEnv = (name: string) => string | undefined;

/** Reads a variable only if that is granted already: an endpoint must work without any. */
export function readGrantedEnv(name: string): string | undefined {
  if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") return undefined;
  return Deno.env.get(name) || undefined;
}

/**
 * Puts the settings together. Keys stay with their origin: `PAWL_API_KEY` goes only to the origin of `PAWL_BASE_URL` if that is set, a
 * profile's key only to the profile's own. `OPENAI_*` and `ANTHROPIC_*` are read only if `--api-key-env` names them.
 *
 * @param given What the command line says.
 * @param env Reads the environment.
 * @param profile The profile asked for, if any.
 * @throws {CliError} `usage`.
 */
export function resolveSettings(given: Options, env: ReadEnv, profile?: Profile): Settings {
  const below = profile?.options ?? {};
  const notes: string[] = [];
  const named = given.dialect ?? env("PAWL_DIALECT") ?? below.dialect ?? DIALECT_NAMES[0]!;
  const dialect = readFlag(
    "dialect",
    FLAGS.dialect,
    named,
    given.dialect === undefined ? "PAWL_DIALECT" : undefined,
  ) as DialectName;
  const baseUrl = given["base-url"] ?? env("PAWL_BASE_URL") ?? below["base-url"] ?? DIALECTS[dialect].baseUrl;
  const url = readUrl(baseUrl);
  const model = given.model ?? env("PAWL_MODEL") ?? below.model;

  const ownDialect = (below.dialect ?? dialect) as DialectName;
  const profileOrigin = profile && readUrl(below["base-url"] ?? DIALECTS[ownDialect].baseUrl).origin;
  const key = chooseKey(given, { env, profile, origin: url.origin, profileOrigin, notes });
  if (key !== undefined && url.protocol === "http:" && !isLoopback(url.hostname)) {
    notes.push(`warning: the key goes to ${hostPort(url)} over plain http, readable on the way; use https`);
  }
  return {
    dialect,
    baseUrl,
    host: hostPort(url),
    ...model !== undefined && { model },
    ...key !== undefined && { key },
    options: mergeOptions(given, below),
    notes,
  };
}

interface KeySources {
  env: ReadEnv;
  profile: Profile | undefined;
  origin: string;
  profileOrigin: string | undefined;
  notes: string[];
}

function chooseKey(given: Options, { env, profile, origin, profileOrigin, notes }: KeySources): KeySource | undefined {
  if (given["api-key-env"] !== undefined) return { variable: given["api-key-env"], label: "--api-key-env" };
  const ambient = env("PAWL_API_KEY");
  if (ambient !== undefined) {
    const home = env("PAWL_BASE_URL");
    if (home === undefined || readUrl(home).origin === origin) return { value: ambient };
    notes.push(
      "note: PAWL_API_KEY is not sent, as it belongs to the origin of PAWL_BASE_URL; name a key with --api-key-env",
    );
  }
  const variable = profile?.options["api-key-env"];
  if (profile === undefined || profile.apiKey === undefined && variable === undefined) return undefined;
  if (profileOrigin !== origin) {
    notes.push(
      `note: the key of ${profile.label} is not sent, as it belongs to another origin; name a key with --api-key-env`,
    );
    return undefined;
  }
  return profile.apiKey === undefined
    ? { variable: variable!, label: `api-key-env of ${profile.label}` }
    : { value: profile.apiKey };
}

/**
 * The key itself.
 *
 * @throws {CliError} `usage`: the variable that should hold it is not set.
 */
export function readKey(source: KeySource | undefined, env: ReadEnv): string | undefined {
  if (source === undefined || "value" in source) return source?.value;
  const key = env(source.variable);
  if (key === undefined) {
    throw usage(`Cannot use ${source.label}: the environment variable ${quote(source.variable)} is not set`);
  }
  return key;
}

/** Parses a base URL. It may hold a password or a token in the wrong place, so no error shows it. */
function readUrl(text: string): URL {
  const url = URL.parse(text.trim());
  if (url === null || url.protocol !== "http:" && url.protocol !== "https:") {
    throw usage("Cannot use the base URL as it must begin with http:// or https:// and name a host");
  }
  return url;
}

/** Host and port, the port also where it is the scheme's own. */
function hostPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`;
}

function isLoopback(hostname: string): boolean {
  return /^(.*\.)?localhost$|^127\.|^\[::1\]$/.test(hostname);
}

function mergeOptions(given: Options, below: Options): Options {
  const merged: Record<string, unknown> = { ...below, ...given };
  for (const [name, value] of Object.entries(below)) {
    const own = given[name as FlagName];
    // The later of two settings wins, so the command line's come last.
    if (Array.isArray(value) && Array.isArray(own)) merged[name] = [...value, ...own];
  }
  return merged as Options;
}

/** Reads a file of the configuration. */
export type ReadText = (path: string) => Promise<string>;

/** Whether `--profile` means a file. */
export function isFile(profile: string): boolean {
  return /[/\\]|\.(ya?ml|json)$/.test(profile);
}

/** Whether a profile is looked for by its name, in more than one place. */
export function isLookedUp({ profile, config }: Options): boolean {
  return profile !== undefined && config === undefined && !isFile(profile);
}

/**
 * Files in which a profile is looked for, in this order.
 *
 * @param given The command line.
 * @param home `$HOME`, if it may be read.
 */
export function profileFiles(given: Options, home: string | undefined): string[] {
  const { profile, config } = given;
  if (profile !== undefined && isFile(profile)) return [profile];
  if (config !== undefined) return [config];
  if (profile === undefined) return [];
  return ["./.pawl/config.yaml", ...home === undefined ? [] : [`${home}/.config/pawl/config.yaml`]];
}

/**
 * Looks for the profile that the command line asks for.
 *
 * @param files From {@linkcode profileFiles}; only the last one must exist.
 * @param elsewhere Added to the error if it is in none of them.
 * @throws {CliError} `usage`: no such file or profile, or it cannot be used; says what is wrong and where.
 */
export async function loadProfile(
  given: Options,
  files: readonly string[],
  readText: ReadText,
  elsewhere = "",
): Promise<Profile> {
  const { profile } = given;
  const known: string[] = [];
  let missing: unknown;
  for (const file of files) {
    let text: string;
    try {
      text = await readText(file);
    } catch (error) {
      missing = error;
      continue;
    }
    const document = await readYaml(text, file);
    const profiles = document.profiles;
    if (profiles === undefined) {
      if (profile !== undefined && isFile(profile)) return readProfile(document, file, `the profile ${quote(file)}`);
      throw usage(`Cannot use ${quote(file)}: it has no "profiles"`);
    }
    if (!isMap(profiles)) throw usage(`Cannot use ${quote(file)}: "profiles" must be a map of names`);
    const names = Object.keys(profiles);
    known.push(...names);
    const fallback = typeof document.default === "string"
      ? document.default
      : names.length === 1
      ? names[0]
      : undefined;
    const name = profile === undefined || isFile(profile) ? fallback : profile;
    if (name === undefined) {
      throw usage(`Cannot choose a profile of ${quote(file)}: name one with --profile, ${listed(names)}`);
    }
    if (Object.hasOwn(profiles, name)) return readProfile(profiles[name], file, `the profile ${quote(name)}`);
  }
  if (known.length === 0 && missing !== undefined && elsewhere === "") throw missing;
  throw usage(`Cannot find the profile ${quote(profile ?? "default")}: ${listed(known)}${elsewhere}`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "there are none" : `there is ${names.map(quote).join(", ")}`;
}

async function readYaml(text: string, file: string): Promise<Record<string, unknown>> {
  const { parse } = await import("@std/yaml");
  let value: unknown;
  try {
    // Failsafe: each value stays the text that was written, so that a model "1.10" is not the number 1.1; the flags' readers do the rest.
    value = parse(text, { schema: "failsafe" });
  } catch (error) {
    throw usage(`Cannot read ${quote(file)} as YAML: ${(error as Error).message.split("\n", 1)[0]}`);
  }
  if (!isMap(value)) throw usage(`Cannot use ${quote(file)}: it must be a YAML map`);
  return value;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads one profile: a map from flag names to values. Repeatable flags take a map of `NAME: VALUE`, or a list. */
function readProfile(value: unknown, file: string, label: string): Profile {
  if (!isMap(value)) throw usage(`Cannot use ${label}: it must be a map`);
  const options: Record<string, unknown> = {};
  const allowed = (Object.entries(FLAGS) as [FlagName, Flag][]).filter(([, flag]) => flag.profile);
  let apiKey: string | undefined;
  for (const [key, entry] of Object.entries(value)) {
    const place = `${quote(key)} of ${label}`;
    if (key === "api-key" && typeof entry === "string") {
      apiKey = entry;
      continue;
    }
    const flag = allowed.find(([name]) => name === key)?.[1];
    if (flag === undefined) {
      const names = ["api-key", ...allowed.map(([name]) => name)];
      throw usage(`Cannot use ${label}: it has no setting ${quote(key)}${didYouMean(key, names)}`);
    }
    if (!flag.repeat) {
      if (typeof entry !== "string") throw usage(`Cannot use ${place} as it must be one value`);
      options[key] = readFlag(key, flag, entry, place);
      continue;
    }
    const joint = key === "header" ? ": " : "=";
    const texts = isMap(entry) ? Object.entries(entry).map(([name, text]) => `${name}${joint}${text}`) : [entry].flat();
    options[key] = texts.map((text) => readFlag(key, flag, String(text), place));
  }
  return { label, file, options: options as Options, ...apiKey !== undefined && { apiKey } };
}
