/**
 * The bench is a witness: whoever drops a character is not measured but told, and what is shown is what was measured.
 * @module
 */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { bench } from "../../scripts/bench.ts";
import { activeMapFlags } from "../../scripts/deps.ts";
import { CLIENTS, fingerprintOf, type Outcome } from "./contestants.ts";
import {
  chunksOf,
  type DialectName,
  eventsOf,
  expected,
  type Framing,
  keyOf,
  type Kind,
  type Subject,
} from "./corpus.ts";
import peer from "./peers/contestants/pawl.ts";
import peerParser from "./peers/parsers/pawl.ts";
import { median, summarize, type Workers } from "./pool.ts";
import { startServer } from "./server.ts";
import type { Command, Figures } from "./worker.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const DIALECTS: readonly DialectName[] = ["openai_chat", "anthropic_messages"];
const FRAMINGS: readonly Framing[] = ["event", "1k", "16k", "paced"];
/** Deltas, and KiB: enough that each framing cuts, but for the paced. */
const SIZES: Record<Kind, number> = { text: 150, thinking: 150, tool: 150, big: 20 };
const PACED_SIZE = 5;

const SUBJECTS: Subject[] = DIALECTS.flatMap((dialect) =>
  (["text", "thinking", "tool", "big"] as const).flatMap((kind) =>
    FRAMINGS.map((framing) => ({ dialect, kind, size: framing === "paced" ? PACED_SIZE : SIZES[kind], framing }))
  )
);

function hasCall({ kind }: Subject): boolean {
  return kind === "tool" || kind === "big";
}

Deno.test("chunksOf cuts each subject as its framing says, and changes nothing", async () => {
  for (const subject of SUBJECTS) {
    const chunks = chunksOf(subject), events = eventsOf(subject), { framing } = subject;
    assertEquals(await new Blob(chunks).text(), events.join(""), keyOf(subject));
    const lengths = chunks.slice(0, -1).map(({ length }) => length);
    if (framing === "event" || framing === "paced") assertEquals(chunks.length, events.length);
    else assertEquals(new Set(lengths), new Set([framing === "1k" ? 1024 : 16 * 1024]), keyOf(subject));
  }
});

Deno.test("every form of the product and every limit reads each subject whole", async () => {
  const server = startServer();
  try {
    for (const subject of SUBJECTS) {
      const tool = hasCall(subject);
      const job = { dialect: subject.dialect, baseUrl: `${server.origin}/${keyOf(subject)}`, tool };
      // An agent would run the tool and ask again, and be given the same call for ever.
      const names = Object.keys(CLIENTS).filter((name) => !(tool && name === "agent"));
      for (const [i, outcome] of (await Promise.all(names.map((name) => CLIENTS[name]!(job)))).entries()) {
        const name = names[i]!, what = `${name} ${keyOf(subject)}`;
        const isReading = name === "readOnly" || name === "plainFetch";
        assertEquals(outcome && fingerprintOf(outcome), isReading ? undefined : expected(subject), what);
        // Who joined deltas would have less to do; what the limit counts are events.
        if (outcome && !tool && name !== "readAndParse") assertEquals(outcome.deltas, subject.size, what);
      }
    }
  } finally {
    await server.close();
  }
});

Deno.test("every limit reads to the end of the body", async () => {
  const realFetch = globalThis.fetch;
  const chunks = chunksOf({ dialect: "openai_chat", kind: "text", size: 300, framing: "1k" });
  try {
    for (const name of ["readOnly", "readAndParse", "plainFetch"]) {
      let next = 0;
      const body = new ReadableStream({
        type: "bytes",
        pull(controller) {
          const chunk = chunks[next++];
          if (chunk) return controller.enqueue(chunk.slice());
          controller.close();
          controller.byobRequest?.respond(0);
        },
      });
      globalThis.fetch = () => Promise.resolve(new Response(body));
      await CLIENTS[name]!({ dialect: "openai_chat", baseUrl: "", tool: false });
      assertEquals(next, chunks.length + 1, name);
    }
  } finally {
    globalThis.fetch = realFetch;
  }
});

