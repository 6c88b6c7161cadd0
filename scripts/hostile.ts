/**
 * `deno task hostile`: a program of the library, the command line, or any other client as processes against a hostile endpoint.
 *
 * It runs with `-A`, since Deno lets nothing else read `/proc`, which is where the memory of a process is told. The clients
 * have the permissions of their command.
 *
 * @module
 */
import { WRITERS } from "../tests/support/writer.ts";
import { ATTACKS } from "../tests/hostile/attacks.ts";
import {
  type Client,
  drive,
  growthMib,
  MAX_GROWTH_MIB,
  MAX_SECONDS,
  prepare,
  type Row,
} from "../tests/hostile/drive.ts";
import { HostileEndpoint } from "../tests/hostile/endpoint.ts";
import { LIMITS, MAX_ITERATIONS, TOOL } from "../tests/hostile/right.ts";
import { activeMapFlags } from "./deps.ts";

const HELP = `deno task hostile [OPTIONS] [--command PROGRAM ARGS…]

Runs clients against ${
  Object.keys(ATTACKS).length
} attacks in two dialects, each as a process of its own, and tells which of them
ended as they must: in time, in memory, with the right kind of error, without a word of the key. Without --command the clients are a
program that uses the library, and the command line.

  --only TEXT            only attacks whose name holds the text
  --dialect NAME         openai_chat or anthropic_messages; default: both
  --client NAME          library or cli; default: both
  --jobs N               processes at a time; default 2
  --verbose              a line for each process
  --json FILE            a line of JSON for each process
  --list                 print what the attacks do, and end
  --serve                only serve the attacks, until interrupted
  --command PROGRAM …    another client; all that follows belongs to it

In the words of a command {base}, {dialect}, {host} and {attack} are replaced: {base} is http://127.0.0.1:PORT/ATTACK/v1 for
openai_chat, http://127.0.0.1:PORT/ATTACK for anthropic_messages. The key is in the environment, as CANARY. It asks for a streamed
reply to one prompt with one tool, "${TOOL}", prints the answer on standard output and exits with 0, or says what is wrong on standard
error and exits with another status. If it prints "error: CODE: …" with a code of pawl's, the code is held too. It should be given
these bounds, ${MAX_ITERATIONS} replies and 2 retries:
${Object.entries(LIMITS).map(([name, value]) => `  ${name} ${value}`).join("\n")}
A process is ended after ${MAX_SECONDS} s; its memory may grow by ${MAX_GROWTH_MIB} MiB.
`;

const ROOT = new URL("../", import.meta.url).pathname;

function ownClients(): Client[] {
  const deno = [Deno.execPath(), "run", "--no-prompt", "--no-check", ...activeMapFlags(), "--allow-net={host}"];
  const hostile = `${ROOT}tests/hostile`;
  const limits = Object.entries(LIMITS).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
  const cli = ["run", "-d", "{dialect}", "--base-url", "{base}", "-m", "hostile", "--api-key-env", "CANARY", ...limits];
  return [
    { name: "library", command: [...deno, "--allow-env=CANARY", `${hostile}/program.ts`, "{base}", "{dialect}"] },
    {
      name: "cli",
      command: [
        ...[...deno, "--allow-env=CANARY", `--allow-read=${hostile}/tools.ts`, `${ROOT}cli.ts`],
        ...[...cli, "--tools-file", `${hostile}/tools.ts`, "hello"],
      ],
    },
  ];
}

interface Settings {
  only: string;
  dialect: string;
  client: string;
  jobs: number;
  verbose: boolean;
  json?: string;
  list: boolean;
  serve: boolean;
  command?: string[];
}

function settingsOf(args: readonly string[]): Settings {
  const rest = [...args];
  const settings: Settings = { only: "", dialect: "", client: "", jobs: 2, verbose: false, list: false, serve: false };
  for (let flag; (flag = rest.shift()) !== undefined;) {
    const value = () => rest.shift() ?? fail(`${flag} needs a value`);
    if (flag === "--only") settings.only = value();
    else if (flag === "--dialect") settings.dialect = value();
    else if (flag === "--client") settings.client = value();
    else if (flag === "--jobs") settings.jobs = Number(value());
    else if (flag === "--json") settings.json = value();
    else if (flag === "--verbose") settings.verbose = true;
    else if (flag === "--list") settings.list = true;
    else if (flag === "--serve") settings.serve = true;
    else if (flag === "--command") settings.command = rest.splice(0);
    else if (flag === "--help" || flag === "-h") {
      console.log(HELP);
      Deno.exit(0);
    } else fail(`there is no option "${flag}"`);
  }
  return settings;
}

