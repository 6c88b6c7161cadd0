/**
 * Wire cases: replayable replies of servers, each with its one right meaning. The format is told in `tests/testdata/wire/README.md`.
 * @module
 */

/** One step of a response body. A string is sent as UTF-8. */
export type Piece =
  | string
  | { b64: string }
  | { repeat: string; times: number }
  | { delay_ms: number }
  | { abort: true };

/** A reply as it stands in a case. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** `chunked` unless said otherwise; `close` ends the body by closing the connection. */
  framing?: "chunked" | "close";
  chunks: Piece[];
}

/** A block that a case expects; only what is there is compared. */
export interface ExpectedBlock {
  type: "text" | "thinking" | "tool_use";
  text?: string;
  signature?: string;
  redacted?: true;
  data?: string;
  /** `*`: any non-empty string. */
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  /** The raw argument text must survive. */
  input_json?: string;
  /** The raw argument text is no JSON object: the call must not run. */
  invalid_input?: string;
  /** An opaque vendor field of the call. */
  extra?: unknown;
}

/** What a reply means. */
export type Meaning =
  | { outcome: "message"; stop: string; blocks: ExpectedBlock[]; usage?: { input?: number; output?: number } }
  | {
    outcome: "error";
    kind: string;
    status?: number;
    retryable?: boolean;
    retry_after_ms?: number;
    mentions?: string[];
    never_mentions?: string[];
    partial?: ExpectedBlock[];
  };

/** A transcript with its meaning. */
export interface WireCase {
  id: string;
  title: string;
  dialect: "openai" | "anthropic";
  quirk: string[];
  source: string;
  note?: string;
  /** What the client under test must be configured with. */
  options?: { max_response_bytes?: number; idle_timeout_ms?: number };
  /** The client must be finished by then. */
  max_ms?: number;
  /** The ids of the calls must differ. */
  distinct_ids?: boolean;
  response: Reply;
  expect: Meaning;
  /** Other acceptable meanings; `expect` is the one that loses no data. */
  alternatives?: Meaning[];
}

/** A turn script for the tool loop, with checks on the requests that the client sends. */
export interface Sequence {
  name: string;
  /** Ids of the cases that answer, in order. */
  cases: string[];
  expect: string;
  requests: number;
  /** Request number from 1, path in its body, and the value or a pattern. */
  checks: [number, string, unknown][];
}

/** How a reply is cut into network chunks. */
export type Chunking = "recorded" | "whole" | "bytes" | "random";

/** Every {@linkcode Chunking}. */
export const CHUNKINGS: readonly Chunking[] = ["recorded", "whole", "bytes", "random"];

/** A step of a body with its bytes made. */
export type Step = Uint8Array | { delay_ms: number } | { abort: true };

/** Reads a JSON-lines file beside the tests. */
export function readLines<T>(path: string): T[] {
  const text = Deno.readTextFileSync(new URL(`../testdata/${path}`, import.meta.url));
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}

/** The 204 cases of both dialects. */
export function readCases(): WireCase[] {
  return [...readLines<WireCase>("wire/openai.jsonl"), ...readLines<WireCase>("wire/anthropic.jsonl")];
}

/** A generator of numbers in [0, 1), the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A seed of 32 bits for a text, so that each case has random cuts of its own. */
export function seedOf(text: string, seed: number): number {
  let hash = seed ^ 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

function bytesOf(piece: Exclude<Piece, { delay_ms: number } | { abort: true }>): Uint8Array {
  if (typeof piece === "string") return new TextEncoder().encode(piece);
  if ("repeat" in piece) return new TextEncoder().encode(piece.repeat.repeat(piece.times));
  return Uint8Array.from(atob(piece.b64), (c) => c.charCodeAt(0));
}

function concat(parts: Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function cut(bytes: Uint8Array, chunking: Chunking, random: () => number): Uint8Array[] {
  if (chunking === "whole") return [bytes];
  const cuts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    // Mostly tiny pieces with some large ones: both lone bytes and many events at once must come up.
    const size = chunking === "bytes" ? 1 : Math.ceil(random() ** 4 * 400);
    cuts.push(bytes.subarray(at, at + Math.max(size, 1)));
    at += Math.max(size, 1);
  }
  return cuts;
}

/**
 * The steps of a body under a chunking. Delays and aborts stay where they are: what is cut anew is what lies between them.
 *
 * @param random Used by `random` only.
 */
export function steps(pieces: readonly Piece[], chunking: Chunking, random: () => number = Math.random): Step[] {
  const out: Step[] = [];
  let run: Uint8Array[] = [];
  const flush = () => {
    for (const part of chunking === "recorded" ? run : cut(concat(run), chunking, random)) {
      // A chunk of no bytes would end a chunked body.
      if (part.length > 0) out.push(part);
    }
    run = [];
  };
  for (const piece of pieces) {
    if (typeof piece === "object" && ("delay_ms" in piece || "abort" in piece)) {
      flush();
      out.push(piece);
    } else run.push(bytesOf(piece));
  }
  flush();
  return out;
}
