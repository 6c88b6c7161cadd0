import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { isPawlError } from "../../src/model/error.ts";
import { type Tool, validateTools } from "../../src/model/tool.ts";
import { createTools } from "../../src/cli/tools/registry.ts";
import { BUILTIN_TOOLS, mergeToolSpecs, parseToolSpec, type ToolName, toolNeeds } from "../../src/cli/tools/spec.ts";
import { loadToolsFile } from "../../src/cli/tools/tools_file.ts";

/** A directory to play in, with a granted part and one beside it. */
async function withTree(test: (dir: string, grant: string) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${dir}/in/sub/.git`, { recursive: true });
    await Deno.mkdir(`${dir}/in-not`);
    await Deno.writeTextFile(`${dir}/secret.txt`, "secret");
    await Deno.writeTextFile(`${dir}/in-not/secret.txt`, "secret");
    await Deno.writeTextFile(`${dir}/in/a.txt`, "one\ntwo\nthree\n");
    await Deno.writeTextFile(`${dir}/in/sub/b.ts`, "const one = 1;\n");
    await Deno.writeTextFile(`${dir}/in/sub/.git/config`, "one\n");
    await Deno.symlink("../secret.txt", `${dir}/in/out.txt`);
    await Deno.symlink("..", `${dir}/in/up`);
    await Deno.symlink("a.txt", `${dir}/in/link.txt`);
    await Deno.symlink("../nowhere.txt", `${dir}/in/dangling.txt`);
    await test(dir, `${dir}/in`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function tool(spec: string): Promise<Tool> {
  return (await createTools([parseToolSpec(spec)]))[0]!;
}

async function call(
  tool: Tool,
  input: Record<string, unknown>,
  signal = new AbortController().signal,
): Promise<string> {
  return await tool.run(input, {
    signal,
    call: { type: "tool_use", id: "c", name: tool.name, input: JSON.stringify(input) },
  });
}

async function failure(tool: Tool, input: Record<string, unknown>): Promise<string> {
  return (await assertRejects(() => call(tool, input), Error)).message;
}

Deno.test("parseToolSpec reads name and grants, with the working directory as default", () => {
  assertEquals(parseToolSpec("read_file"), { name: "read_file", grants: ["."] });
  assertEquals(parseToolSpec("read_file=src, docs,src"), { name: "read_file", grants: ["src", "docs"] });
  assertEquals(parseToolSpec("fetch_url=Example.com,localhost:80,[::1]:8080"), {
    name: "fetch_url",
    grants: ["example.com", "localhost:80", "[::1]:8080"],
  });
  assertEquals(parseToolSpec("run_command=git,./x=y.sh"), { name: "run_command", grants: ["git", "./x=y.sh"] });
});

Deno.test("parseToolSpec refuses what it cannot grant", () => {
  const cases: [string, RegExp][] = [
    ["", /the built-in tools are read_file, /],
    ["bash", /Cannot use the tool "bash": the built-in tools are/],
    ["toString", /built-in tools are/],
    ["read_file=", /name its directories/],
    ["read_file=a,,b", /name its directories/],
    ["fetch_url", /name its hosts, as in fetch_url=example.com/],
    ["run_command", /name its programs/],
    ["run_command=", /name its programs/],
    ["run_command=a\nb", /control character/],
    ["fetch_url=https://example.com", /without a scheme or path/],
    ["fetch_url=example.com/x", /without a scheme/],
    ["fetch_url=u:p@example.com", /without a scheme/],
    ["fetch_url=*.example.com", /without a scheme/],
    ["fetch_url=exa mple.com", /without a scheme/],
    ["fetch_url=example.com:99999", /without a scheme/],
    ["fetch_url=example.com?x", /without a scheme/],
  ];
  for (const [text, why] of cases) {
    const error = assertThrows(() => parseToolSpec(text), TypeError);
    assertMatch(error.message, why);
  }
});

Deno.test("mergeToolSpecs and toolNeeds name each permission once, exactly", () => {
  const specs = ["read_file=a", "edit_file=a,b", "fetch_url=h:1", "run_command=git", "read_file=a,c"].map(
    parseToolSpec,
  );
  const merged = mergeToolSpecs(specs);
  assertEquals(merged.map((spec) => spec.name), ["read_file", "edit_file", "fetch_url", "run_command"]);
  assertEquals(merged[0]!.grants, ["a", "c"]);
  const none = { read: [], write: [], net: [], run: [] };
  assertEquals(merged.map(toolNeeds), [
    { ...none, read: ["a", "c"] },
    { ...none, read: ["a", "b"], write: ["a", "b"] },
    { ...none, net: ["h:1"] },
    { ...none, run: ["git", "kill"] },
  ]);
});

Deno.test("the tools' descriptions quote what is granted", async () => {
  const grants = { directories: "..", hosts: "localhost,a.example:8080", programs: "deno,kill" };
  const names = { directories: '"..".', hosts: '"localhost", "a.example:8080".', programs: '"deno", "kill".' };
  for (const [name, { grants: kind }] of Object.entries(BUILTIN_TOOLS)) {
    const { description } = await tool(`${name}=${grants[kind]}`);
    assert(description.endsWith(` ${names[kind]}`), description);
  }
});

Deno.test("createTools makes valid tools, pure where they only read", async () => {
  await withTree(async (_dir, grant) => {
    const specs = Object.entries(BUILTIN_TOOLS).map(([name, { grants }]) =>
      parseToolSpec(`${name}=${{ directories: grant, hosts: "localhost", programs: "deno" }[grants]}`)
    );
    const tools = await createTools(specs);
    validateTools(tools);
    for (const tool of tools) {
      assertEquals(tool.pure ?? false, BUILTIN_TOOLS[tool.name as ToolName].pure);
      for (const required of (tool.inputSchema.required ?? []) as string[]) {
        assert(required in (tool.inputSchema.properties as object));
      }
    }
    await assertRejects(
      () => createTools([parseToolSpec(`read_file=${grant}/a.txt`)]),
      TypeError,
      "it is no directory",
    );
    await assertRejects(() => createTools([parseToolSpec(`read_file=${grant}/absent`)]), TypeError, "no such file");
  });
});

Deno.test({
  name: "createTools names every missing flag",
  permissions: {
    read: ["src"],
    write: false,
    net: false,
    run: false,
    env: false,
    import: false,
    sys: false,
    ffi: false,
  },
  async fn() {
    const specs = ["read_file=src", "edit_file=src,docs", "fetch_url=h:1", "run_command=deno"].map(parseToolSpec);
    const error = await assertRejects(() => createTools(specs));
    assert(isPawlError(error, "permission"));
    for (const flag of ["--allow-read=docs", "--allow-write=src,docs", "--allow-net=h:1", "--allow-run=deno"]) {
      assertStringIncludes(error.message, flag);
    }
  },
});

Deno.test("file tools stay inside the granted directories", async () => {
  await withTree(async (dir, grant) => {
    const outside = [
      "../secret.txt",
      "out.txt",
      "up/secret.txt",
      "../in-not/secret.txt",
      "/etc/passwd",
      "..",
      "sub/../../secret.txt",
    ]
      .map((path) => path.startsWith("/") ? path : `${grant}/${path}`);
    for (const name of ["read_file", "search_files", "list_files", "write_file", "edit_file"]) {
      const made = await tool(`${name}=${grant}`);
      for (const path of [...outside, "../".repeat(40) + "etc/passwd"]) {
        const input = { path, pattern: "s", content: "x", old_text: "secret", new_text: "x" };
        const message = await failure(made, input);
        assertStringIncludes(
          message,
          `"${path}": it is outside of the granted directories ("${grant}")`,
          `${name} ${path}`,
        );
        assert(!message.slice(message.indexOf(":")).includes("secret.txt"));
      }
      for (const path of ["", "a\0b", 7]) {
        if (name !== "list_files" || path !== "") {
          const input = { path, pattern: "x", content: "x", old_text: "a", new_text: "b" };
          if (name !== "search_files" || path !== "") {
            assertMatch(await failure(made, input), /Cannot use the (path|input)/);
          }
        }
      }
    }
    assertEquals(await Deno.readTextFile(`${dir}/secret.txt`), "secret");
    const read = await tool(`read_file=${grant}`);
    assertEquals(
      await failure(read, { path: `${dir}/absent` }),
      await failure(read, { path: `${dir}/secret.txt` }).then((text) => text.replace("secret.txt", "absent")),
    );
    assertEquals(await call(read, { path: `${grant}/link.txt` }), "one\ntwo\nthree");
  });
});

Deno.test("file tools refuse FIFOs, devices and sockets instead of waiting for them", async () => {
  await withTree(async (_dir, grant) => {
    assert((await new Deno.Command("mkfifo", { args: [`${grant}/fifo`] }).output()).success);
    for (
      const [name, input] of [["read_file", {}], ["search_files", { pattern: "x" }], ["write_file", { content: "x" }], [
        "edit_file",
        { old_text: "a", new_text: "b" },
      ]] as const
    ) {
      assertMatch(
        await failure(await tool(`${name}=${grant}`), { path: `${grant}/fifo`, ...input }),
        /no regular file/,
      );
    }
    assertEquals(await call(await tool(`search_files=${grant}`), { pattern: "nothing such" }), "(no matches)");
    assertMatch(await failure(await tool("read_file=/dev"), { path: "/dev/zero" }), /no regular file/);
  });
});

Deno.test("read_file reads lines, says how to go on, and stays within its caps", async () => {
  await withTree(async (_dir, grant) => {
    const read = await tool(`read_file=${grant}`);
    const path = `${grant}/x`;
    const cases: [string, Record<string, unknown>, string][] = [
      ["", {}, "(empty file)"],
      ["a", {}, "a"],
      ["a\n", {}, "a"],
      ["a\n\n", {}, "a\n"],
      ["a\r\nb\r\n", {}, "a\nb"],
      ["\ufeffa\nb\nc", { offset: 2, limit: 1 }, "b\n[lines 2 to 2; the file goes on: read it with offset 3]"],
      ["a\nb\nc", { offset: 2, limit: 2 }, "b\nc"],
      ["a\nb\nc\n", { offset: 3, numbers: true }, "3: c"],
      ["a\nb\n", { offset: 3 }, "(the file has 2 lines)"],
      ["a\nb\n", { offset: 99, limit: -1 }, "(the file has 2 lines)"],
      ["a\nb", { offset: "x", limit: NaN }, "a\nb"],
      ["x".repeat(2000), {}, "x".repeat(2000)],
      ["x".repeat(2001) + "\ny", {}, "x".repeat(2000) + " […]\ny"],
    ];
    for (const [text, input, want] of cases) {
      await Deno.writeTextFile(path, text);
      assertEquals(await call(read, { path, ...input }), want);
    }
    await Deno.writeTextFile(path, "é😀".repeat(200_000) + "\nlast");
    assertMatch(await call(read, { path }), / \[…\]\nlast$/);
    await Deno.writeTextFile(
      path,
      Array.from({ length: 5000 }, (_, i) => `line ${i + 1} ${"x".repeat(100)}`).join("\n"),
    );
    let [offset, lines] = [1, 0];
    for (;;) {
      const text = await call(read, { path, offset, limit: 9999 });
      assert(text.length < 50 * 1024);
      const next = /go(?:es)? on: read it with offset (\d+)\]$/.exec(text)?.[1];
      lines += text.split("\n").length - (next ? 1 : 0);
      assertMatch(text, new RegExp(`^line ${offset} `));
      if (!next) break;
      offset = Number(next);
    }
    assertEquals(lines, 5000);
    await Deno.writeFile(path, new Uint8Array([1, 2, 0, 3]));
    assertMatch(await failure(read, { path }), /no text/);
    assertMatch(await failure(read, { path: grant }), /is a directory/);
    assertMatch(await failure(read, { path: `${grant}/a.txt/x` }), /no such file/);
    assertMatch(await failure(read, { path: `${grant}/dangling.txt` }), /no such file/);
  });
});

Deno.test("read_file says why a file cannot be opened, and tells no path that was not asked for", async () => {
  await withTree(async (_, grant) => {
    const read = await tool(`read_file=${grant}`);
    const { open } = Deno;
    // As who runs the tests may be allowed to open everything.
    Deno.open = (path) => {
      const error = new Deno.errors.PermissionDenied(`Permission denied (os error 13): open '/real${path}'`);
      return Promise.reject(Object.assign(error, { code: "EACCES" }));
    };
    try {
      const path = `${grant}/a.txt`;
      assertEquals(await failure(read, { path }), `Cannot read "${path}": the file system does not permit it`);
    } finally {
      Deno.open = open;
    }
  });
});

Deno.test("list_files lists in order, marks what is what, and follows no link", async () => {
  await withTree(async (_dir, grant) => {
    const list = await tool(`list_files=${grant}`);
    const all = ["a.txt", "dangling.txt@", "link.txt@", "out.txt@", "sub/", "sub/b.ts", "up@"].map((name) =>
      `${grant}/${name}`
    );
    assertEquals((await call(list, {})).split("\n"), all);
    assertEquals(await call(list, { path: `${grant}/sub` }), `${grant}/sub/b.ts`);
    assertEquals(await call(list, { depth: 1 }), all.filter((name) => !name.endsWith("b.ts")).join("\n"));
    assertEquals(await call(list, { files: "*.ts" }), `${grant}/sub/b.ts`);
    assertEquals(await call(list, { files: "*.nope" }), "(no files)");
    assertMatch(await failure(list, { path: `${grant}/a.txt` }), /is a file/);
    await Deno.writeTextFile(`${grant}/sub/a\nb`, "");
    assertStringIncludes(await call(list, { path: `${grant}/sub` }), `${grant}/sub/a?b`);
    await Deno.mkdir(`${grant}/many`);
    for (let i = 0; i < 1100; i++) await Deno.writeTextFile(`${grant}/many/${i}`, "");
    const lines = (await call(list, { path: `${grant}/many` })).split("\n");
    assertEquals(lines.length, 1001);
    assertMatch(lines.at(-1)!, /there are more/);
  });
});

Deno.test("search_files finds text as it stands, or by a pattern, and pages", async () => {
  await withTree(async (_dir, grant) => {
    const search = await tool(`search_files=${grant}`);
    assertEquals(await call(search, { pattern: "one" }), `${grant}/a.txt:1: one\n${grant}/sub/b.ts:1: const one = 1;`);
    assertEquals(await call(search, { pattern: "o.e" }), "(no matches)");
    assertEquals(await call(search, { pattern: "^O.E$", regex: true, ignore_case: true }), `${grant}/a.txt:1: one`);
    assertEquals(await call(search, { pattern: "TWO", ignore_case: true }), `${grant}/a.txt:2: two`);
    assertEquals(await call(search, { pattern: "one", files: "*.ts" }), `${grant}/sub/b.ts:1: const one = 1;`);
    assertEquals(
      await call(search, { pattern: "t", path: `${grant}/a.txt`, limit: 1 }),
      `${grant}/a.txt:2: two\n[there are more: go on with offset 1]`,
    );
    assertEquals(await call(search, { pattern: "t", path: `${grant}/a.txt`, offset: 1 }), `${grant}/a.txt:3: three`);
    assertEquals(await call(search, { pattern: "t", path: `${grant}/a.txt`, offset: 2 }), "(there are 2 matches)");
    assertMatch(await failure(search, { pattern: "" }), /empty/);
    assertMatch(await failure(search, { pattern: "a\nb" }), /more than one line/);
    assertMatch(await failure(search, { pattern: "(a", regex: true }), /not closed/);
    await Deno.writeFile(`${grant}/sub/bin`, new Uint8Array([0, 111, 110, 101]));
    await Deno.writeTextFile(`${grant}/sub/long`, "x".repeat(1000) + "needle\r\n");
    await Deno.writeFile(`${grant}/sub/huge`, new Uint8Array(5 * 1024 * 1024).fill(65));
    assertEquals(
      await call(search, { pattern: "needle$", regex: true, path: `${grant}/sub` }),
      `${grant}/sub/long:1: ${"x".repeat(300)} […]\n[not searched: ${grant}/sub/huge: larger than 4 MiB]`,
    );
  });
});

Deno.test("write_file makes and replaces files whole, and keeps the mode", async () => {
  await withTree(async (_dir, grant) => {
    const write = await tool(`write_file=${grant}`);
    assertEquals(
      await call(write, { path: `${grant}/new/deep/x.txt`, content: "ü" }),
      `Made ${grant}/new/deep/x.txt (2 bytes)`,
    );
    assertEquals(await Deno.readTextFile(`${grant}/new/deep/x.txt`), "ü");
    await Deno.chmod(`${grant}/a.txt`, 0o751);
    assertEquals(await call(write, { path: `${grant}/link.txt`, content: "" }), `Replaced ${grant}/a.txt (0 bytes)`);
    assertEquals((await Deno.stat(`${grant}/a.txt`)).size, 0);
    assertEquals((await Deno.stat(`${grant}/a.txt`)).mode! & 0o777, 0o751);
    assert((await Deno.lstat(`${grant}/link.txt`)).isSymlink);
    assertMatch(await failure(write, { path: grant, content: "x" }), /it is a directory/);
    assertMatch(await failure(write, { path: `${grant}/a.txt/x`, content: "x" }), /no directory/);
    assertMatch(await failure(write, { path: `${grant}/dangling.txt`, content: "x" }), /link to nothing/);
    for (const path of ["sub/.git/hooks/pre-commit", ".git/config", ".GIT/x", ".pawl/skills/x.md", "sub/.pawl/y"]) {
      assertMatch(
        await failure(write, { path: `${grant}/${path}`, content: "x" }),
        /nothing below \.(git|pawl) may be changed/i,
      );
    }
    assertEquals([...Deno.readDirSync(grant)].filter(({ name }) => name.endsWith(".tmp")), []);
  });
});

Deno.test("edit_file replaces what is there exactly once, and nothing else", async () => {
  await withTree(async (_dir, grant) => {
    const edit = await tool(`edit_file=${grant}`);
    const path = `${grant}/e.txt`;
    const cases: [string, string, string, string][] = [
      ["one\ntwo\n", "two", "$& 2", "one\n$& 2\n"],
      ["\ufeffa\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "\ufeffx\r\ny\r\nz\r\nc\r\n"],
      ["a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"],
      ["a\r\nb\nc", "b", "x\ny", "a\r\nx\ny\nc"],
      ["abc", "abc", "", ""],
    ];
    for (const [before, old_text, new_text, after] of cases) {
      await Deno.writeTextFile(path, before);
      assertMatch(await call(edit, { path, old_text, new_text }), /^Edited .*, line \d$/);
      assertEquals(await Deno.readTextFile(path), after);
    }
    await Deno.writeTextFile(path, "a\n  b\na\naaa\n");
    const refused: [Record<string, unknown>, RegExp][] = [
      [{ old_text: "a", new_text: "b" }, /it 5 times, in lines 1, 3, 4, 4, 4; give more/],
      [{ old_text: "aa", new_text: "b" }, /it 2 times/],
      [{ old_text: "zzz", new_text: "b" }, /is not in it; read the file first/],
      [{ old_text: "b\nc", new_text: "b" }, /is not in it; line 2 differs/],
      [{ old_text: "", new_text: "b" }, /old_text is empty/],
      [{ old_text: "b", new_text: "b" }, /are the same/],
      [{ old_text: "b", new_text: "c", path: `${grant}/absent` }, /no such file/],
      [{ old_text: "b" }, /new_text must be a string/],
      [{ old_text: "one", new_text: "x", path: `${grant}/sub/.git/config` }, /nothing below \.git/],
    ];
    for (const [input, why] of refused) assertMatch(await failure(edit, { path, ...input }), why);
    assertEquals(await Deno.readTextFile(path), "a\n  b\na\naaa\n");
    await Deno.writeFile(path, new Uint8Array([0xff, 0x61]));
    assertMatch(await failure(edit, { path, old_text: "a", new_text: "b" }), /no UTF-8/);
    assertEquals(await Deno.readFile(path), new Uint8Array([0xff, 0x61]));
    assertEquals([...Deno.readDirSync(grant)].filter(({ name }) => name.endsWith(".tmp")), []);
  });
});

Deno.test("loadToolsFile loads one tool or several, and says in one line what is wrong", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const load = async (name: string, text: string) => {
      await Deno.writeTextFile(`${dir}/${name}`, text);
      return await loadToolsFile(`${dir}/${name}`);
    };
    const tool = `{ name: "t", description: "d", inputSchema: { type: "object" }, run: () => "x" }`;
    assertEquals(
      (await load("a # 1%.ts", `const t: { name: string } = ${tool}; export default t;`)).map((t) => t.name),
      ["t"],
    );
    assertEquals((await load("b.ts", `export default [${tool}];`)).length, 1);
    const cases: [string, RegExp][] = [
      ["export const x = 1;", /its default export is no tool/],
      ["export default [];", /no tool and no array/],
      ["export default null;", /no tool and no array/],
      [`export default [${tool}, ${tool}];`, /name is taken/],
      ["export default { name: 'x y' };", /its name must match/],
      ["throw new Error('boom\\nmore \\x1b[31m')", /: boom$/],
      ["throw 7", /: 7$/],
      ["throw new RangeError('far')", /: RangeError: far$/],
      ["export default {", /: SyntaxError: |: The module's source code/],
    ];
    for (const [i, [text, why]] of cases.entries()) {
      const error = await assertRejects(() => load(`c${i}.ts`, text), TypeError);
      assertMatch(error.message, why);
      assertMatch(error.message, /^Cannot load the tools file ".*c\d\.ts": [^\n\x1b]+$/);
    }
    await assertRejects(() => loadToolsFile(`${dir}/absent.ts`), TypeError, "Cannot load the tools file");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
