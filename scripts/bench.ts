/**
 * `deno task bench`: the product against physical limits and its peers, and every gate of speed with its figure.
 *
 *     deno task bench [--quick] [--no-peers] [--suite NAME[,NAME]] [--json FILE]
 *
 * Each contestant is a process of its own; they take turns. CPU time is that of the whole process; ratios are of rounds side
 * by side, so a machine that has other work to do changes them little. A missed gate is shown, and is no failure; a contestant
 * that lost or changed a character is, and one of ours that cannot be measured.
 *
 * @module
 */
import { isPeer } from "../tests/bench/peers.ts";
import { Pool, type Workers } from "../tests/bench/pool.ts";
import { type Bench, type Gate, type Row, SUITES } from "../tests/bench/suites.ts";

function parseArguments(args: string[]): { quick: boolean; peers: boolean; suites: string[]; json?: string } {
  let quick = false, peers = true, suites = Object.keys(SUITES), json: string | undefined;
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--quick") quick = true;
    else if (args[i] === "--no-peers") peers = false;
    else if (args[i] === "--suite") suites = (args[++i] ?? "").split(",");
    else if (args[i] === "--json") json = args[++i];
    else throw new TypeError(`Cannot run the bench: unknown argument "${args[i]}"`);
  }
  const unknown = suites.find((name) => !Object.hasOwn(SUITES, name));
  if (unknown !== undefined) {
    throw new TypeError(`Cannot run the bench: no suite "${unknown}", there are ${Object.keys(SUITES)}`);
  }
  return { quick, peers, suites, ...(json !== undefined && { json }) };
}

function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  function line(cells: string[]): string {
    return cells.map((cell, i) => i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join("  ").trimEnd();
  }
  return [line(head), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

function rowCells({ what, contestant, summary: { cpu, wall, peak }, count }: Row): string[] {
  return [what, contestant, cpu.toFixed(1), wall.toFixed(1), (1000 * cpu / count).toFixed(2), peak.toFixed(0)];
}

function gateCells({ gate, bound, figure, unit, met }: Gate): string[] {
  const digits = unit === "MB" ? 0 : 2, name = unit === "exponent" ? "" : ` ${unit}`;
  if (figure === undefined) return [gate, `≤ ${bound}${name}`, "not measured", "–"];
  return [gate, `≤ ${bound}${name}`, `${figure.toFixed(digits)}${name}`, met ? "✓" : "✗"];
}

/** What a test puts in place of processes and terminal. */
interface Surroundings {
  pool?: Workers;
  print?: (text: string) => void;
  tell?: (text: string) => void;
}

/** The options, as the words behind the script's name; returns the exit status. */
export async function bench(args: string[], surroundings: Surroundings = {}): Promise<number> {
  const { quick, peers, suites, json } = parseArguments(args);
  const { pool = new Pool(), print = console.log, tell = console.error } = surroundings;
  const measured: Bench = { pool, quick, peers, rows: [], gates: [], faults: [] };
  try {
    for (const name of suites) {
      tell(`measuring: ${name}`);
      await SUITES[name]!(measured);
    }
  } finally {
    await pool.close();
  }
  const { rows, gates, faults } = measured;
  const missing = [...pool.failed].filter(isPeer);
  for (const name of pool.failed) if (!isPeer(name)) faults.push(`${name} has failed`);
  if (rows.length > 0) {
    print(table(["", "contestant", "CPU ms", "wall ms", "µs CPU each", "peak MB"], rows.map(rowCells)));
  }
  print(`\n${table(["gate", "bound", "figure", ""], gates.map(gateCells))}`);
  for (const name of missing) print(`not measured: ${name}`);
  for (const fault of faults) print(`wrong: ${fault}`);
  if (json !== undefined) {
    const machine = { deno: Deno.version.deno, cores: navigator.hardwareConcurrency, load: Deno.loadavg() };
    const all = { machine, quick, gates, rows, missing, faults };
    await Deno.writeTextFile(json, JSON.stringify(all, null, 2) + "\n");
  }
  return faults.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await bench(Deno.args));
