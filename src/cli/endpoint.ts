/**
 * From settings to a provider.
 * @module
 */
import { isPawlError, quote } from "../model/error.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type { Compat } from "../provider/dialect.ts";
import { thinkingBudget } from "../provider/history.ts";
import { createProvider, type Provider, type ProviderOptions } from "../provider/provider.ts";
import { visible } from "../text/visible.ts";
import type { Settings } from "./config.ts";
import type { Context, Ready } from "./context.ts";
import { DIALECTS } from "./dialects.ts";
import { usage } from "./exit.ts";
import type { Options } from "./flag_table.ts";

/** Output tokens of a reply where nothing else is said, those to think with apart; the help shows it. */
const DEFAULT_MAX_TOKENS = 8192;
/** Names shown where there are more models than a line should hold. */
const MAX_LISTED = 20;

/** Bounds of a run, out of the flags. */
export interface LoopOptions {
  maxIterations?: number;
  maxTotalTokens?: number;
  maxRepeats?: number;
  maxToolResultChars?: number;
  toolTimeoutMs?: number;
  deadlineMs?: number;
}

/** The bounds of a run that flags set. */
export function loopOptions(options: Options): LoopOptions {
  const bounds = Object.fromEntries((options.limit ?? []).filter(([name]) => !(name in DEFAULT_LIMITS)));
  const { "max-turns": maxIterations, "max-total-tokens": maxTotalTokens, timeout } = options;
  return {
    ...bounds,
    ...maxIterations !== undefined && { maxIterations },
    ...maxTotalTokens !== undefined && { maxTotalTokens },
    ...timeout !== undefined && { deadlineMs: timeout },
  };
}

/** An endpoint, and the provider for the model that was chosen. */
export interface Endpoint {
  provider: Provider;
  host: string;
  /** All options: the given ones, and below them the profile's. */
  options: Options;
  /** What tools send with, so that a recording holds their exchanges too. */
  fetch: typeof fetch;
  /** The same with another model or key. */
  change(to: { model?: string; apiKey?: string }): Provider;
  /** The models that it lists. */
  listModels(signal: AbortSignal): Promise<string[]>;
}

/** Chooses among the models that an endpoint lists, if they are not exactly one. */
export type PickModel = (models: readonly string[], host: string) => string | Promise<string>;

/**
 * Makes the provider.
 *
 * @param pick Asked where no model is given and not exactly one is listed.
 * @throws {CliError} `usage`: no model given, and none that could be chosen.
 */
export async function openEndpoint(context: Context, ready: Ready, pick: PickModel = refuse): Promise<Endpoint> {
  const { settings } = ready;
  const special = await specialFetch(context, settings.options, ready.apiKey);
  const options = await providerOptions(context, ready, special);
  const model = settings.model ?? await chooseModel(context, { options, settings, pick });
  return {
    provider: createProvider({ ...options, model }),
    host: settings.host,
    options: settings.options,
    fetch: special ?? fetch,
    change: (to) => createProvider({ ...options, model, ...to }),
    listModels: (signal) => listModels(context, options, signal),
  };
}

/** Makes a provider that only lists models. A recording is open by then: the permission to read it may go. */
export async function openLister(context: Context, ready: Ready): Promise<Provider> {
  const special = await specialFetch(context, ready.settings.options, ready.apiKey);
  return lister(await providerOptions(context, ready, special));
}

/** A provider that only lists: the name of its model reaches nobody. */
function lister(options: Omit<ProviderOptions, "model">): Provider {
  return createProvider({ ...options, model: "none" });
}

/** The list is complete at once: whoever asks next has the terminal to himself. */
function listModels(
  { progress }: Context,
  options: Omit<ProviderOptions, "model">,
  signal: AbortSignal,
): Promise<string[]> {
  return lister(options).listModels({ signal }).finally(() => progress.end());
}

interface Choice {
  options: Omit<ProviderOptions, "model">;
  settings: Settings;
  pick: PickModel;
}

async function chooseModel(context: Context, { options, settings: { host }, pick }: Choice): Promise<string> {
  const { signal, terminal, options: { "dry-run": isDry } } = context;
  if (isDry) throw usage("Cannot choose a model without sending anything: name one with --model");
  const models = await listModels(context, options, signal).catch((error) => {
    // Many endpoints list nothing; whatever else is wrong is told as it is.
    const isMissing = isPawlError(error) && (error.code === "malformed_stream" || /^40[045]$/.test(`${error.status}`));
    if (!isMissing) throw error;
    throw usage(`Cannot choose a model as ${host} gives no list of them: name one with --model, or check --base-url`);
  });
  if (models.length !== 1) return await pick(models, host);
  // One line, or a model could be named like an error.
  terminal.note(`using the only model of ${host}: ${visible(models[0]!, { oneLine: true })}`);
  return models[0]!;
}

function refuse(models: readonly string[], host: string): never {
  if (models.length === 0) throw usage(`Cannot choose a model as ${host} lists none: name one with --model`);
  const more = models.length > MAX_LISTED ? ` and ${models.length - MAX_LISTED} more` : "";
  const names = models.slice(0, MAX_LISTED).map(quote).join(", ");
  throw usage(`Cannot choose a model: name one with --model; ${host} lists ${names}${more}`);
}

async function providerOptions(
  { progress }: Context,
  { settings: { dialect, baseUrl, host, options }, apiKey }: Ready,
  special: typeof fetch | undefined,
): Promise<Omit<ProviderOptions, "model">> {
  const { temperature, thinking, "max-retries": maxRetries } = options;
  const limits = Object.fromEntries((options.limit ?? []).filter(([name]) => name in DEFAULT_LIMITS));
  const { thinkTags, promptCache, ...compat } = Object.fromEntries(options.compat ?? []);
  const fetcher = progress.isOn ? progress.watch(special ?? fetch, host) : special;
  return {
    dialect: await DIALECTS[dialect].load(),
    baseUrl,
    // What the model thinks counts too.
    maxTokens: options["max-tokens"] ??
      DEFAULT_MAX_TOKENS + (thinking === undefined ? 0 : thinkingBudget(thinking)),
    limits: limits as Partial<Limits>,
    compat: compat as Compat,
    ...apiKey !== undefined && { apiKey },
    ...temperature !== undefined && { temperature },
    ...thinking !== undefined && { thinking },
    ...maxRetries !== undefined && { maxRetries },
    ...thinkTags !== undefined && { thinkTags: thinkTags as "auto" | "off" },
    ...promptCache === true && { promptCache },
    ...options.body && { extraBody: Object.assign({}, ...options.body) },
    ...options.header && { extraHeaders: Object.fromEntries(options.header) },
    ...fetcher && { fetch: fetcher },
  };
}

/** What sends instead of `fetch`, if anything does. */
async function specialFetch(context: Context, options: Options, apiKey = ""): Promise<typeof fetch | undefined> {
  if (options["dry-run"]) {
    const secrets = [apiKey, ...(options.header ?? []).map(([, value]) => value)];
    return (await import("./dry_run.ts")).dryFetch(context, secrets);
  }
  if (options.record === undefined && options.replay === undefined) return undefined;
  return await (await import("./recording.ts")).recordedFetch(context, options, apiKey);
}
