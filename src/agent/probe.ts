/**
 * The diagnosed probe: what works at an endpoint, and what to do about the rest.
 * @module
 */
import { isPawlError, type PawlError } from "../model/error.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { excerpt } from "../text/error_text.ts";
import { ask, PING, pings, PROBE_PROMPT, PROBE_SYSTEM, type Sample } from "./probe_tool_calling.ts";
import { textOf } from "./reply.ts";

/** What a check looks at. */
export type ProbeCheckName =
  | "reachable"
  | "model"
  | "streaming"
  | "usage"
  | "tool_call"
  | "parallel_calls"
  | "reasoning"
  | "token_field"
  | "system_role"
  | "context";

/** Their order in a report. */
const NAMES = "reachable model streaming usage tool_call parallel_calls reasoning token_field system_role context"
  .split(" ") as ProbeCheckName[];

/** One line of a report. */
export interface ProbeCheck {
  /** What was looked at. */
  name: ProbeCheckName;
  /** `skip`: it was not asked, or could not be told. */
  status: "pass" | "fail" | "skip";
  /** What was seen. */
  detail: string;
  /** What to do about it. */
  hint?: string;
}

/** What {@linkcode probe} found. */
export interface ProbeReport {
  /** Reachable, model, streaming and tool call pass: an agent can work here. */
  ok: boolean;
  /** Name of the dialect. */
  dialect: string;
  /** Model id as requested. */
  model: string;
  /** One of each name, in their order. */
  checks: ProbeCheck[];
}

/** Options of {@linkcode probe}. */
export interface ProbeOptions {
  /** Ends the probe: the promise rejects with its reason. */
  signal?: AbortSignal;
  /** Also look whether a prompt of about so many tokens arrives whole. It costs as many. */
  context?: number;
  /** Told of each check once it is decided. */
  onCheck?(check: ProbeCheck): void;
}

/**
 * Finds out what works at an endpoint, and says what to do about the rest: at most five requests and the model list, without retries.
 *
 * @param provider What to probe.
 * @param options Signal, and what costs extra.
 * @returns A report; whatever the endpoint does is in it.
 * @throws `signal.reason`, and what is no `PawlError`.
 *
 * @example
 * ```ts
 * import { createProvider, openAiChat, probe } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   baseUrl: "http://localhost:11434/v1",
 *   fetch: () => Promise.resolve(new Response("no such page", { status: 404 })),
 * });
 * const { ok, checks } = await probe(provider);
 * assertEquals(ok, false);
 * assertEquals(checks.map(({ status }) => status).slice(0, 4), ["pass", "fail", "fail", "skip"]);
 * ```
 */
export function probe(provider: Provider, options: ProbeOptions = {}): Promise<ProbeReport> {
  return new Diagnosis(provider, options).run();
}

class Diagnosis {
  readonly #provider: Provider;
  readonly #options: ProbeOptions;
  readonly #call: StreamOptions;
  readonly #checks: ProbeCheck[] = [];

  constructor(provider: Provider, options: ProbeOptions) {
    this.#provider = provider;
    this.#options = options;
    this.#call = options.signal ? { signal: options.signal } : {};
  }

  async run(): Promise<ProbeReport> {
    const said = await this.#speak(await this.#reach());
    if (said) {
      const called = await this.#callTool();
      this.#findReasoning([said, called]);
      await this.#limitTokens();
      this.#findSystem(said);
      await this.#fillContext();
    }
    for (const name of NAMES) {
      if (!this.#checks.some((check) => check.name === name)) this.#note(name, undefined, "not asked");
    }
    this.#checks.sort((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name));
    const { dialect, model } = this.#provider;
    const ok = this.#checks.every(({ name, status }) =>
      status === "pass" || !/^(reachable|model|streaming|tool_call)$/.test(name)
    );
    return { ok, dialect, model, checks: this.#checks };
  }

  /** The listed models; an empty list if there is none to be had, `undefined` if nothing answers. */
  async #reach(): Promise<string[] | undefined> {
    const listed = await this.#attempt(this.#provider.listModels(this.#call));
    const isError = isPawlError(listed);
    if (isError && /^(unreachable|timeout|permission)$/.test(listed.code)) {
      this.#noteError("reachable", listed);
      return undefined;
    }
    this.#note("reachable", true, "the endpoint answers");
    return isError ? [] : listed;
  }

