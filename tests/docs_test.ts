import { assert, assertEquals } from "@std/assert";
import { ATTACKS } from "./hostile/attacks.ts";

const ROOT = new URL("../", import.meta.url);

Deno.test("ARCHITECTURE.md names files and folders that exist", async () => {
  const text = await Deno.readTextFile(new URL("ARCHITECTURE.md", ROOT));
  const names = new Set(
    [...text.matchAll(/`((?:src|tests|scripts)\/[\w./]*|mod\.ts|cli\.ts)`/g)].map(([, name]) => name!),
  );
  assert(names.size > 25, `only ${names.size} names were found`);
  const missing = [];
  for (const name of names) {
    const info = await Deno.stat(new URL(name, ROOT)).catch(() => undefined);
    if (!info || info.isDirectory !== name.endsWith("/") && !name.startsWith("tests/")) missing.push(name);
  }
  assertEquals(missing, []);
});

Deno.test("ARCHITECTURE.md lists every room of src", async () => {
  const text = await Deno.readTextFile(new URL("ARCHITECTURE.md", ROOT));
  for await (const { name, isDirectory } of Deno.readDir(new URL("src/", ROOT))) {
    if (isDirectory) assert(text.includes(`\`src/${name}/\``), `src/${name}/ is not told`);
  }
});

Deno.test("SECURITY.md numbers its promises, and each names tests that exist", async () => {
  const text = await Deno.readTextFile(new URL("SECURITY.md", ROOT));
  const promises = text.split(/^## /m).find((part) => part.startsWith("Promises"))!.split(/^(?=\d+\. )/m).slice(1);
  assertEquals(promises.map((promise) => parseInt(promise)), promises.map((_, i) => i + 1));
  assert(promises.length >= 15);
  const missing = [];
  for (const part of [...promises, text]) {
    const named = [...part.matchAll(/`(tests\/[\w/]+_test\.ts)`\s+"([^"]+)"/g)];
    assert(named.length > 0, part);
    for (const [, path, wrapped] of named) {
      const name = wrapped!.replaceAll(/\s+/g, " ");
      const source = await Deno.readTextFile(new URL(path!, ROOT)).catch(() => "");
      const names = source.match(/(?:Deno\.test\(|name:)[^\n]*/g) ?? [];
      // Tests of attacks have their names from a table.
      const isAttack = Object.keys(ATTACKS).some((attack) => attack.startsWith(name));
      if (!isAttack && !names.some((line) => line.includes(name))) missing.push(`${path} "${name}"`);
    }
  }
  assertEquals(missing, []);
});
