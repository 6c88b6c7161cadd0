/**
 * The library under Node and Bun, bundled: those of its unit tests that need no Deno, and every wire case over HTTP, the
 * replay server being a Deno process. `deno task portable` runs it.
 */
import { assert, assertEquals } from "@std/assert";
import { activeMapFlags } from "../../scripts/deps.ts";
import { bundle } from "../../scripts/size.ts";
import { commandClient, type Failure, runConformance } from "../conformance/runner.ts";
import { byPath, startReplayServer } from "../support/replay_server.ts";
import { readCases } from "../support/wire_case.ts";
import { fetchRuntime, RUNTIMES } from "./runtimes.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Unit tests that come out otherwise, by runtime, since the runtime lacks something. */
const DIFFERENCES: Record<string, string[]> = {
  "Node 20": [
    // No JSON.rawJSON: integers beyond 2⁵³ in the arguments of a call lose their last digits on the way back.
    "R-09: arguments go back as the raw JSON of one object",
    "R-36: input is an object in Anthropic, whatever the model sent",
  ],
};

const ROOMS = ["model", "text", "wire", "provider", "dialects", "agent", "skills"];

/** Anything of Deno but its `test`: a program of ours may still be run beside the tests, but not by them. */
const NEEDS_DENO = /\bDeno\.(?!test\b)/;

/** The test files of the library that use nothing of Deno but its `test`, whatever they import included. */
async function portableTests(): Promise<string[]> {
  const found: string[] = [];
  for (const room of ROOMS) {
    for await (const { name } of Deno.readDir(`${ROOT}tests/${room}`)) {
      const path = `${ROOT}tests/${room}/${name}`;
      if (name.endsWith("_test.ts") && await isPortable(path)) found.push(path);
    }
  }
  return found.sort();
}

async function isPortable(path: string): Promise<boolean> {
  const args = ["info", "--json", ...activeMapFlags(), path];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
  const modules: Array<{ specifier: string; local?: string }> = JSON.parse(new TextDecoder().decode(stdout)).modules;
  const ours = modules.filter(({ specifier }) => specifier.startsWith(`file://${ROOT}tests/`));
  const texts = await Promise.all(ours.map(({ local }) => Deno.readTextFile(local!)));
  return !texts.some((text) => NEEDS_DENO.test(text));
}

/** Bundles to a file below a folder. */
async function bundled(entry: string, path: string): Promise<string> {
  await Deno.writeFile(path, await bundle(entry));
  return path;
}

for (const name of Object.keys(RUNTIMES)) {
  const program = await fetchRuntime(name, `${ROOT}.cache/runtimes`);
  if (program === undefined) console.warn(`SKIPPED: ${name} cannot be fetched from npm, or does not start here`);
  const ignore = program === undefined;

  Deno.test({
    name: `${name}: the unit tests`,
    ignore,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        const entry = `${folder}/entry.ts`;
        const files = await portableTests();
        assert(files.length > 0);
        await Deno.writeTextFile(entry, files.map((path) => `import ${JSON.stringify(path)};\n`).join(""));
        const path = await bundled(entry, `${folder}/tests.mjs`);
        const command = new Deno.Command(program!, { args: [`${ROOT}tests/portable/units.mjs`, path] });
        const { stdout, stderr } = await command.output();
        const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
        const { passed, failed } = JSON.parse(output!.split("\n").at(-1) || "{}");
        assertEquals(failed, DIFFERENCES[name] ?? [], `${output}\n${errors}`);
        assert(passed > 0);
        console.log(`${name}: ${passed} tests of ${files.length} files passed`);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });

  Deno.test({
    name: `${name}: the wire cases`,
    ignore,
    async fn() {
      const folder = await Deno.makeTempDir();
      const failures: Failure[] = [];
      try {
        // The cases of quirk O-81 want the clean-up of leaked reasoning off, which a command is not told.
        const cases = readCases().filter(({ quirk }) => !quirk.includes("O-81"));
        await using server = startReplayServer(byPath(cases, 1));
        const path = await bundled("mod.ts", `${folder}/pawl.mjs`);
        await using client = commandClient(program!, [`${ROOT}tests/portable/run.mjs`, path]);
        const chunkings = ["recorded"] as const;
        await runConformance({
          cases,
          chunkings,
          client,
          origin: server.origin,
          onFailure: (one) => failures.push(one),
        });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
      assertEquals(failures, []);
    },
  });
}
