/**
 * The diagnosed probe: what works at an endpoint, and what to do about the rest.
 * @module
 */
import { isPawlError, type PawlError } from "../model/error.ts";
import type { ContentBlock } from "../model/message.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { excerpt } from "../text/error_text.ts";
import { TAG } from "../text/reasoning.ts";
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
export async function probe(provider: Provider, options: ProbeOptions = {}): Promise<ProbeReport> {
  const { signal, context: tokens, onCheck } = options;
  const checks = new Map<ProbeCheckName, ProbeCheck>();

  function note(name: ProbeCheckName, passes: boolean | undefined, detail: string, hint?: string | false): void {
    const status = passes === undefined ? "skip" : passes ? "pass" : "fail";
    const check: ProbeCheck = { name, status, detail, ...(status === "fail" && hint && { hint }) };
    checks.set(name, check);
    onCheck?.(check);
  }

  async function attempt<T>(work: Promise<T>): Promise<T | PawlError> {
    try {
      return await work;
    } catch (error) {
      if (!isPawlError(error) || signal?.aborted) throw error;
      return error;
    }
  }

  function send(system: string, user: string, more?: StreamOptions): Promise<Sample | PawlError> {
    return attempt(ask(provider, system, user, { signal, ...more }));
  }

  /** Notes an error as the outcome of a check. */
  function failed(name: ProbeCheckName, outcome: unknown): outcome is PawlError {
    if (!isPawlError(outcome)) return false;
    const { code, status, message } = outcome;
    const hint = code === "unreachable"
      ? "check host and port, and whether the server runs"
      : status === 401 || status === 403
      ? "check the API key"
      : status === 404 && "check the base URL and the model";
    note(name, false, message, hint);
    return true;
  }

  /** Words of the endpoint, fit to be shown. */
  function quote(text: string): string {
    return excerpt(text, (text) => provider.scrub(text));
  }

  async function speak(listed: readonly string[] | PawlError): Promise<void> {
    const said = await send("End every answer with the word PAWL.", "Count from 1 to 20.");
    const hasNoList = isPawlError(listed), isListed = !hasNoList && listed.includes(provider.model);
    note(
      "model",
      isListed || !isPawlError(said),
      hasNoList ? `no list (${listed.status ?? listed.code})` : isListed ? "listed" : "not listed",
      !hasNoList && listed.length > 0 && `the endpoint lists ${quote(listed.join(", "))}`,
    );
    if (failed("streaming", said)) return;
    const text = textOf(said.message), { inputTokens, outputTokens } = said.usage ?? {};
    note(
      "streaming",
      said.pieces > 1 || text.length < 20,
      `pieces: ${said.pieces}`,
      "the server or a proxy holds replies back",
    );
    note(
      "usage",
      inputTokens !== undefined && outputTokens !== undefined,
      `tokens in: ${inputTokens ?? "unknown"}, out: ${outputTokens ?? "unknown"}`,
      "check compat.streamUsage",
    );
    findReasoning([...said.message.content, ...await callTool()]);
    await limitTokens();
    const obeys = /pawl/i.test(text), tells = text !== "" && said.stopReason !== "max_tokens";
    note(
      "system_role",
      obeys || (tells ? false : undefined),
      obeys ? "obeyed" : "not obeyed",
      "put instructions into the prompt",
    );
    if (tokens !== undefined) await fillContext(tokens);
  }

  /** @returns Blocks of the reply. */
  async function callTool(): Promise<ContentBlock[]> {
    const tools = [PING];
    const called = await send(PROBE_SYSTEM, PROBE_PROMPT, { tools });
    if (failed("tool_call", called)) return [];
    const { message: { content }, stopReason, warnings } = called;
    const works = pings(content) > 0;
    note(
      "tool_call",
      works,
      works ? "called" : `not called: ${stopReason}`,
      stopReason === "max_tokens"
        ? "raise maxTokens"
        : warnings?.some(({ kind }) => kind === "tool_call_text")
        ? "it came as text: the server needs the tool parser of this model"
        : "the model or its template knows no tools",
    );
    if (works) {
      const both = await send(PROBE_SYSTEM, "Call the ping tool twice at once.", { tools });
      if (!failed("parallel_calls", both)) {
        const count = pings(both.message.content);
        note("parallel_calls", count > 1, `${count} of 2 calls`, "calls one at a time work");
      }
    }
    return content;
  }

  function findReasoning(blocks: readonly ContentBlock[]): void {
    const thinking = blocks.find((block) => block.type === "thinking");
    if (blocks.some((block) => block.type === "text" && new RegExp(TAG, "i").test(block.text))) {
      note("reasoning", false, "tags in the text", "set thinkTags to auto");
    } else if (thinking) note("reasoning", true, `kept apart, in ${quote(thinking.field ?? "blocks or tags")}`);
    else note("reasoning", undefined, "none seen");
  }

  async function limitTokens(): Promise<void> {
    const reply = await send("Be thorough.", "Count from 1 to 200.", { maxTokens: 16 });
    if (failed("token_field", reply)) return;
    const holds = reply.stopReason === "max_tokens";
    note(
      "token_field",
      holds || (textOf(reply.message).length > 200 ? false : undefined),
      `16 tokens ${holds ? "" : "do not "}end the reply`,
      "set compat.maxTokensField",
    );
  }

  async function fillContext(tokens: number): Promise<void> {
    // The word stands first: an endpoint that cuts a prompt silently cuts there (rule R-43).
    const filler = "word ".repeat(tokens);
    const reply = await send(
      "Answer in one word.",
      `The secret word is zephyr.\n${filler}\nWhat is the secret word?`,
    );
    if (failed("context", reply)) return;
    note(
      "context",
      /zephyr/i.test(textOf(reply.message)),
      `about ${tokens} tokens, counted: ${reply.usage?.inputTokens ?? "unknown"}`,
      "raise the context size of the server",
    );
  }

  const listed = await attempt(provider.listModels({ signal }));
  if (isPawlError(listed) && /^(unreachable|timeout|permission)$/.test(listed.code)) failed("reachable", listed);
  else {
    note("reachable", true, "it answers");
    await speak(listed);
  }
  const names = "reachable model streaming usage tool_call parallel_calls reasoning token_field system_role context"
    .split(" ") as ProbeCheckName[];
  for (const name of names) if (!checks.has(name)) note(name, undefined, "not asked");
  const { dialect, model } = provider;
  const list = names.map((name) => checks.get(name)!);
  const ok = list.every(({ name, status }) =>
    status === "pass" || !/^(reachable|model|streaming|tool_call)$/.test(name)
  );
  return { ok, dialect, model, checks: list };
}
