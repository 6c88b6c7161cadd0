/**
 * The compiled binary, end to end, where DENO_BIN and DENORT_BIN name a matching pair (`deno task test:compile` fetches
 * one). Elsewhere only what would be embedded is looked at.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { compileArguments } from "../../scripts/compile.ts";
import { activeMapFlags } from "../../scripts/deps.ts";
import { startEndpoint } from "../support/endpoint.ts";

const ROOT = new URL("../../", import.meta.url);
const [compiler, runtime] = [Deno.env.get("DENO_BIN"), Deno.env.get("DENORT_BIN")];
const ignore = compiler === undefined || runtime === undefined;
if (ignore) console.warn("SKIPPED: the compiled binary is not run, as DENO_BIN and DENORT_BIN name no matching pair");

interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

async function finish(command: string, args: string[], options: Deno.CommandOptions = {}): Promise<Finished> {
  const { code, stdout, stderr } = await new Deno.Command(command, { args, stdin: "null", ...options }).output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

Deno.test("the binary would hold every command, the skills, and nothing of the tests", async () => {
  const { stdout } = await finish(Deno.execPath(), ["info", "--json", ...activeMapFlags(), "cli.ts"], { cwd: ROOT });
  const modules: Array<{ specifier: string }> = JSON.parse(stdout).modules;
  const paths = modules.map(({ specifier }) => specifier.replace(ROOT.href, ""));
  for (const name of ["chat", "run", "probe", "models", "skills", "completions"]) {
    assert(paths.includes(`src/cli/commands/${name}.ts`), name);
  }
  assert(paths.includes("src/cli/builtin_skills.ts"));
  assertEquals(paths.filter((path) => path.startsWith("tests/")), []);
});

Deno.test("compileArguments always refuses prompts and the code cache", () => {
  const args = compileArguments(["--allow-net=127.0.0.1:1"]);
  for (const flag of ["--no-prompt", "--no-code-cache", "--permission-set=compile"]) assert(args.includes(flag), flag);
});

async function compiled(host: string): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/pawl`;
  const args = compileArguments([`--allow-net=${host}`, `--output=${path}`]);
  const { code, stderr } = await finish(compiler!, args, { env: { DENORT_BIN: runtime! } });
  assertEquals(code, 0, stderr);
  return { path, remove: () => Deno.remove(folder, { recursive: true }) };
}

Deno.test(
  { name: "the binary chats, runs a tool and a skill, probes, and reaches no other host", ignore },
  async (t) => {
    const endpoint = startEndpoint();
    const other = startEndpoint();
    const { path, remove } = await compiled(endpoint.host);
    const env = { PAWL_BASE_URL: `${endpoint.url}/v1`, PAWL_MODEL: "scripted", DENO_DIR: `${path}-cache` };
    const folder = await Deno.makeTempDir();
    await Deno.writeTextFile(`${folder}/notes.txt`, "buy bread\n");
    function pawl(...args: string[]): Promise<Finished> {
      return finish(path, args, { env, cwd: folder });
    }
    try {
      await t.step("chat", async () => {
        const child = new Deno.Command(path, {
          args: ["chat"],
          env,
          cwd: folder,
          stdin: "piped",
          stdout: "piped",
          stderr: "piped",
        })
          .spawn();
        const writer = child.stdin.getWriter();
        await writer.write(new TextEncoder().encode("hello there\n"));
        await writer.close();
        const { code, stdout, stderr } = await child.output();
        assertEquals(code, 0, new TextDecoder().decode(stderr));
        assertStringIncludes(new TextDecoder().decode(stdout), "hello there");
      });
      await t.step("run with a tool", async () => {
        const { code, stdout, stderr } = await pawl("run", "Read notes.txt", "-t", "read_file");
        assertEquals(code, 0, stderr);
        assertStringIncludes(stdout, "buy bread");
      });
      await t.step("run with a skill", async () => {
        const { stdout: list } = await pawl("skills", "list");
        const name = /^\s*([\w-]+)/m.exec(list)?.[1];
        assert(name, "no built-in skill is listed");
        const { code, stderr } = await pawl("run", "--use-skill", name, "hello");
        assertEquals(code, 0, stderr);
        assertStringIncludes(endpoint.heard.at(-1)!.system, name);
      });
      await t.step("probe", async () => {
        const { code, stdout, stderr } = await pawl("probe");
        assertEquals(code, 0, stdout + stderr);
      });
      await t.step("another host", async () => {
        const { code, stdout, stderr } = await pawl("run", "hello", "--base-url", `${other.url}/v1`);
        assertEquals(code, 9, stderr);
        assertEquals(stdout, "");
        assertStringIncludes(stderr, other.host);
        assertEquals(other.heard, []);
      });
      await t.step("it leaves nothing behind", async () => {
        assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["notes.txt"]);
      });
      await t.step("its version", async () => assertMatch((await pawl("--version")).stdout, /^pawl \d/));
    } finally {
      await endpoint.close();
      await other.close();
      await Deno.remove(folder, { recursive: true });
      await remove();
    }
  },
);
