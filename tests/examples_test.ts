/** The examples are what people copy: each runs as it stands, on the public entry points alone, without any permission. */
import { assert, assertEquals } from "@std/assert";
import { activeMapFlags } from "../scripts/deps.ts";

const FOLDER = new URL("examples/", import.meta.url);
const NAMES = [...Deno.readDirSync(FOLDER)].map(({ name }) => name).sort();

Deno.test("tests/examples has one for each thing that the README promises", () => {
  assertEquals(NAMES, [
    "chat.ts",
    "receiver.ts",
    "record_replay.ts",
    "server.ts",
    "structured_output.ts",
    "third_dialect.ts",
    "tool_loop.ts",
  ]);
});

for (const name of NAMES) {
  Deno.test(`tests/examples/${name} runs without a permission, on public entry points`, async () => {
    const text = await Deno.readTextFile(new URL(name, FOLDER));
    const imported = [...text.matchAll(/^(?:import|export) .*from "(.*)";$/gm)].map(([, from]) => from!);
    assert(imported.includes("@pawl/pawl"));
    const strangers = imported.filter((from) => !/^@pawl\/pawl(\/testing)?$|^@std\/assert$/.test(from));
    assertEquals(strangers, []);
    // Types are checked with everything else in tests.
    const args = ["run", "--quiet", "--no-check", "--no-prompt", ...activeMapFlags(), new URL(name, FOLDER).pathname];
    // One that leaves a connection open would wait for its clocks, which take minutes.
    const signal = AbortSignal.timeout(30_000);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null", signal }).output();
    assertEquals([code, new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)], [0, "", ""]);
  });
}
