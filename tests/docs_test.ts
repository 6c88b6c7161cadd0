import { assert, assertEquals } from "@std/assert";

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
