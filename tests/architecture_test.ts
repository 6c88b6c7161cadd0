/** The shape of the module graph, as Deno itself sees it: what a lint rule that looks at one file cannot tell. */
import { assert, assertEquals } from "@std/assert";
import { activeMapFlags } from "../scripts/deps.ts";

const ROOT = new URL("../", import.meta.url);

interface Module {
  specifier: string;
  dependencies?: Array<
    { specifier: string; isDynamic?: boolean; code?: { specifier: string }; type?: { specifier: string } }
  >;
}

async function graph(entry: string): Promise<Module[]> {
  const args = ["info", "--json", ...activeMapFlags(), entry];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).modules;
}

/** Paths within the project of a module's dependencies, types included. */
function edges({ dependencies = [] }: Module): string[] {
  return dependencies.flatMap(({ code, type }) => [code?.specifier, type?.specifier]).filter((to) => to !== undefined)
    .map((to) => to.replace(ROOT.href, ""));
}

/** A way from a module back to itself. */
function findCycle(modules: Module[]): string[] | undefined {
  const next = new Map(modules.map((module) => [module.specifier.replace(ROOT.href, ""), edges(module)]));
  const done = new Set<string>();
  function walk(at: string, path: string[]): string[] | undefined {
    if (path.includes(at)) return [...path.slice(path.indexOf(at)), at];
    if (done.has(at)) return undefined;
    for (const to of next.get(at) ?? []) {
      const cycle = walk(to, [...path, at]);
      if (cycle) return cycle;
    }
    done.add(at);
    return undefined;
  }
  for (const start of next.keys()) {
    const cycle = walk(start, []);
    if (cycle) return cycle;
  }
  return undefined;
}

const LIBRARY = ["mod.ts", "src/sse.ts", "src/testing.ts"];

for (const entry of LIBRARY) {
  Deno.test(`${entry} reaches only files of the project, and no command line`, async () => {
    const modules = await graph(entry);
    const foreign = modules.map(({ specifier }) => specifier).filter((specifier) =>
      !specifier.startsWith(`${ROOT}src/`)
    );
    assertEquals(foreign, foreign.filter((specifier) => specifier === `${ROOT}mod.ts`));
    assertEquals(modules.filter(({ specifier }) => specifier.includes("/src/cli/")), []);
    const named = modules.flatMap((module) => module.dependencies ?? []).map(({ specifier }) => specifier);
    assertEquals(named.filter((specifier) => !specifier.startsWith(".")), []);
  });
}

for (const entry of [...LIBRARY, "cli.ts"]) {
  Deno.test(`${entry} has no cycle below it`, async () => {
    assertEquals(findCycle(await graph(entry)), undefined);
  });
}

/** What is evaluated before a module itself is. */
function evaluated(modules: Module[], entry: string): Set<string> {
  const next = new Map(modules.map(({ specifier, dependencies = [] }) => [specifier, dependencies]));
  const reached = new Set([entry]);
  for (const specifier of reached) {
    for (const { isDynamic, code } of next.get(specifier) ?? []) if (!isDynamic && code) reached.add(code.specifier);
  }
  return reached;
}

// Each costs a start some milliseconds, the first module of `node:` 13.
Deno.test("cli.ts begins a run without modules of node: or npm:, and without what only other commands and flags use", async () => {
  const modules = await graph("cli.ts");
  const needed = ["cli.ts", "src/cli/commands/run.ts", "src/dialects/openai_chat.ts"];
  const reached = needed.flatMap((path) => [...evaluated(modules, `${ROOT}${path}`)]);
  assertEquals(reached.filter((specifier) => !specifier.startsWith("file:") && !specifier.includes("/@std/")), []);
  const others =
    /\/(agent|anthropic_messages|ask|chat\w*|completions|help|output|probe|profile|record\w*|schema|session\w*|skill\w*|tools\/(?!spec)\w+)\.ts$/;
  assertEquals(reached.filter((specifier) => others.test(specifier)), []);
});

Deno.test("every module of src is reached from an entry point", async () => {
  const reached = new Set<string>();
  for (const entry of [...LIBRARY, "cli.ts"]) {
    for (const { specifier } of await graph(entry)) reached.add(specifier);
  }
  const files: string[] = [];
  async function collect(folder: URL): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await collect(new URL(`${name}/`, folder));
      else if (name.endsWith(".ts")) files.push(new URL(name, folder).href);
    }
  }
  await collect(new URL("src/", ROOT));
  assertEquals(files.filter((file) => !reached.has(file)).map((file) => file.replace(ROOT.href, "")), []);
});

Deno.test("findCycle finds one", () => {
  const edge = (specifier: string) => ({ specifier, code: { specifier } });
  const modules = [{ specifier: "a", dependencies: [edge("b")] }, { specifier: "b", dependencies: [edge("a")] }];
  assertEquals(findCycle(modules), ["a", "b", "a"]);
  assert(findCycle([modules[0]!, { specifier: "b" }]) === undefined);
});
