import { assertEquals } from "@std/assert";
import plugin from "./house_plugin.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

function offences(path: string, source: string): string[] {
  const ids = Deno.lint.runPlugin(plugin, ROOT + path, source).map(({ id }) => id.replace("house/", ""));
  return [...new Set(ids)];
}

function checks(rule: string, cases: Array<[path: string, source: string, offends: boolean]>): void {
  for (const [path, source, offends] of cases) {
    Deno.test(`house/${rule} ${offends ? "refuses" : "accepts"} in ${path}: ${source.slice(0, 60)}`, () => {
      assertEquals(offences(path, source), offends ? [rule] : []);
    });
  }
}

checks("floors", [
  ["src/text/a.ts", `import { x } from "../model/b.ts";`, false],
  ["src/text/a.ts", `import { x } from "./b.ts";`, false],
  ["src/cli/commands/a.ts", `import { x } from "../../agent/b.ts";`, false],
  ["src/cli/commands/a.ts", `import { x } from "../exit.ts";`, false],
  ["mod.ts", `export * from "./src/agent/agent.ts";`, false],
  ["src/cli/main.ts", `const { default: x } = await import("../../deno.json", { with: { type: "json" } });`, false],
  ["src/wire/http.ts", `import x from "../../deno.json" with { type: "json" };`, true],
  ["tests/text/a.ts", `import { x } from "../../src/cli/b.ts";`, false],
  ["src/model/a.ts", `import { x } from "../text/b.ts";`, true],
  ["src/text/a.ts", `import type { X } from "../wire/b.ts";`, true],
  ["src/text/a.ts", `export { x } from "../wire/b.ts";`, true],
  ["src/dialects/a.ts", `import { x } from "../wire/b.ts";`, true],
  ["src/dialects/a.ts", `import { x } from "../agent/b.ts";`, true],
  ["src/agent/a.ts", `import { x } from "../dialects/b.ts";`, true],
  ["src/agent/a.ts", `const x = await import("../dialects/b.ts");`, true],
  ["src/agent/a.ts", `import { x } from "../../mod.ts";`, true],
  ["src/wire/a.ts", `import { x } from "../../tests/b.ts";`, true],
  ["mod.ts", `import { x } from "./src/cli/main.ts";`, true],
  ["src/helpers/a.ts", `const a = 1;`, true],
]);

checks("packages", [
  ["src/cli/a.ts", `import { parse } from "@std/yaml";`, false],
  ["tests/a.ts", `import { assert } from "@std/assert";`, false],
  ["src/text/a.ts", `import { parse } from "@std/yaml";`, true],
  ["src/skills/a.ts", `const { parse } = await import("jsr:@std/yaml");`, true],
  ["src/wire/a.ts", `import { x } from "node:stream";`, true],
  ["src/wire/a.ts", `const x = await import(name);`, true],
  ["src/testing.ts", `import { x } from "npm:x";`, true],
  ["mod.ts", `export { x } from "npm:x";`, true],
]);

checks("outside-world", [
  ["src/cli/a.ts", `Deno.exit(1);`, false],
  ["src/wire/a.ts", `const x = { process: 1, console: 2 }; x.process;`, false],
  ["src/wire/a.ts", `interface A { prompt: string }`, false],
  ["src/wire/a.ts", `Deno.exit(1);`, true],
  ["src/wire/a.ts", `console.log(1);`, true],
  ["src/agent/a.ts", `globalThis.process;`, true],
  ["src/agent/a.ts", `const x = { Deno };`, true],
  ["mod.ts", `const x = process.env.KEY;`, true],
]);

checks("fetch-calls", [
  ["src/wire/a.ts", `await fetch(url);`, false],
  ["src/provider/a.ts", `const send = options.fetch ?? fetch;`, false],
  ["tests/a.ts", `await fetch(url);`, false],
  ["src/provider/a.ts", `await fetch(url);`, true],
  ["src/cli/a.ts", `await globalThis.fetch(url);`, true],
  ["src/agent/a.ts", `await options.fetch(url);`, true],
]);

checks("top-level-functions", [
  ["src/text/a.ts", `function f() { const g = () => 1; return g; }`, false],
  ["src/text/a.ts", `const table = { f: () => 1 };`, false],
  ["src/text/a.ts", `const f = () => 1;`, true],
  ["src/text/a.ts", `export const f = (x: number) => x;`, true],
  ["scripts/a.ts", `const f = function () {};`, true],
]);

checks("hash-private", [
  ["src/text/a.ts", `class A { #a = 1; readonly b = 2; }`, false],
  ["src/text/a.ts", `class A { private a = 1; }`, true],
  ["src/text/a.ts", `class A { protected a() {} }`, true],
  ["src/text/a.ts", `class A { constructor(public a: number) {} }`, true],
]);

checks("one-barrel", [
  ["mod.ts", `export * from "./src/text/a.ts";`, false],
  ["src/text/a.ts", `export * from "./b.ts";`, true],
]);

checks("file-length", [
  ["src/text/a.ts", "\n".repeat(320), false],
  ["tests/a.ts", "\n".repeat(400), false],
  ["src/text/a.ts", "\n".repeat(321), true],
]);