  async #speak(ids: readonly string[] | undefined): Promise<Sample | undefined> {
    if (ids === undefined) return undefined;
    const said = await this.#ask("End every answer with the word PAWL.", "Count from 1 to 20.");
    const isListed = ids.includes(this.#provider.model);
    this.#note(
      "model",
      isListed || !isPawlError(said),
      isListed ? "listed" : "not listed",
      ids.length > 0 ? `the endpoint lists ${this.#cut(ids.join(", "))}` : "check its name",
    );
    if (isPawlError(said)) {
      this.#noteError("streaming", said);
      return undefined;
    }
    this.#note(
      "streaming",
      said.pieces > 1 || textOf(said.message).length < 20,
      `the reply is complete, pieces: ${said.pieces}`,
      "the server does not stream, or a proxy holds replies back",
    );
    const { inputTokens, outputTokens } = said.usage ?? {};
    this.#note(
      "usage",
      inputTokens !== undefined && outputTokens !== undefined,
      `tokens in: ${inputTokens ?? "unknown"}, out: ${outputTokens ?? "unknown"}`,
      "check compat.streamUsage; without usage four characters count as a token",
    );
    return said;
  }

  async #callTool(): Promise<Sample | undefined> {
    const tools = [PING];
    const called = await this.#ask(PROBE_SYSTEM, PROBE_PROMPT, { tools });
    if (isPawlError(called)) {
      this.#noteError("tool_call", called);
      return undefined;
    }
    const { message, stopReason, warnings } = called;
    const works = pings(message.content) > 0;
    this.#note(
      "tool_call",
      works,
      works ? "called when told to" : `not called, the reply ended with ${stopReason}`,
      stopReason === "max_tokens"
        ? "raise maxTokens"
        : warnings?.some(({ kind }) => kind === "tool_call_text")
        ? "the call came as text: start the server with the tool parser of this model"
        : "the model, or its template on the server, knows no tools",
    );
    if (!works) return called;
    const both = await this.#ask(PROBE_SYSTEM, 'Call the ping tool twice at once, with messages "a" and "b".', {
      tools,
    });
    if (isPawlError(both)) this.#noteError("parallel_calls", both);
    else {
      const count = pings(both.message.content);
      this.#note(
        "parallel_calls",
        count > 1,
        `calls in one reply: ${count} of 2`,
        "calls come one at a time, which works",
      );
    }
    return called;
  }

  #findReasoning(samples: readonly (Sample | undefined)[]): void {
    const blocks = samples.flatMap((sample) => sample?.message.content ?? []);
    const thinking = blocks.find((block) => block.type === "thinking");
    const leaks = blocks.some((block) =>
      block.type === "text" && /<\/?(mm:think|think(ing)?|thought)>/i.test(block.text)
    );
    this.#note(
      "reasoning",
      leaks ? false : thinking && true,
      leaks
        ? "tags of it are in the text"
        : thinking
        ? `kept apart from the text, it came ${
          thinking.field ? `in ${this.#cut(thinking.field)}` : "in blocks or tags"
        }`
        : "none was seen",
      "set thinkTags to auto",
    );
  }

  async #limitTokens(): Promise<void> {
    const reply = await this.#ask("Be thorough.", "Count from 1 to 200.", { maxTokens: 16 });
    const hint = "set compat.maxTokensField to the name that the server knows";
    if (isPawlError(reply)) return this.#note("token_field", false, reply.message, hint);
    const holds = reply.stopReason === "max_tokens";
    const isShort = textOf(reply.message).length <= 200;
    this.#note(
      "token_field",
      holds || (isShort ? undefined : false),
      `16 tokens ${holds ? "ended" : "did not end"} the reply`,
      hint,
    );
  }

  #findSystem({ message, stopReason }: Sample): void {
    const text = textOf(message);
    const obeys = /pawl/i.test(text);
    this.#note(
      "system_role",
      obeys || (text !== "" && stopReason !== "max_tokens" ? false : undefined),
      obeys ? "obeyed" : "it left no trace in the reply",
      "put instructions into the prompt",
    );
  }

  async #fillContext(): Promise<void> {
    const tokens = this.#options.context;
    if (tokens === undefined) return;
    // The word stands first: an endpoint that cuts a prompt silently cuts there (rule R-43).
    const filler = "one two three four five six seven eight nine ten ".repeat(Math.ceil(tokens / 10));
    const reply = await this.#ask(
      "Answer in one word.",
      `The secret word is zephyr.\n${filler}\nWhat is the secret word?`,
    );
    if (isPawlError(reply)) return this.#noteError("context", reply);
    this.#note(
      "context",
      /zephyr/i.test(textOf(reply.message)),
      `tokens sent: about ${tokens}, counted: ${reply.usage?.inputTokens ?? "unknown"}`,
      "the prompt was cut, or its begin forgotten: raise the context size of the server",
    );
  }

  #note(name: ProbeCheckName, passes: boolean | undefined, detail: string, hint?: string): void {
    const status = passes === undefined ? "skip" : passes ? "pass" : "fail";
    const check: ProbeCheck = { name, status, detail, ...(status === "fail" && hint && { hint }) };
    this.#checks.push(check);
    this.#options.onCheck?.(check);
  }

  #noteError(name: ProbeCheckName, { code, status, message }: PawlError): void {
    const hint = code === "unreachable"
      ? "check host and port, and that the server runs"
      : status === 401 || status === 403
      ? "check the API key"
      : status === 404
      ? "check the base URL and the name of the model"
      : undefined;
    this.#note(name, false, message, hint);
  }

  /** Words of the endpoint, fit to be shown. */
  #cut(text: string): string {
    return excerpt(text, (text) => this.#provider.scrub(text));
  }

  #ask(system: string, user: string, options: StreamOptions = {}): Promise<Sample | PawlError> {
    return this.#attempt(ask(this.#provider, system, user, { ...this.#call, ...options }));
  }

  async #attempt<T>(work: Promise<T>): Promise<T | PawlError> {
    try {
      return await work;
    } catch (error) {
      if (!isPawlError(error) || this.#options.signal?.aborted) throw error;
      return error;
    }
  }
}
