/**
 * `deno task demo`: the command line at work, without a key, a network or a model. It starts an endpoint of our own on
 * 127.0.0.1 and runs a chat, a task with a tool and a probe against it in both dialects, each as a process of its own
 * with exactly the permissions that it needs.
 *
 * @module
 */
import { startEndpoint } from "../tests/support/endpoint.ts";
import { activeMapFlags } from "./deps.ts";

const ROOT = new URL("../", import.meta.url);

/** Slow enough to see the words arrive. */
const PAUSE_MS = 10;

interface Act {
  title: string;
  /** What it needs beside the endpoint. */
  permissions: string[];
  args: string[];
  /** Lines on its standard input. */
  input?: string;
  /** What must be on its standard output. */
  shows: string;
}

const ACTS: Act[] = [
  {
    title: "A chat: one line in, thinking and answer out",
    permissions: [],
    args: ["chat"],
    input: "Hello, who are you?\nAnd what did I say first?\n",
    shows: "what did I say first?",
  },
  {
    title: "A task: the model calls read_file on a real file",
    permissions: ["--allow-read=."],
    args: ["run", "Read CHANGELOG.md and tell me how it begins", "-t", "read_file", "--usage"],
    shows: "# Changelog",
  },
  { title: "A probe: what works at this endpoint", permissions: [], args: ["probe"], shows: "✓ tool call" },
];

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

async function play(
  { title, permissions, args, input, shows }: Act,
  net: string,
  endpoint: string[],
): Promise<boolean> {
  const flags = activeMapFlags().map((flag) => flag.replace(ROOT.pathname, ""));
  const line = ["run", ...flags, `--allow-net=${net}`, ...permissions, "cli.ts", ...args, ...endpoint];
  const typed = input === undefined ? "" : `printf ${quoted(input.replaceAll("\n", "\\n"))} | `;
  console.log(`\n— ${title}\n$ ${typed}deno ${line.map(quoted).join(" ")}`);
  const stdin = input === undefined ? "null" : "piped";
  const child = new Deno.Command(Deno.execPath(), { args: line, cwd: ROOT, stdin, stdout: "piped" }).spawn();
  if (input !== undefined) await ReadableStream.from([new TextEncoder().encode(input)]).pipeTo(child.stdin);
  const [seen, kept] = child.stdout.tee();
  const [shown] = await Promise.all([
    new Response(kept).text(),
    seen.pipeTo(Deno.stdout.writable, { preventClose: true }),
  ]);
  const { code } = await child.status;
  if (code !== 0) console.log(`(exit status ${code})`);
  return code === 0 && shown.includes(shows);
}

const endpoint = startEndpoint({ pauseMs: PAUSE_MS });
const failed: string[] = [];
for (const [dialect, path] of [["openai_chat", "/v1"], ["anthropic_messages", ""]] as const) {
  console.log(`\n=== ${dialect} ===`);
  for (const act of ACTS) {
    const worked = await play(act, endpoint.host, ["-d", dialect, "--base-url", endpoint.url + path, "-m", "scripted"]);
    if (!worked) failed.push(`${dialect}: ${act.title}`);
  }
}
await endpoint.close();
console.log(failed.length === 0 ? "\nAll of it worked." : `\nDid not work:\n${failed.join("\n")}`);
Deno.exit(failed.length === 0 ? 0 : 1);
