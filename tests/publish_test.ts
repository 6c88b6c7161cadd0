/** What would go to JSR, as `deno publish` itself sees it, in a copy that names no package of JSR: so it needs no network. */
import { assertArrayIncludes, assertEquals } from "@std/assert";
import { USER_AGENT } from "../src/provider/provider.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const NOT_COPIED = new Set([".git", ".cache", "coverage", "dist", "node_modules"]);

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (NOT_COPIED.has(name)) continue;
    if (isDirectory) await copy(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Simulates publishing; a package of JSR becomes one of npm that is there anyway, since only its name matters here. */
async function dryRun(): Promise<{ success: boolean; output: string; files: string[] }> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await copy(ROOT, folder);
    const config = await Deno.readTextFile(`${ROOT}deno.json`);
    const json = /"npm:@cfworker\/json-schema[^"]*"/.exec(config)![0];
    await Deno.writeTextFile(`${folder}/deno.json`, config.replaceAll(/"jsr:[^"]*"/g, json));
    const args = ["publish", "--dry-run", "--allow-dirty", "--no-check"];
    const env = { NO_COLOR: "1" };
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env, cwd: folder }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    const files = [...output.matchAll(/^ +file:\/\/(\S+) \(/gm)].map(([, path]) => path!.slice(folder.length + 1));
    return { success, output, files };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("deno publish takes the sources, the skills and the documents, no test, and finds no slow type", async () => {
  const { success, output, files } = await dryRun();
  assertEquals(success, true, output);
  assertArrayIncludes(files, [
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "deno.json",
    "mod.ts",
    "cli.ts",
    "src/testing.ts",
  ]);
  assertArrayIncludes(files, ["docs/terminal.svg", "skills/find-cause/SKILL.md", "src/cli/builtin_skills.ts"]);
  const strangers = files.filter((file) =>
    !/^(src|skills|docs)\/|^(mod|cli)\.ts$|^[A-Z]+(\.md)?$|^deno\.json$/.test(file)
  );
  assertEquals(strangers, []);
  // The one import that nobody can know before: a tools file of the user.
  const warned = [...output.matchAll(/^(?:warning|error)\[.*\n *--> (\S+?):\d+/gm)].map(([, at]) =>
    at!.split("/").at(-1)
  );
  assertEquals(warned, ["tools_file.ts"], output);
});

Deno.test("USER_AGENT tells the version of deno.json", async () => {
  assertEquals(USER_AGENT, `pawl/${JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)).version}`);
});
