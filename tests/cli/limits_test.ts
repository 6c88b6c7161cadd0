/**
 * Every bound can be set by a flag, and the error of each names it, its value and the option.
 * @module
 */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { limit, LIMIT_NAMES } from "../../src/cli/values.ts";
import { ATTACKS } from "../hostile/attacks.ts";
import { HostileEndpoint } from "../hostile/endpoint.ts";
import { pawlWith } from "./pawl.ts";

const TOOLS = new URL("../hostile/tools.ts", import.meta.url).pathname;

/** A tool that takes longer than it may. */
const SLOW = `export default {
  name: "lookup",
  description: "Waits",
  inputSchema: { type: "object", properties: {} },
  pure: true,
  run: () => new Promise((resolve) => setTimeout(resolve, 2000, "late")),
};`;

interface Bound {
  flags: string[];
  attack: string;
  /** On standard error. */
  says: RegExp;
  exit: number;
  /** Requests, if that is what the bound is about. */
  requests?: number;
  /** What the last request must hold, if the bound is about what is sent. */
  sends?: RegExp;
}

/** A `--limit`, written as a user would. */
function bound(setting: string, attack: string, says: RegExp, exit = 5, more: Partial<Bound> = {}): Bound {
  return { flags: ["--limit", setting], attack, says, exit, ...more };
}

const BOUNDS: Record<string, Bound> = {
  maxResponseBytes: bound("maxResponseBytes=1MiB", "endless-deltas", /--limit maxResponseBytes \(1048576\)/),
  maxJsonBytes: bound("maxJsonBytes=64", "json-for-stream", /--limit maxJsonBytes \(64\)/),
  maxEventBytes: bound("maxEventBytes=64KiB", "endless-no-newline", /--limit maxEventBytes \(65536\)/),
  // No more is read than this: of the text that the endpoint gives there is nothing.
  maxErrorBytes: bound("maxErrorBytes=9", "escape-error-short", /^error: http_status: (?!.*safe)[^\n]*\n$/),
  maxBlocks: bound("maxBlocks=10", "million-blocks", /--limit maxBlocks \(10\)/),
  maxToolInputBytes: bound("maxToolInputBytes=1KiB", "endless-tool-args", /--limit maxToolInputBytes \(1024\)/),
  maxJsonDepth: bound("maxJsonDepth=5", "deep-json-args", /--limit maxJsonDepth \(5\)/),
  maxRetryDelayMs: bound(
    "maxRetryDelayMs=2s",
    "retry-after-huge",
    /999999999000 ms, .*--limit maxRetryDelayMs .*2000 ms/,
  ),
  headersTimeoutMs: bound("headersTimeoutMs=300ms", "stall-before-headers", /--limit headersTimeoutMs \(300\)/, 4),
  idleTimeoutMs: bound("idleTimeoutMs=300", "stall-mid-stream", /--limit idleTimeoutMs \(300\)/, 4),
  progressTimeoutMs: bound("progressTimeoutMs=0.3s", "endless-pings-slow", /--limit progressTimeoutMs \(300\)/, 4),
  totalTimeoutMs: bound("totalTimeoutMs=400ms", "endless-deltas-slow", /--limit totalTimeoutMs \(400\)/, 4),
  maxRepeats: bound("maxRepeats=2", "infinite-tool-loop", /no_progress: .*--limit maxRepeats \(2\)/, 7, {
    requests: 2,
  }),
  maxToolResultChars: bound("maxToolResultChars=2", "ok-tools", /^(?!error)/, 0, {
    sends: /characters cut/,
  }),
  toolTimeoutMs: bound("toolTimeoutMs=50ms", "ok-tools", /^(?!error)/, 0, { sends: /error: timed out after 50 ms/ }),
  deadlineMs: bound("deadlineMs=300ms", "stall-before-headers", /budget: .*--timeout \(300 ms\)/, 7),
};

const FLAGS: Record<string, Bound> = {
  "--max-turns": {
    flags: ["--max-turns", "2"],
    attack: "infinite-tool-loop",
    says: /--max-turns \(2\)/,
    exit: 7,
    requests: 2,
  },
  "--max-total-tokens": {
    flags: ["--max-total-tokens", "5"],
    attack: "infinite-tool-loop",
    says: /budget: .*--max-total-tokens \(5\)/,
    exit: 7,
    requests: 1,
  },
  "--max-tokens": { flags: ["--max-tokens", "7"], attack: "length-with-tool", says: /--max-tokens \(7\)/, exit: 6 },
  "--max-retries": {
    flags: ["--max-retries", "0"],
    attack: "500-forever",
    says: /HTTP status 500/,
    exit: 5,
    requests: 1,
  },
  "--timeout": {
    flags: ["--timeout", "300ms"],
    attack: "stall-mid-stream",
    says: /budget: .*--timeout \(300 ms\)/,
    exit: 7,
  },
};

async function hold(dialect: string, { flags, attack, says, exit, requests, sends }: Bound): Promise<void> {
  await using endpoint = new HostileEndpoint(ATTACKS);
  const slow = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(slow, SLOW);
    const tools = flags.some((flag) => flag.startsWith("toolTimeoutMs")) ? slow : TOOLS;
    const permissions = [`--allow-net=${endpoint.host}`, `--allow-read=${tools}`];
    const base = ["-d", dialect, "--base-url", endpoint.baseUrl(attack, dialect), "-m", "hostile"];
    const args = ["run", ...base, "--tools-file", tools, ...flags, "hello"];
    const { code, stderr } = await pawlWith(permissions, args);
    assertEquals(code, exit, stderr);
    assertMatch(stderr, says);
    if (requests !== undefined) assertEquals(endpoint.seen.length, requests);
    if (sends) assertMatch(JSON.stringify(endpoint.seen.at(-1)!.body), sends);
  } finally {
    await Deno.remove(slow);
  }
}

Deno.test("--limit knows every bound of the library", () => {
  assertEquals(Object.keys(BOUNDS).sort(), [...LIMIT_NAMES].sort());
  for (const name of LIMIT_NAMES) {
    assertEquals(limit(`${name}=12345${name.endsWith("Ms") ? "ms" : ""}`), [name, 12345]);
    for (const bad of ["0", "-1", "", "x", "1e3", "1.5"]) assertThrows(() => limit(`${name}=${bad}`), Error, name);
  }
});

for (const [i, [name, what]] of Object.entries({ ...BOUNDS, ...FLAGS }).entries()) {
  const dialect = ["openai_chat", "anthropic_messages"][i % 2]!;
  Deno.test(`${name} is set by ${what.flags.join(" ")}, and told when it is met`, async () => {
    await hold(dialect, what);
  });
}

Deno.test("a bound that is no number above 0 is a usage error that names it", async () => {
  const { code, stderr } = await pawlWith([], ["run", "-m", "x", "--limit", "maxBlocks=0", "hello"]);
  assertEquals(code, 2);
  assert(stderr.startsWith("error: usage: ") && stderr.includes("maxBlocks an integer above 0"), stderr);
});
