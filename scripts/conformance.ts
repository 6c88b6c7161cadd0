/**
 * `deno task conformance`: holds pawl, or any other client, against the wire cases and prints one table.
 * @module
 */
import { ownAnthropic } from "../tests/conformance/own_anthropic.ts";
import { ownFound } from "../tests/conformance/own_found.ts";
import { ownMore } from "../tests/conformance/own_more.ts";
import { ownOpenAi } from "../tests/conformance/own_openai.ts";
import { ownOpenAiCalls } from "../tests/conformance/own_openai_calls.ts";
import { type Client, commandClient, pawlClient, runConformance, table } from "../tests/conformance/runner.ts";
import { byPath, startReplayServer } from "../tests/support/replay_server.ts";
import { type Chunking, CHUNKINGS, readCases, type WireCase } from "../tests/support/wire_case.ts";

const HELP = `deno task conformance [OPTIONS] [--command PROGRAM ARGS…]

Replays transcripts of servers, each with its one right meaning, and tells which of them the client reads rightly.
Without --command the client is pawl.

  --cases wire|own|all   the 204 given cases, our own neighbours of them, or both; default wire
  --only TEXT            only cases whose id or quirks hold the text
  --chunking NAME        recorded, whole, bytes or random; default: each
  --seed N               of the random cuts; default: a new one, printed
  --sockets              everything over sockets; default: only what was recorded, the other cuts in memory
  --base-url URL         a replay server that runs already (--serve), for example behind a gateway
  --serve                only serve the cases, until interrupted
  --port N               for --serve; default: a free one
  --list                 print the cases as JSON lines and end
  --command PROGRAM …    another client; all that follows belongs to it

Serving. A base URL alone chooses what is replayed: ORIGIN/CHUNKING/CASE-ID/v1 for OpenAI, to which a client appends
/chat/completions; ORIGIN/CHUNKING/CASE-ID for Anthropic, to which it appends /v1/messages.

A command gets one JSON object a line on standard input for each case:
  {"dialect":"openai"|"anthropic","base_url","api_key","model","prompt","options":{"max_response_bytes"?,"idle_timeout_ms"?}}
It makes one streamed request without retries and answers with one JSON object a line on standard output, in order:
  {"outcome":"message","stop","blocks":[{"type","text"?,"signature"?,"redacted"?,"data"?,"id"?,"name"?,"input"?,"invalid"?,
   "extra"?}],"usage"?:{"input"?,"output"?}}
  {"outcome":"error","kind","status"?,"retryable"?,"retry_after_ms"?,"message","shown"?,"partial"?:[blocks]}
stop: end_turn, tool_use, max_tokens, stop_sequence, refusal, pause_turn, other. kind: http, stream, protocol, truncated,
too_large, not_sse, timeout, or a list of them. input: raw JSON text or the parsed object. shown: all that a log would hold.
tests/testdata/wire/README.md tells what the words mean and how outcomes are compared.
`;

interface Settings {
  set: string;
  only: string;
  chunkings: readonly Chunking[];
  seed: number;
  sockets: boolean;
  baseUrl?: string;
  serve: boolean;
  port: number;
  list: boolean;
  command: string[];
}

function settingsOf(args: readonly string[]): Settings {
  const rest = [...args];
  const settings: Settings = {
    set: "wire",
    only: "",
    chunkings: CHUNKINGS,
    seed: Math.floor(Math.random() * 2 ** 32),
    sockets: false,
    serve: false,
    port: 0,
    list: false,
    command: [],
  };
  const value = (flag: string) => rest.shift() ?? fail(`${flag} needs a value`);
  for (let arg; (arg = rest.shift()) !== undefined;) {
    const [flag, joined] = arg.split(/=(.*)/s, 2) as [string, string?];
    if (joined !== undefined) rest.unshift(joined);
    if (flag === "--cases") settings.set = value(flag);
    else if (flag === "--only") settings.only = value(flag);
    else if (flag === "--seed") settings.seed = Number(value(flag));
    else if (flag === "--port") settings.port = Number(value(flag));
    else if (flag === "--base-url") settings.baseUrl = value(flag).replace(/\/+$/, "");
    else if (flag === "--sockets") settings.sockets = true;
    else if (flag === "--serve") settings.serve = true;
    else if (flag === "--list") settings.list = true;
    else if (flag === "--command") settings.command = rest.splice(0);
    else if (flag === "--chunking") {
      const name = value(flag) as Chunking;
      if (!CHUNKINGS.includes(name)) fail(`--chunking is one of ${CHUNKINGS.join(", ")}: current value is "${name}"`);
      settings.chunkings = [name];
    } else if (flag === "--help" || flag === "-h") {
      console.log(HELP);
      Deno.exit(0);
    } else fail(`there is no option "${flag}"`);
  }
  return settings;
}

function fail(why: string): never {
  console.error(`Cannot run the conformance cases: ${why} (--help tells the options)`);
  Deno.exit(2);
}

function casesOf({ set, only }: Settings): WireCase[] {
  const own = [...ownOpenAi, ...ownOpenAiCalls, ...ownAnthropic, ...ownMore, ...ownFound];
  const all = set === "wire" ? readCases() : set === "own" ? own : set === "all" ? [...readCases(), ...own] : undefined;
  return (all ?? fail(`--cases is wire, own or all: current value is "${set}"`))
    .filter(({ id, quirk }) => id.includes(only) || quirk.includes(only));
}

/** The options, as the words behind the script's name. */
export async function conformance(args: readonly string[]): Promise<number> {
  const settings = settingsOf(args);
  const { chunkings, seed, command, baseUrl } = settings;
  const cases = casesOf(settings);
  if (settings.list) {
    for (const wireCase of cases) console.log(JSON.stringify(wireCase));
    return 0;
  }
  await using server = startReplayServer(byPath(cases, seed), { port: settings.port });
  if (settings.serve) {
    console.log(`serving ${cases.length} cases, for example:`);
    for (const { dialect, id } of cases.slice(0, 1)) {
      console.log(`  ${server.origin}/recorded/${id}${dialect === "openai" ? "/v1" : ""}`);
    }
    await new Promise<void>((resolve) => Deno.addSignalListener("SIGINT", resolve));
    return 0;
  }
  const [program, ...programArgs] = command;
  await using driven = program === undefined ? undefined : commandClient(program, programArgs);
  const client: Client = driven ?? pawlClient(seed, settings.sockets || baseUrl !== undefined);
  console.log(`${cases.length} cases, ${chunkings.join(", ")}; seed ${seed}`);
  const rows = await runConformance({
    cases,
    chunkings,
    client,
    origin: baseUrl ?? server.origin,
    onFailure({ id, chunking, problems, falseSuccess }) {
      console.log(`${falseSuccess ? "FALSE SUCCESS" : "wrong"}  ${id} (${chunking}): ${problems[0]}`);
    },
  });
  console.log(table(rows));
  return rows.every(({ right, cases }) => right === cases) ? 0 : 1;
}

if (import.meta.main) Deno.exit(await conformance(Deno.args));
