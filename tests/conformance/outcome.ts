/**
 * What a client made of a reply, and whether that is right. Clients of any kind can be held against the cases: all they have to tell
 * is an {@linkcode Outcome}.
 * @module
 */
import { equal } from "@std/assert";
import type { ExpectedBlock, Meaning, WireCase } from "../support/wire_case.ts";

/** A block as a client delivered it. */
export interface OutcomeBlock {
  /** `text`, `thinking`, `tool_use`; blocks of any other type are not compared. */
  type: string;
  text?: string;
  signature?: string;
  redacted?: boolean;
  data?: string;
  id?: string;
  name?: string;
  /** Raw JSON text of the arguments, or the parsed object if the client has no raw text. */
  input?: unknown;
  /** The arguments are no JSON object, and the client knows. */
  invalid?: boolean;
  extra?: unknown;
}

/** What a client made of a reply. */
export type Outcome =
  | { outcome: "message"; stop: string; blocks: OutcomeBlock[]; usage?: { input?: number; output?: number } }
  | {
    outcome: "error";
    /** `http`, `stream`, `protocol`, `truncated`, `too_large`, `not_sse`, `timeout`; several if the client does not tell them apart. */
    kind: string | string[];
    status?: number;
    retryable?: boolean;
    retry_after_ms?: number;
    /** The message for a person. */
    message: string;
    /** Everything else that a log would show: stack, causes, properties. */
    shown?: string;
    partial?: OutcomeBlock[];
  };

/** How a client fared with one case. */
export interface Verdict {
  /** Empty: right. */
  problems: string[];
  /** A message, where every acceptable meaning is an error. */
  falseSuccess: boolean;
}

/** The key that every run uses; it may be shown nowhere. */
export const REPLAY_KEY = "sk-replay-SECRET-0001";

/** Judges an outcome by the case's meanings; the problems are those of the nearest one. */
export function judge(wireCase: WireCase, outcome: Outcome): Verdict {
  const meanings = [wireCase.expect, ...wireCase.alternatives ?? []];
  const problems = meanings.map((meaning) => compare(meaning, outcome, wireCase.distinct_ids ?? false))
    .reduce((best, other) => other.length < best.length ? other : best);
  return {
    problems,
    falseSuccess: outcome.outcome === "message" && meanings.every(({ outcome }) => outcome === "error"),
  };
}

function compare(meaning: Meaning, outcome: Outcome, distinctIds: boolean): string[] {
  if (meaning.outcome === "message" && outcome.outcome === "message") {
    const problems = meaning.stop === outcome.stop ? [] : [`stop is ${outcome.stop}, wanted ${meaning.stop}`];
    problems.push(...compareBlocks(meaning.blocks, outcome.blocks));
    for (const field of ["input", "output"] as const) {
      const wanted = meaning.usage?.[field];
      if (wanted === undefined || outcome.usage?.[field] === wanted) continue;
      problems.push(`usage.${field} is ${outcome.usage?.[field]}, wanted ${wanted}`);
    }
    const ids = outcome.blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    if (distinctIds && new Set(ids).size < ids.length) problems.push(`ids are not distinct: ${ids.join(" ")}`);
    return problems;
  }
  if (meaning.outcome === "error" && outcome.outcome === "error") return compareErrors(meaning, outcome);
  const got = outcome.outcome === "error" ? `error ${outcome.kind}: ${outcome.message}` : `message ${outcome.stop}`;
  return [`${got}, wanted ${meaning.outcome}`, "another outcome altogether", "which is worse than any difference"];
}

type MeaningOf<T extends Meaning["outcome"]> = Extract<Meaning, { outcome: T }>;
type OutcomeOf<T extends Outcome["outcome"]> = Extract<Outcome, { outcome: T }>;

function compareErrors(meaning: MeaningOf<"error">, outcome: OutcomeOf<"error">): string[] {
  const problems: string[] = [];
  if (![outcome.kind].flat().includes(meaning.kind)) problems.push(`kind is ${outcome.kind}, wanted ${meaning.kind}`);
  for (const field of ["status", "retryable", "retry_after_ms"] as const) {
    const wanted = meaning[field];
    if (wanted !== undefined && outcome[field] !== wanted) {
      problems.push(`${field} is ${outcome[field]}, wanted ${wanted}`);
    }
  }
  for (const word of meaning.mentions ?? []) {
    if (!outcome.message.includes(word)) problems.push(`"${word}" is not mentioned: ${outcome.message}`);
  }
  const shown = `${outcome.message}\n${outcome.shown ?? ""}`;
  for (const word of [REPLAY_KEY, ...meaning.never_mentions ?? []]) {
    if (shown.includes(word)) problems.push(`"${word.slice(0, 40)}" is shown: ${shown.slice(0, 300)}`);
  }
  if (meaning.partial && outcome.partial) problems.push(...compareBlocks(meaning.partial, outcome.partial));
  return problems;
}

/** Blank text is ignored on both sides, and so is what the case cannot name: vendor blocks. */
function counts({ type, text }: ExpectedBlock | OutcomeBlock): boolean {
  return type === "text" ? (text ?? "").trim() !== "" : type === "thinking" || type === "tool_use";
}

function compareBlocks(wanted: ExpectedBlock[], got: OutcomeBlock[]): string[] {
  const [want, have] = [wanted.filter(counts), got.filter(counts)];
  if (want.length !== have.length) {
    return [`${have.length} blocks (${have.map(({ type }) => type).join(" ")}), wanted ${want.length}`];
  }
  return want.flatMap((block, i) => compareBlock(block, have[i]!).map((problem) => `block ${i}: ${problem}`));
}

function compareBlock(want: ExpectedBlock, have: OutcomeBlock): string[] {
  if (want.type !== have.type) return [`is ${have.type}, wanted ${want.type}`];
  const problems: string[] = [];
  const differ = (what: string, wanted: unknown, got: unknown) =>
    problems.push(`${what} is ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
  for (const field of ["text", "signature", "redacted", "data", "name"] as const) {
    if (want[field] !== undefined && want[field] !== have[field]) differ(field, want[field], have[field]);
  }
  if (want.id !== undefined && (want.id === "*" ? !have.id : want.id !== have.id)) differ("id", want.id, have.id);
  if (want.extra !== undefined && !equal(want.extra, have.extra)) differ("extra", want.extra, have.extra);
  const raw = typeof have.input === "string" ? have.input : JSON.stringify(have.input);
  if (want.invalid_input !== undefined) {
    if (!have.invalid) problems.push("the input is taken for valid");
    if (raw !== want.invalid_input) differ("the raw input", want.invalid_input, raw);
  } else if (want.input_json !== undefined) {
    if (have.invalid) problems.push("the input is taken for invalid");
    if (raw !== want.input_json) differ("the raw input", want.input_json, raw);
  } else if (want.input !== undefined) {
    if (have.invalid) problems.push("the input is taken for invalid");
    else if (!equal(parsed(raw), want.input)) differ("the input", want.input, raw);
  }
  return problems;
}

function parsed(raw: string | undefined): unknown {
  try {
    return JSON.parse(raw ?? "");
  } catch {
    return raw;
  }
}
