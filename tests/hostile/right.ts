/**
 * What a right client does against each attack: how it ends, after how many requests and runs of its one tool.
 * @module
 */
import type { PawlErrorCode } from "@pawl/pawl";

/** The bounds that a client under attack is given, so that a run takes minutes: sizes in bytes, clocks in milliseconds. */
export const LIMITS = {
  maxResponseBytes: 2 * 1024 * 1024,
  maxJsonBytes: 1024 * 1024,
  maxEventBytes: 256 * 1024,
  maxErrorBytes: 8 * 1024,
  maxBlocks: 256,
  maxToolInputBytes: 128 * 1024,
  maxJsonDepth: 64,
  maxRetryDelayMs: 3000,
  headersTimeoutMs: 2000,
  idleTimeoutMs: 2000,
  progressTimeoutMs: 4000,
  totalTimeoutMs: 8000,
};
/** Replies of one run. */
export const MAX_ITERATIONS = 8;
/** The tool that a client offers. */
export const TOOL = "lookup";

/** A bound in time. */
export type Clock = "headersTimeoutMs" | "idleTimeoutMs" | "progressTimeoutMs" | "totalTimeoutMs";

/** How a client must end. */
export interface Right {
  /** Codes of which the error has one; without, there must be an answer. */
  codes?: readonly PawlErrorCode[];
  /** The answer. */
  text?: string | RegExp;
  /** Requests, exactly. */
  requests: number;
  /** Runs of the tool, exactly. */
  runs: number;
  /** In the error's text. */
  says?: RegExp;
  /** The clock that ends it. */
  clock?: Clock;
  /** Bytes of the reply that may be read; the bound of a whole reply unless given. */
  reads: number;
}

function fails(codes: PawlErrorCode | PawlErrorCode[], more: Partial<Right> = {}): Right {
  return { codes: [codes].flat(), requests: 1, runs: 0, reads: LIMITS.maxResponseBytes, ...more };
}

function answers(text: string | RegExp, more: Partial<Right> = {}): Right {
  return { text, requests: 1, runs: 0, reads: LIMITS.maxResponseBytes, ...more };
}

/** The loop ends at its bound; so many of the calls of each reply run. */
function loops(callsThatRun: number, more: Partial<Right> = {}): Right {
  return fails("iteration_limit", { requests: MAX_ITERATIONS, runs: MAX_ITERATIONS * callsThatRun, ...more });
}

function tooLarge(limit: keyof typeof LIMITS, reads: number = LIMITS[limit]): Right {
  return fails("response_too_large", { says: new RegExp(`limits\\.${limit} \\(${LIMITS[limit]}\\)`), reads });
}

function late(clock: Clock): Right {
  return fails("timeout", { clock, says: new RegExp(`limits\\.${clock} \\(\\d+\\)`) });
}

/** The status is told, and of an error's body no more is read than the bound. */
function refused(status: number, more: Partial<Right> = {}): Right {
  return fails("http_status", { says: new RegExp(`HTTP status ${status}`), reads: LIMITS.maxErrorBytes, ...more });
}

const REDIRECTED = fails("redirect", { says: /HTTP status 307/, reads: 0 });
const TWICE = { requests: 2, runs: 1 };
const THRICE = { requests: 3 };

