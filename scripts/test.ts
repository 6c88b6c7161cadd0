/**
 * `deno task test`: everything that must hold before a commit, each step as its own `deno` process, counted together.
 * `deno task test:live`, `test:compile` and `portable` count the suites that download a server, a compiler and runtimes.
 * The last line is `N passed, N failed, N skipped`; the exit code is 1 when anything failed.
 *
 * @module
 */
import { fetchMatchingPair } from "../tests/compile/matching_pair.ts";
import { activeMapFlags } from "./deps.ts";

interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
}

const ROOT = `${import.meta.dirname}/..`;
const COVERAGE = `${ROOT}/coverage`;
const ENTRY_POINTS = ["mod.ts", "cli.ts", "src/sse.ts", "src/testing.ts"];
/** Rooms whose lines the tests must reach, and what share of them. */
const COVERED_ROOMS = ["src/dialects", "src/provider"];
const COVERED_PERCENT = 95;
/** Tests of growth look at the time that work takes: they run alone, one after another. */
const TIMED = ["tests/hostile/growth_test.ts", "tests/text/json_object_test.ts", "tests/text/reasoning_test.ts"];

function exists(path: string): boolean {
  try {
    Deno.statSync(`${ROOT}/${path}`);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs `deno`, shows what it writes, and returns that with its success. */
async function deno(args: string[], env: Record<string, string> = {}): Promise<{ success: boolean; output: string }> {
  console.log(`\n▸ deno ${args.join(" ").replaceAll(`${Deno.cwd()}/`, "")}`);
  const options = { args, env, cwd: ROOT, stdout: "piped", stderr: "inherit" } as const;
  const child = new Deno.Command(Deno.execPath(), options).spawn();
  const [shown, kept] = child.stdout.tee();
  const [output] = await Promise.all([
    new Response(kept).text(),
    shown.pipeTo(Deno.stdout.writable, { preventClose: true }),
  ]);
  return { success: (await child.status).success, output };
}

async function step(args: string[]): Promise<Outcome> {
  const { success } = await deno(args);
  return { passed: Number(success), failed: Number(!success), skipped: 0 };
}

async function tests(args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const { success, output } = await deno(["test", ...activeMapFlags(), ...args], env);
  const plain = output.replaceAll(/\x1b\[[0-9;]*m/g, "");
  const verdict = plain.match(/^(?:ok|FAILED) \| \d+ passed.*$/gm)?.at(-1) ?? "";
  function count(word: string): number {
    return Number(new RegExp(`(\\d+) ${word}`).exec(verdict)?.[1] ?? 0);
  }
  // A module that does not load fails the run without a failed test.
  return { passed: count("passed"), failed: Math.max(count("failed"), Number(!success)), skipped: count("ignored") };
}

async function coverage(): Promise<Outcome> {
  const report = await new Deno.Command(Deno.execPath(), { args: ["coverage", "--lcov", COVERAGE], cwd: ROOT })
    .output();
  const found = new Map(COVERED_ROOMS.map((room) => [room, { lines: 0, hit: 0 }]));
  let room: { lines: number; hit: number } | undefined;
  for (const line of new TextDecoder().decode(report.stdout).split("\n")) {
    if (line.startsWith("SF:")) room = found.get(COVERED_ROOMS.find((name) => line.includes(`/${name}/`)) ?? "");
    const [, hits] = /^DA:\d+,(\d+)/.exec(line) ?? [];
    if (!room || hits === undefined) continue;
    room.lines++;
    room.hit += Number(hits !== "0");
  }
  const outcome = { passed: 0, failed: 0, skipped: 0 };
  for (const [name, { lines, hit }] of found) {
    const percent = lines === 0 ? 0 : 100 * hit / lines;
    const enough = percent >= COVERED_PERCENT;
    console.log(
      `coverage of ${name}: ${percent.toFixed(1)} % of ${lines} lines${enough ? "" : `, wanted ${COVERED_PERCENT}`}`,
    );
    outcome[enough ? "passed" : "failed"]++;
  }
  return outcome;
}

/** Everything with types; the stand-ins only where they are in use, since their own package is mapped only there. */
function checked(): string[] {
  const scripts = [...Deno.readDirSync(import.meta.dirname!)].filter(({ name }) => name.endsWith(".ts"));
  const standins = activeMapFlags().length > 0 ? ["scripts/standins"] : [];
  return [...ENTRY_POINTS, "src", "tests", ...scripts.map(({ name }) => `scripts/${name}`), ...standins].filter(exists);
}

function everything(): Array<() => Promise<Outcome>> {
  const entries = ENTRY_POINTS.filter(exists);
  const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].filter(exists);
  // Counting lines slows the code down: where none are counted, tests about time are not disturbed.
  const covered = COVERED_ROOMS.map((room) => room.replace("src/", "tests/"));
  const collecting = [`--coverage=${COVERAGE}`, "--coverage-raw-data-only"];
  return [
    () => step(["fmt", "--check"]),
    () => step(["lint"]),
    () => step(["check", ...activeMapFlags(), ...checked()]),
    () => step(["doc", "--lint", ...activeMapFlags(), ...entries]),
    () => tests(["-A", "--no-check", "--parallel", `--ignore=${[...covered, ...TIMED]}`, "tests"]),
    () => tests(["-A", "--no-check", ...TIMED]),
    () => tests(["-A", "--no-check", "--parallel", "--clean", ...collecting, ...covered]),
    () => tests(["-A", "--doc", ...entries, "src", ...documents]),
    coverage,
  ];
}

/** Suites that download something big, by the argument that asks for them. */
const SUITES: Record<string, () => Promise<Outcome>> = {
  live: () => tests(["-A", "tests/live/live.ts"]),
  portable: () => tests(["-A", "tests/portable/portable.ts"]),
  publish: () => {
    if (activeMapFlags().length === 0) return step(["publish", "--dry-run", "--allow-dirty"]);
    console.warn("SKIPPED: only JSR can say whether it would take the package, and it does not answer");
    return Promise.resolve({ passed: 0, failed: 0, skipped: 1 });
  },
  compile: async () => {
    const { deno, denort } = await fetchMatchingPair(`${ROOT}/.cache/compile`);
    return tests(["-A", "tests/compile"], { DENO_BIN: deno, DENORT_BIN: denort });
  },
};

const [name] = Deno.args;
const total: Outcome = { passed: 0, failed: 0, skipped: 0 };
for (const run of name === undefined ? everything() : [SUITES[name]!]) {
  const { passed, failed, skipped } = await run();
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
Deno.exit(total.failed === 0 ? 0 : 1);