function fail(why: string): never {
  console.error(`Cannot run the attacks: ${why} (--help tells the options)`);
  Deno.exit(2);
}

async function serve(): Promise<void> {
  await using endpoint = new HostileEndpoint(ATTACKS);
  console.log(`${endpoint.baseUrl("ATTACK", "openai_chat")}   ${endpoint.baseUrl("ATTACK", "anthropic_messages")}`);
  await new Promise<void>((resolve) => Deno.addSignalListener("SIGINT", resolve));
}

/** The options, as the words behind the script's name; returns the exit status. */
export async function hostile(args: readonly string[]): Promise<number> {
  const { only, dialect, client, jobs, verbose, json, list, serve: isServing, command } = settingsOf(args);
  if (list) {
    for (const [name, { does }] of Object.entries(ATTACKS)) console.log(`${name.padEnd(28)} ${does}`);
    return 0;
  }
  if (isServing) return await serve().then(() => 0);
  const clients = command ? [{ name: "command", command }] : ownClients().filter(({ name }) => name.includes(client));
  const writers = WRITERS.filter(({ dialect: { name } }) => name.includes(dialect));
  // Without a run without an attack there is nothing that a growth could be counted from.
  const attacks = Object.keys(ATTACKS).filter((name) => name === "ok" || name.includes(only));
  const all = clients.flatMap((one) => writers.flatMap((writer) => attacks.map((attack) => ({ one, writer, attack }))));
  const rows: Row[] = [];
  prepare(attacks);
  const began = performance.now();
  async function work(pending: typeof all): Promise<void> {
    for (let next; (next = pending.shift()) !== undefined;) {
      const row = await drive(next.one, next.attack, next.writer);
      rows.push(row);
      const { wrong, client, attack, dialect, exit, ms, requests, sentMib, stderr, stdout } = row;
      const growth = growthMib(rows, row);
      if (growth !== undefined && growth > MAX_GROWTH_MIB) wrong.push(`memory grew by ${growth} MiB`);
      if (json !== undefined) Deno.writeTextFileSync(json, `${JSON.stringify({ ...row, growth })}\n`, { append: true });
      if (!verbose && wrong.length === 0) continue;
      const said = JSON.stringify((stderr || stdout).slice(0, 100));
      const figures = `exit ${exit}, ${ms} ms, ${mib(growth)}, ${requests} requests, ${sentMib.toFixed(2)} MiB sent`;
      console.log(
        `${wrong.length > 0 ? "WRONG" : "held "} ${client} ${dialect} ${attack}: ${
          wrong.join("; ") || said
        } (${figures})`,
      );
    }
  }
  // Each growth is counted from the run without an attack, so that one comes first.
  for (const pending of [all.filter(({ attack }) => attack === "ok"), all.filter(({ attack }) => attack !== "ok")]) {
    await Promise.all(Array.from({ length: jobs }, () => work(pending)));
  }
  console.log("\nclient    dialect             held        largest growth            slowest");
  for (const { name } of clients) {
    for (const { dialect } of writers) {
      const own = rows.filter((row) => row.client === name && row.dialect === dialect.name);
      const largest = most(own, (row) => growthMib(rows, row) ?? -Infinity), slowest = most(own, ({ ms }) => ms);
      const held = `${own.filter(({ wrong }) => wrong.length === 0).length} of ${own.length}`;
      const figures = [`${mib(growthMib(rows, largest))} ${largest.attack}`, `${slowest.ms} ms ${slowest.attack}`];
      console.log(
        [name.padEnd(9), dialect.name.padEnd(19), held.padEnd(11), figures[0]!.padEnd(25), figures[1]].join(" "),
      );
    }
  }
  console.log(`wall time ${Math.round((performance.now() - began) / 1000)} s`);
  return rows.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
}

function mib(growth: number | undefined): string {
  return growth === undefined ? "memory not measured" : `${growth < 0 ? "" : "+"}${growth} MiB`;
}

function most<T>(list: readonly T[], measure: (item: T) => number): T {
  return list.reduce((best, item) => measure(item) > measure(best) ? item : best);
}

if (import.meta.main) Deno.exit(await hostile(Deno.args));