Deno.test("an outcome that lost, changed or moved a character has another fingerprint", () => {
  const whole: Outcome = { deltas: 3, thinking: "why", text: "the answer", input: '{"a":1}' };
  const damaged: Array<Partial<Outcome>> = [
    { text: "the answe" },
    { text: "the answes" },
    { text: "the naswer" },
    { thinking: "" },
    { thinking: "whyt", text: "he answer" },
    { thinking: whole.text, text: whole.thinking },
    { input: '{"a":2}' },
    { input: "" },
  ];
  for (const damage of damaged) assertNotEquals(fingerprintOf({ ...whole, ...damage }), fingerprintOf(whole));
  assertEquals(fingerprintOf({ ...whole, deltas: 1, input: { a: 1 } }), fingerprintOf(whole));
});

Deno.test("median is the middle, or between the two in the middle", () => {
  assertEquals([[3], [9, 1, 2], [4, 1, 3, 2]].map(median), [3, 2, 2.5]);
});

/** What a command took that nothing is known of. */
const NOTHING: Figures = { cpu: 1, wall: 1, before: 50, peak: 50, turns: [1] };

Deno.test("summarize takes middles, the highest memory, and the fingerprint that all rounds share", () => {
  const rounds: Figures[] = [
    { cpu: 5, wall: 9, before: 50, peak: 60, turns: [1, 20], fingerprint: "x" },
    { cpu: 1, wall: 7, before: 58, peak: 61, turns: [3, 10], fingerprint: "x" },
    { cpu: 2, wall: 8, before: 40, peak: 55, turns: [2, 60], fingerprint: "x" },
  ];
  const { rounds: cpus, ...summary } = summarize(rounds);
  assertEquals(summary, { cpu: 2, wall: 8, peak: 61, grown: 15, turn: 6.5, turns: [2, 20], fingerprint: "x" });
  assertEquals(cpus, [5, 1, 2]);
  assertNotEquals(summarize([...rounds, { ...NOTHING, turns: [1, 1], fingerprint: "y" }]).fingerprint, "x");
});

