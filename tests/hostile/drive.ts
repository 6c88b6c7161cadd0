/**
 * Runs any client as a process of its own against an attack, and tells what is wrong about what can be seen from outside.
 * @module
 */
import { hidden } from "../../src/text/visible.ts";
import type { Writer } from "../support/writer.ts";
import { ATTACKS } from "./attacks.ts";
import { bombOf } from "./attacks_by_size.ts";
import { HostileEndpoint } from "./endpoint.ts";
import { CANARY, leakIn } from "./leaks.ts";
import { type Right, rightOf } from "./right.ts";

/** A client: its command line, with `{base}`, `{host}`, `{dialect}` and `{attack}` in it. The key is in its environment, as `CANARY`. */
export interface Client {
  name: string;
  command: readonly string[];
}

/** What a client did. */
export interface Row {
  client: string;
  attack: string;
  dialect: string;
  /** Everything that is wrong; empty: it held. */
  wrong: string[];
  ms: number;
  /** Of the process and its children, at their largest; absent where the system does not tell: it has no `/proc`. */
  peakMib: number | undefined;
  requests: number;
  sentMib: number;
  exit: number;
  stdout: string;
  stderr: string;
}

const MIB = 1024 * 1024;
/** What the kernel takes in that a client never reads. */
const SLACK_MIB = 12;
/** A process that is not over by then is ended. */
export const MAX_SECONDS = 15;
/** Growth over the peak of a run without an attack. */
export const MAX_GROWTH_MIB = 96;
const KILL_MIB = 2048;
/** A process without an attack is over in less than 100 ms. */
const LOOK_MS = 10;
const MAX_OUTPUT = 8 * MIB;

/** How much more of an attack a process is given than a test. */
const SCALE: Record<string, number> = {
  "gzip-bomb": 256,
  "deflate-bomb": 256,
  "br-bomb": 256,
  "zstd-bomb": 1024,
  "huge-event": 256,
  "many-tiny-writes": 16,
};

/** Makes what takes a while, so that no client waits for it. */
export function prepare(attacks: readonly string[]): void {
  for (const encoding of ["gzip", "deflate", "br", "zstd"]) {
    const attack = `${encoding}-bomb`;
    if (attacks.includes(attack)) bombOf(encoding, SCALE[attack]!);
  }
}

/** Runs a client against an attack. */
export async function drive({ name, command }: Client, attack: string, { dialect }: Writer): Promise<Row> {
  await using endpoint = new HostileEndpoint(ATTACKS, 512 * MIB);
  const scaled = attack in SCALE ? `${attack};${SCALE[attack]}` : attack;
  const base = endpoint.baseUrl(scaled, dialect.name);
  const values: Record<string, string> = { base, host: endpoint.host, dialect: dialect.name, attack };
  const [program = "", ...args] = command.map((word) => word.replace(/\{(\w+)\}/g, (all, key) => values[key] ?? all));
  const began = performance.now();
  const child = new Deno.Command(program, {
    args,
    env: { CANARY, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let peakMib = 0, isKilled = false;
  const look = setInterval(() => {
    const pids = descendants(child.pid);
    peakMib = Math.max(peakMib, pids.reduce((sum, pid) => sum + highestMib(pid), 0));
    if (isKilled || (performance.now() - began < MAX_SECONDS * 1000 && peakMib < KILL_MIB)) return;
    isKilled = true;
    pids.reverse().forEach(kill);
  }, LOOK_MS);
  const [stdout, stderr, status] = await Promise.all([textOf(child.stdout), textOf(child.stderr), child.status]);
  clearInterval(look);
  const ms = Math.round(performance.now() - began);
  const own = endpoint.seen.filter(({ elsewhere }) => !elsewhere);
  const row: Row = {
    client: name,
    attack,
    dialect: dialect.name,
    wrong: [],
    ms,
    peakMib: peakMib === 0 ? undefined : Math.round(peakMib),
    requests: own.length,
    sentMib: own.reduce((sum, { sent }) => sum + sent, 0) / MIB,
    exit: status.code,
    stdout,
    stderr,
  };
  const others = endpoint.seen.filter(({ elsewhere }) => elsewhere);
  const credentials = others.map(({ headers }) => JSON.stringify(headers)).join();
  if (isKilled) row.wrong.push(peakMib < KILL_MIB ? `not over in ${MAX_SECONDS} s` : `${row.peakMib} MiB`);
  else judge(row, rightOf(attack, dialect.name));
  if (others.length > 0) {
    row.wrong.push(`the conversation went to another origin${leakIn(credentials) ? " with the key" : ""}`);
  }
  if (own.slice(1).some(({ headers }) => "cookie" in headers)) row.wrong.push("the cookie was sent back");
  return row;
}

function judge(row: Row, right: Right): void {
  const { wrong, stdout, stderr, exit } = row;
  const code = /^error: (\w+):/m.exec(stderr)?.[1];
  if (right.codes) {
    if (exit === 0) wrong.push(`success was told: ${JSON.stringify(stdout.slice(0, 60))}`);
    if (code !== undefined && !(right.codes as readonly string[]).includes(code)) {
      wrong.push(`${code}, not ${right.codes.join(" or ")}`);
    }
  } else if (exit !== 0) wrong.push(`a valid reply failed: ${stderr.slice(0, 120)}`);
  else {
    const text = stdout.trim();
    const isRight = typeof right.text === "string" ? text === right.text : right.text!.test(text);
    if (!isRight) wrong.push(`another answer: ${JSON.stringify(text.slice(0, 60))}`);
  }
  if (row.requests > right.requests) wrong.push(`${row.requests} requests, not ${right.requests}`);
  if (row.sentMib > (right.reads / MIB + SLACK_MIB) * right.requests) wrong.push(`took ${Math.round(row.sentMib)} MiB`);
  if (leakIn(stdout + stderr) !== undefined) wrong.push("a part of the key was printed");
  // Standard output is a pipe, and exact; what is told about it is not.
  if (hidden().test(stderr)) wrong.push("raw control characters on standard error");
  if (/GHOST|alert\(1\)|stack trace/.test(stdout + stderr)) wrong.push("what must not be shown was shown");
  if (/^\s+at .*:\d+:\d+\)?$/m.test(stderr)) wrong.push("a stack trace was printed");
}

/**
 * Counts a growth from the peak of the same client without an attack.
 *
 * @returns MiB, or undefined if one of the peaks is not known
 */
export function growthMib(rows: readonly Row[], { client, dialect, peakMib }: Row): number | undefined {
  const calm = rows.find((row) => row.attack === "ok" && row.client === client && row.dialect === dialect);
  return peakMib === undefined || calm?.peakMib === undefined ? undefined : peakMib - calm.peakMib;
}

async function textOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const kept: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const piece of stream) {
    length += piece.length;
    if (length < MAX_OUTPUT) kept.push(piece);
  }
  return await new Blob(kept).text();
}

function descendants(pid: number): number[] {
  const children = proc(`${pid}/task/${pid}/children`).trim().split(/\s+/).filter(Boolean);
  return [pid, ...children.flatMap((child) => descendants(Number(child)))];
}

/** The kernel keeps the highest figure, so that no peak is missed between two looks. */
function highestMib(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(proc(`${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Deno lets nobody but `--allow-all` read it: whoever has less must hear of it, and not take silence for no memory. */
function proc(path: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${path}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    // The process has ended, or this system has no such files.
    return "";
  }
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