/** For each attack; where the protocols differ, first for `openai_chat`, then for `anthropic_messages`. */
export const RIGHT: Record<string, Right | [openAi: Right, anthropic: Right]> = {
  "ok": answers("all good"),
  "ok-tools": answers("tool done", TWICE),
  "ok-odd-framing": answers("all good €"),
  "sse-as-json": answers("all good"),
  "json-for-stream": answers("all good"),
  "status-weird": answers("all good"),
  "escape-tool": answers("tool done", TWICE),
  "set-cookie": answers("tool done", TWICE),
  "endless-no-newline": tooLarge("maxEventBytes"),
  "endless-comments": tooLarge("maxResponseBytes"),
  "endless-comments-slow": late("progressTimeoutMs"),
  "endless-pings": tooLarge("maxResponseBytes"),
  "endless-pings-slow": late("progressTimeoutMs"),
  "endless-deltas": tooLarge("maxResponseBytes"),
  "endless-deltas-slow": late("totalTimeoutMs"),
  "endless-empty-deltas": tooLarge("maxResponseBytes"),
  "endless-empty-deltas-slow": late("progressTimeoutMs"),
  "endless-data-lines": tooLarge("maxEventBytes"),
  "endless-error-body": refused(500, THRICE),
  "endless-thinking": tooLarge("maxResponseBytes"),
  "endless-tool-args": tooLarge("maxToolInputBytes", LIMITS.maxToolInputBytes * 2),
  "events-after-done": answers("the answer"),
  "gzip-bomb": tooLarge("maxEventBytes"),
  "deflate-bomb": fails("malformed_stream", { says: /content-encoding is "?deflate/, reads: 0 }),
  "br-bomb": tooLarge("maxEventBytes"),
  "zstd-bomb": fails("malformed_stream", { says: /content-encoding is "?zstd/, reads: 0 }),
  "encoding-lie": fails("malformed_stream"),
  "huge-event": tooLarge("maxEventBytes"),
  "million-blocks": tooLarge("maxBlocks", 512 * 1024),
  "sparse-index": fails("malformed_stream"),
  "sparse-index-integers": [answers("tool done", { requests: 2, runs: 4 }), answers("xxxx")],
  "10k-tool-calls": tooLarge("maxBlocks", 512 * 1024),
  "33-tool-calls": fails("iteration_limit", { says: /there are 33/ }),
  "infinite-tool-loop": loops(1),
  "duplicate-ids": loops(3),
  "deep-json-args": fails("response_too_large", { says: /limits\.maxJsonDepth \(64\)/ }),
  "deep-json-event": fails("malformed_stream"),
  "proto-pollution-args": loops(1),
  "tool-name-injection": loops(0),
  "tool-without-name": fails("unsupported_tool_call"),
  "bad-tool-args": loops(1),
  "usage-lies": answers("all good"),
  "length-with-tool": fails("output_limit"),
  "non-string-fields": fails("malformed_stream"),
  "non-object-events": fails("malformed_stream"),
  "out-of-order": [loops(2), fails(["unsupported_tool_call", "malformed_stream"])],
  "think-redos": fails("empty_reply"),
  "json-redos": answers(/^(?:{"a":){150000}$/),
  "escape-injection": answers(/^safe-start [^]* safe-end$/),
  "many-tiny-writes": answers(/^A+$/),
  "stall-before-headers": late("headersTimeoutMs"),
  "slow-drip": late("headersTimeoutMs"),
  "slow-drip-body": late("progressTimeoutMs"),
  "stall-mid-stream": late("idleTimeoutMs"),
  "stall-after-done": answers("complete"),
  "no-response": fails("unreachable", THRICE),
  "reset-before-headers": fails("unreachable", THRICE),
  "reset-mid-stream": fails("truncated"),
  "early-close": fails("truncated"),
  "missing-done": fails("truncated"),
  "cut-tool-call": fails("truncated"),
  "empty-200": fails("truncated"),
  "content-length-lie": fails("truncated"),
  "content-length-lie-long": fails(["truncated", "malformed_stream"]),
  "truncated-utf8": fails("truncated"),
  "invalid-utf8": answers(/^\ufffd+\($/),
  "lone-surrogates": answers("\u{1f600} and \ufffd"),
  "garbage-bytes": fails("truncated"),
  "garbage-http": fails("unreachable", THRICE),
  "header-bomb": fails("unreachable", THRICE),
  // The runtime swallows it; only time bounds it.
  "informational-flood": { ...late("headersTimeoutMs"), reads: Infinity },
  "wrong-content-type": fails("malformed_stream", { says: /text\/html/ }),
  "redirect-cross-origin": REDIRECTED,
  "redirect-cross-host": REDIRECTED,
  "redirect-same-origin": REDIRECTED,
  "redirect-loop": REDIRECTED,
  "redirect-file": REDIRECTED,
  "key-echo": refused(401),
  "key-echo-b64": refused(401),
  "key-echo-url": refused(403),
  "key-echo-half": refused(401),
  "key-echo-400": refused(400),
  "key-echo-400-b64": refused(400),
  "key-echo-400-url": refused(422),
  "key-echo-400-half": refused(404),
  "key-echo-400-spaced": refused(409, THRICE),
  "key-echo-stream": fails("backend"),
  "error-in-stream": fails("backend"),
  "html-500": refused(500, THRICE),
  "escape-error": refused(400),
  "escape-error-short": refused(400),
  "retry-after-huge": refused(429, { says: /asks to wait 999999999000 ms/ }),
  "429-forever": refused(429, THRICE),
  "500-forever": refused(500, THRICE),
  "auth-challenge": refused(401),
};

/** The row of an attack for a dialect. */
export function rightOf(attack: string, dialect: string): Right {
  const right = RIGHT[attack]!;
  return Array.isArray(right) ? right[dialect === "openai_chat" ? 0 : 1]! : right;
}
