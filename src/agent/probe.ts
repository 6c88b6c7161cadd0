/**
 * The diagnosed probe: what works at an endpoint, and what to do about the rest.
 * @module
 */
import { isPawlError } from "../model/error.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { excerpt } from "../text/error_text.ts";
import { TAG } from "../text/reasoning.ts";
import { ask, PING, PROBE_PROMPT, type Sample } from "./probe_tool_calling.ts";

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
  /** What to do about it, where the library has a switch for it or the error tells. */
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
  signal?: AbortSignal | undefined;
  /** Also look whether a prompt of about so many tokens arrives whole. It costs as many. */
  context?: number | undefined;
  /** Told of each check once it is decided. */
  onCheck?: ((check: ProbeCheck) => void) | undefined;
}

/**
 * What a look at the endpoint shows: whether the check passes (`undefined`: it cannot be told), the detail, and a hint for when it fails.
 * Empty: it was not asked.
 */
type Finding = [passes?: boolean | undefined, detail?: string, hint?: string | false | undefined];

/** What to do about an error, by its status or code. */
const HINTS: Record<number | string, string | undefined> = {
  unreachable: "check host and port, and that the server runs",
  401: "check the API key",
  403: "check the API key",
  404: "check base URL and model",
};

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
  const { dialect, model } = provider;
  const replies: Sample[] = [];
  let models: string[] = [], noList = "", calls = false, counting: Promise<Sample>, counted: Sample | undefined;

  async function send(user: string, more?: StreamOptions): Promise<Sample> {
    const reply = await ask(provider, user, { signal, ...more });
    replies.push(reply);
    return reply;
  }

  /** In the order of the report. A look fails with the error of the endpoint. */
  const looks: Record<ProbeCheckName, () => Finding | Promise<Finding>> = {
    async reachable() {
      try {
        models = await provider.listModels({ signal, maxRetries: 0 });
      } catch (error) {
        if (!isPawlError(error) || /^(unreachable|timeout|permission)$/.test(error.code)) throw error;
        noList = `no list (${error.status ?? error.code})`;
      }
      return [true, "it answers"];
    },
    async model() {
      counting = send("Count from 1 to 20.");
      const isListed = models.includes(model), answers = await counting.catch(() => false);
      return [
        isListed || !!answers,
        noList || (isListed ? "listed" : "not listed"),
        models[0] && `choose one of ${excerpt(models.join(", "), (text) => provider.scrub(text))}`,
      ];
    },
    async streaming() {
      counted = await counting;
      const { pieces, text } = counted;
      return [pieces > 1 || text.length < 20, `pieces: ${pieces}`];
    },
    usage() {
      const { inputTokens = "unknown", outputTokens = "unknown" } = counted!.usage ?? {};
      return [
        inputTokens !== "unknown" && outputTokens !== "unknown",
        `tokens in: ${inputTokens}, out: ${outputTokens}`,
        "check compat.streamUsage",
      ];
    },
    async tool_call() {
      const { pings, stopReason, warnings } = await send(PROBE_PROMPT, { tools: [PING] });
      calls = pings > 0;
      return [
        calls,
        calls ? "called" : `not called: ${stopReason}`,
        stopReason === "max_tokens" ? "raise maxTokens" : warnings?.some(({ kind }) => kind === "tool_call_text") &&
          "the server needs the tool parser of this model",
      ];
    },
    async parallel_calls() {
      if (!calls) return [];
      const { pings } = await send("Call the ping tool twice at once.", { tools: [PING] });
      return [pings > 1, `${pings} of 2 calls`];
    },
    reasoning() {
      if (new RegExp(TAG, "i").test(replies.map(({ text }) => text).join())) {
        return [false, "tags in the text", "set thinkTags to auto"];
      }
      const thinking = replies.flatMap(({ message }) => message.content).find((block) => block.type === "thinking");
      return thinking ? [true, `kept apart, in ${thinking.field ?? "blocks or tags"}`] : [undefined, "none seen"];
    },
    async token_field() {
      const { text, stopReason, maxTokens } = await send("Count from 1 to 200.", { maxTokens: 16 });
      const holds = stopReason === "max_tokens";
      // The model is to think, and that takes more.
      return !maxTokens ? [] : [
        holds || (text.length > 200 ? false : undefined),
        `${maxTokens} tokens ${holds ? "" : "do not "}end the reply`,
        "set compat.maxTokensField",
      ];
    },
    system_role() {
      const { text, stopReason } = counted!, obeys = /pawl/i.test(text);
      return [obeys || (text && stopReason !== "max_tokens" ? false : undefined), obeys ? "obeyed" : "not obeyed"];
    },
    async context() {
      if (!tokens) return [];
      // The word stands first: an endpoint that cuts a prompt silently cuts there (rule R-43).
      const { text, usage } = await send(
        `The secret word is zephyr.\n${"word ".repeat(tokens)}\nWhat is the secret word?`,
      );
      return [/zephyr/i.test(text), `about ${tokens} tokens, counted: ${usage?.inputTokens ?? "unknown"}`];
    },
  };

  const checks: ProbeCheck[] = [];
  let ok = true, isOver = false;
  for (const [name, look] of Object.entries(looks) as [ProbeCheckName, typeof looks.context][]) {
    let finding: Finding = [];
    try {
      if (!isOver) finding = await look();
    } catch (error) {
      if (!isPawlError(error)) throw error;
      // Without a first answer nothing else can be told.
      isOver = !counted;
      finding = [false, error.message, HINTS[error.status ?? error.code]];
    }
    signal?.throwIfAborted();
    const [passes, detail = "not asked", hint] = finding;
    const status = passes ? "pass" : passes === false ? "fail" : "skip";
    const check: ProbeCheck = { name, status, detail, ...(passes === false && hint && { hint }) };
    checks.push(check);
    onCheck?.(check);
    // Neither can pass at an endpoint that is not reachable, or without the model.
    if (name === "streaming" || name === "tool_call") ok &&= passes === true;
  }
  return { ok, dialect, model, checks };
}
