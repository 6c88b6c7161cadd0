import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { parseToolSpec, toolNeeds } from "../../src/cli/tools/spec.ts";
import { startEndpoint } from "../support/endpoint.ts";
import { pawlNeedsAll } from "./pawl.ts";

const REGISTRY = new URL("../../src/cli/tools/registry.ts", import.meta.url).href;
const SPEC = new URL("../../src/cli/tools/spec.ts", import.meta.url).href;

/** Runs one call of one tool in a process that has exactly these flags. */
async function runIsolated(
  cwd: string,
  flags: string[],
  spec: string,
  input: Record<string, unknown>,
): Promise<string> {
  const script = `
    import { createTools } from ${JSON.stringify(REGISTRY)};
    import { parseToolSpec } from ${JSON.stringify(SPEC)};
    try {
      const [tool] = await createTools([parseToolSpec(${JSON.stringify(spec)})]);
      console.log(await tool.run(${JSON.stringify(input)}, { signal: new AbortController().signal, call: {} }));
    } catch (error) {
      console.log("error: " + error.message);
    }`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-config",
      "--no-lock",
      "--no-prompt",
      "--ext=js",
      ...flags,
      `data:text/javascript,${encodeURIComponent(script)}`,
    ],
    cwd,
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    },
  }).output();
  return new TextDecoder().decode(stdout).trimEnd() || new TextDecoder().decode(stderr);
}

Deno.test("every tool works with exactly the permissions of toolNeeds, and names the one that is missing", async () => {
  const dir = await Deno.makeTempDir();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response("page"));
  try {
    await Deno.mkdir(`${dir}/real/sub`, { recursive: true });
    await Deno.writeTextFile(`${dir}/real/a.txt`, "text\n");
    await Deno.symlink("real", `${dir}/in`);
    const host = `127.0.0.1:${server.addr.port}`;
    const cases: [string, Record<string, unknown>, string][] = [
      ["read_file=in", { path: "in/a.txt" }, "text"],
      ["list_files=in", {}, "in/a.txt\nin/sub/"],
      ["search_files=in", { pattern: "ex" }, "in/a.txt:1: text"],
      ["write_file=in", { path: "in/new/b.txt", content: "b" }, "Made in/new/b.txt (1 bytes)"],
      ["edit_file=in", { path: "in/a.txt", old_text: "text", new_text: "more" }, "Edited in/a.txt, line 1"],
      [`fetch_url=${host}`, { url: `http://${host}/` }, "page"],
      ["run_command=printf", { program: "printf", args: ["x"] }, "(exit code 0)\nx"],
    ];
    for (const [spec, input, want] of cases) {
      const needs = toolNeeds(parseToolSpec(spec));
      const flags = Object.entries(needs).filter(([, values]) => values.length > 0)
        .map(([name, values]) => `--allow-${name}=${values.join(",")}`);
      for (const flag of flags) {
        const message = await runIsolated(dir, flags.filter((other) => other !== flag), spec, input);
        assertStringIncludes(message, "error: Cannot use the tools: they need ");
        assertStringIncludes(message, flag);
      }
      assertEquals(await runIsolated(dir, flags, spec, input), want, spec);
    }
    assertStringIncludes(
      await runIsolated(dir, ["--allow-read=in"], "read_file=in", { path: "real/a.txt" }),
      'error: Cannot use "real/a.txt": it is outside of the granted directories ("in")',
    );
  } finally {
    await server.shutdown();
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("run_command leaves nothing behind when --limit toolTimeoutMs is over, with exactly the explained permissions", async () => {
  const args = ["-c", "sleep 60 & echo $!; wait"];
  const endpoint = startEndpoint({
    script: ({ messages }) =>
      messages.length === 1
        ? { calls: [{ name: "run_command", input: { program: "sh", args } }] }
        : { text: messages.at(-1)!.results[0]! },
  });
  try {
    const { code, stdout, stderr, flags } = await pawlNeedsAll([
      "run",
      "--base-url",
      `${endpoint.url}/v1`,
      "-m",
      "scripted",
      "-t",
      "run_command=sh",
      "--limit",
      "toolTimeoutMs=300ms",
      "go",
    ]);
    assertEquals([code, flags], [0, [`--allow-net=${endpoint.host}`, "--allow-run=sh,kill"]], stderr);
    assertMatch(stdout, /^\(stopped after 300 ms\)\n\d+\n$/);
    const pid = Number(stdout.split("\n")[1]);
    assertThrows(() => {
      // A process that ended but was not yet waited for is a zombie.
      if (/^State:\tZ/m.test(Deno.readTextFileSync(`/proc/${pid}/status`))) throw new Deno.errors.NotFound();
    }, Deno.errors.NotFound);
  } finally {
    await endpoint.close();
  }
});
