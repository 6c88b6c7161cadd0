/** The README is a promise: each of its commands is run, each program checked and run, each name looked up. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { loadProfile } from "../src/cli/config.ts";
import { FLAGS } from "../src/cli/flag_table.ts";
import { compat } from "../src/cli/values.ts";
import { activeMapFlags } from "../scripts/deps.ts";
import { drawScreen } from "../scripts/picture.ts";
import { startEndpoint } from "./support/endpoint.ts";
import { blocksOf, explainPermissions, playReadme, renderReadme, ROOT } from "./support/readme.ts";
import { readmeTurn } from "./support/readme_model.ts";

const README = await Deno.readTextFile(`${ROOT}README.md`);
const { played, calls } = await playReadme(README);

Deno.test("README.md shows what its commands print (deno task readme writes it)", async () => {
  assertEquals(await renderReadme(README, played), README);
});

Deno.test("README.md has commands that succeed, in order, in an empty home directory", () => {
  const commands = played.filter(({ block }) => block.info === "sh");
  assertGreater(commands.length, 12);
  assertEquals(commands.filter(({ code }) => code !== 0), []);
});

Deno.test("README.md names exactly the permissions that a line needs", async () => {
  const lines = played.filter(({ command }) => /^(printf .*\| )?(pawl|pawl_kept|deno run) /.test(command));
  assertEquals(lines.length, calls.length);
  let exact = 0;
  for (const [i, { command }] of lines.entries()) {
    // What has a short name in the README has the permissions of its name; that they suffice is shown by its output.
    if (!command.startsWith("deno run ")) continue;
    const { flags, args } = calls[i]!;
    assertEquals(flags, await explainPermissions(args), command);
    exact++;
  }
  assertGreater(exact, 8);
});

Deno.test("README.md holds programs that check and run, with the network to one host alone", async () => {
  const endpoint = startEndpoint({ script: readmeTurn, models: ["qwen3:8b"] });
  const folder = await Deno.makeTempDir();
  try {
    const programs = blocksOf(README).filter(({ info }) => info.startsWith("ts"));
    assertGreater(programs.length, 2);
    for (const { lines } of programs) {
      const path = `${folder}/program.ts`;
      await Deno.writeTextFile(path, lines.join("\n").replaceAll("localhost:11434", endpoint.host));
      const deno = ["run", "--quiet", "--check", "--no-prompt", `--config=${ROOT}deno.json`, ...activeMapFlags()];
      const args = [...deno, `--allow-net=${endpoint.host}`, path];
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).output();
      assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
      assertGreater(stdout.length, 0);
    }
    assertGreater(endpoint.heard.length, 3);
  } finally {
    await endpoint.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("README.md holds profiles that can be chosen", async () => {
  const [yaml] = blocksOf(README).filter(({ info }) => info === "yaml");
  for (const profile of ["box", "claude"]) {
    const { options } = await loadProfile({ profile }, ["config.yaml"], () => Promise.resolve(yaml!.lines.join("\n")));
    assertGreater(Object.keys(options).length, 2);
  }
});

Deno.test("README.md has no figure left to fill in", () => {
  assertEquals(README.match(/FILL\([^)]*\)/g) ?? [], []);
});

Deno.test("README.md links to files that exist", async () => {
  const targets = [...README.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target]) => target!);
  assertGreater(targets.length, 4);
  for (const target of targets) assert((await Deno.stat(`${ROOT}${target}`)).isFile, target);
});

Deno.test("README.md names tasks that exist", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const named = [...README.matchAll(/deno task ([\w:]+)/g)].map(([, task]) => task!);
  assertGreater(named.length, 6);
  assertEquals(named.filter((task) => !Object.hasOwn(tasks, task)), []);
});

Deno.test("README.md names flags that exist", () => {
  const own = Object.keys(FLAGS);
  const foreign = [
    "no-prompt",
    "no-code-cache",
    "no-check",
    "minify",
    "platform",
    "reasoning-format",
    "reasoning-parser",
    "chunking",
    "command",
    "suite",
  ];
  const named = [...README.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, flag]) => flag!);
  assertGreater(named.length, 50);
  const unknown = named.filter((flag) => !own.includes(flag) && !foreign.includes(flag) && !flag.startsWith("allow-"));
  // One is misspelt on purpose, to show what pawl says to that.
  assertEquals([...new Set(unknown)], ["max-token"]);
});

Deno.test("README.md names compat switches and values that exist", () => {
  const table = README.split("\n").filter((line) => line.startsWith("| ")).join("\n");
  const named = [...table.matchAll(/`(\w+): "?(\w+)"?`/g)].filter(([, name]) => name !== "thinkTags");
  assertGreater(named.length, 8);
  for (const [, name, value] of named) compat(`${name}=${value}`);
});

Deno.test("docs/terminal.svg is a picture that drawScreen made of what it shows", async () => {
  const picture = await Deno.readTextFile(`${ROOT}docs/terminal.svg`);
  for (const part of ["$ pawl chat", "thinking: ", "✓ read_file", "? Allow it?"]) assert(picture.includes(part), part);
  assertEquals(drawScreen("\x1b[32mok\x1b[0m <b>").match(/<text.*/g), [
    '<text x="18" y="33" textLength="18" xml:space="preserve" fill="#8fc379">ok</text>',
    '<text x="45" y="33" textLength="27" xml:space="preserve" fill="#d8dbe2">&lt;b&gt;</text>',
  ]);
});

Deno.test("deno task demo shows all of it, in an empty home directory", async () => {
  const home = await Deno.makeTempDir();
  try {
    const args = ["run", "--quiet", "-P=tasks", ...activeMapFlags(), "scripts/demo.ts"];
    const env = { HOME: home, NO_COLOR: "1" };
    const { code, stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env, stdin: "null" }).output();
    assertEquals([code, new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1)], [0, "All of it worked."]);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});