/** A pool without processes; a contestant that takes nothing has failed. */
function pretend(take: (contestant: string, command: Command) => Partial<Figures> | undefined): Workers {
  const failed = new Set<string>();
  return {
    failed,
    ask(contestant, command) {
      const figures = take(contestant, command);
      if (!figures) failed.add(contestant);
      return Promise.resolve(figures && { ...NOTHING, ...figures });
    },
    retire: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

interface Shown {
  status: number;
  lines: string[];
  json: {
    gates: Array<{ gate: string; figure?: number; met: boolean }>;
    rows: Array<{ what: string; contestant: string; summary: { cpu: number; wall: number; peak: number } }>;
    missing: string[];
    faults: string[];
  };
}

async function run(pool: Workers, ...args: string[]): Promise<Shown> {
  const json = await Deno.makeTempFile();
  const printed: string[] = [];
  try {
    const print = (text: string): unknown => printed.push(text);
    const status = await bench(["--quick", "--json", json, ...args], { pool, print, tell: () => {} });
    return { status, lines: printed.join("\n").split("\n"), json: JSON.parse(await Deno.readTextFile(json)) };
  } finally {
    await Deno.remove(json);
  }
}

/** The figures of the gates whose name holds a text. */
function figures({ json: { gates } }: Shown, text: string): Array<number | undefined> {
  return gates.filter(({ gate }) => gate.includes(text)).map(({ figure }) => figure && Number(figure.toFixed(6)));
}

function sizeOf(command: Command): number {
  return command.do === "read" ? command.subject.size : 0;
}

Deno.test("a gate is a ratio within each round, whatever else the machine does", async () => {
  const cpu: Record<string, number> = {
    readOnly: 2,
    readAndParse: 4,
    stream: 3,
    step: 3.3,
    agent: 6,
    xsai: 12,
    langchain: 4,
  };
  const asked = new Map<string, number>();
  const shown = await run(
    pretend((contestant, command) => {
      const key = `${contestant} ${JSON.stringify(command)}`, round = asked.get(key) ?? 0;
      asked.set(key, round + 1);
      return { cpu: (cpu[contestant] ?? 10) * 10 ** round };
    }),
    "--suite",
    "replies",
  );
  assertEquals(figures(shown, "openai_chat text, one event a frame: CPU over reading only"), [1.5]);
  assertEquals(figures(shown, "openai_chat thinking, 16k frames: CPU over read + decode"), [0.75]);
  // Of two peers the faster counts.
  assertEquals(figures(shown, "openai_chat text, one event a frame: CPU over the best peer"), [0.75]);
  assertEquals(figures(shown, "anthropic_messages text, one event a frame: CPU over the best peer"), [0.3]);
  assertEquals(figures(shown, "step over stream"), [1.1, 1.1, 1.1, 1.1]);
  assertEquals(figures(shown, "agent over stream"), [2, 2, 2, 2]);
  assertEquals(shown.json.faults, []);
});

Deno.test("growth is the exponent of the size, memory what was added, a tiny request what it takes longer", async () => {
  for (const power of [1, 2]) {
    const shown = await run(pretend((_, command) => ({ cpu: sizeOf(command) ** power })), "--suite", "growth");
    assertEquals(figures(shown, "growth of CPU"), [power, power, power, power]);
  }
  const shown = await run(
    pretend((contestant, command) => ({
      peak: 50 + sizeOf(command) / 100,
      turns: command.do === "text" ? [1, 80, 3] : [contestant === "stream" ? 2 : 1.5],
    })),
    "--no-peers",
    "--suite",
    "memory,tiny,text",
  );
  assertEquals(figures(shown, "memory grown"), [20]);
  assertEquals(figures(shown, "tiny requests"), [0.5]);
  assertEquals(figures(shown, "decodeJsonObject"), [80]);
  assertEquals(figures(shown, "stripReasoning"), [80]);
});

Deno.test("a missed gate is shown as missed, an unmeasured one as such; neither is a failure", async () => {
  const { status, lines, json } = await run(
    pretend((_, command) => command.do === "text" ? { turns: [command.name === "stripReasoning" ? 51 : 99] } : {}),
    "--no-peers",
    "--suite",
    "text,parser",
  );
  function lineOf(gate: string): string {
    return lines.find((line) => line.startsWith(gate)) ?? "";
  }
  assertMatch(lineOf("stripReasoning: the worst of ten"), / ≤ 50 ms +51\.00 ms +✗$/);
  assertMatch(lineOf("decodeJsonObject: the worst of ten"), / ≤ 100 ms +99\.00 ms +✓$/);
  assertMatch(lineOf("parser, events in chunks of one event"), / ≤ 0\.8 × +not measured +–$/);
  assertEquals(json.gates.map(({ met }) => met), [true, false, false, false, false, false]);
  assertEquals(status, 0);
});

Deno.test("who read another reply than was sent is told, is in no row and fails the run", async () => {
  const { status, lines, json } = await run(
    pretend((contestant, command) => {
      const right = command.do === "read" ? expected(command.subject) : "";
      return { fingerprint: contestant === "stream" ? right.replace(/\d$/, (digit) => `${9 - Number(digit)}`) : right };
    }),
    "--no-peers",
    "--suite",
    "tiny,concurrent",
  );
  const fault = "stream read another reply than was sent: openai_chat text event";
  assertEquals(json.faults.slice(0, 2), [fault, `${fault} × 20`]);
  assert(lines.includes(`wrong: ${fault}`));
  assertEquals(json.rows.filter(({ contestant }) => contestant === "stream"), []);
  assertEquals(status, 1);
});

Deno.test("parsers that disagree fail the run", async () => {
  const pool = pretend((contestant) => ({ fingerprint: contestant }));
  const { status, json } = await run(pool, "--suite", "parser");
  assertEquals([status, json.faults.length, json.faults[0]], [1, 5, "parsers disagree: events in chunks of 64 bytes"]);
});

Deno.test("a peer that cannot be had is told; one of ours fails the run", async () => {
  const alone = await run(pretend((contestant) => contestant === "xsai" ? undefined : {}), "--suite", "tiny");
  assertEquals([alone.status, alone.json.missing, alone.lines.at(-1)], [0, ["xsai"], "not measured: xsai"]);
  const broken = await run(pretend((contestant) => contestant === "stream" ? undefined : {}), "--suite", "tiny");
  assertEquals([broken.status, broken.json.faults, broken.lines.at(-1)], [
    1,
    ["stream has failed"],
    "wrong: stream has failed",
  ]);
});

// With the permissions of the task, and real processes.
Deno.test("deno task bench measures, and writes into its JSON what its table has", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const [run, ...rest] = tasks.bench.command.split("scripts/deps.ts ")[1].split(" ");
  const file = await Deno.makeTempFile();
  try {
    const options = ["--quick", "--no-peers", "--suite", "tiny,text", "--json", file];
    const args = [run, ...activeMapFlags(), "--no-check", ...rest, ...options];
    const { code, stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stderr: "null" }).output();
    const lines = new TextDecoder().decode(stdout).split("\n");
    const { rows, gates, faults }: Shown["json"] = JSON.parse(await Deno.readTextFile(file));
    assertEquals([code, faults, rows.length, gates.length], [0, [], 4, 3]);
    const shown = lines.filter((line) => /\d\.\d/.test(line)).map((line) => line.replaceAll(/ {2,}/g, "  "));
    for (const [i, { what, contestant, summary: { cpu, wall, peak } }] of rows.entries()) {
      const figures = [cpu.toFixed(1), wall.toFixed(1)].join("  ");
      assert(shown[i]!.startsWith(`${what}  ${contestant}  ${figures}  `), shown[i]);
      assert(shown[i]!.endsWith(`  ${peak.toFixed(0)}`), shown[i]);
      assert(cpu > 0 && wall > 0 && peak > 20, shown[i]);
    }
    for (const [i, { gate, figure, met }] of gates.entries()) {
      const line = shown[rows.length + i]!;
      assert(line.startsWith(`${gate}  ≤ `) && line.includes(`  ${figure!.toFixed(2)} `), line);
      assert(line.endsWith(met ? "✓" : "✗"), line);
    }
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("pawl in the side-by-side harness reads each subject whole, delta by delta, and starts", async () => {
  const server = startServer();
  const source = await Deno.readTextFile(`${ROOT}tests/bench/peers/contestants/pawl.ts`);
  // So the harness finds the dialects, without loading the file.
  assertEquals(/dialects:\s*\[([^\]]*)\]/.exec(source)?.[1], '"openai", "anthropic"');
  try {
    for (const subject of SUBJECTS.filter(({ framing }) => framing === "event")) {
      let firsts = 0;
      const { deltas, thinking, text, toolArgs = "" } = await peer.run({
        dialect: subject.dialect === "openai_chat" ? "openai" : "anthropic",
        baseUrl: `${server.origin}/${keyOf(subject)}`,
        apiKey: "sk-test",
        model: "bench-model",
        prompt: "Say something.",
        tool: hasCall(subject),
        onFirst: () => firsts++,
      });
      assertEquals(fingerprintOf({ deltas, thinking, text, input: toolArgs }), expected(subject), keyOf(subject));
      if (!hasCall(subject)) assertEquals(deltas, subject.size);
      assertEquals(firsts, 1);
      const events = eventsOf(subject);
      const chars = events.reduce((sum, event) => sum + /^data: (.*)$/m.exec(event)![1]!.length, 0);
      assertEquals(peerParser.run(chunksOf({ ...subject, framing: "1k" })), { events: events.length, chars });
    }
    const origin = `${server.origin}/${keyOf({ dialect: "openai_chat", kind: "text", size: 3, framing: "event" })}`;
    const script = `${ROOT}tests/bench/peers/startup/pawl.ts`;
    const deno = ["run", "--quiet", "--no-check", "--no-prompt", ...activeMapFlags()];
    const args = [...deno, `--allow-net=${new URL(origin).host}`, script, origin];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  } finally {
    await server.close();
  }
});
