import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { isPawlError, type PawlError } from "../../src/model/error.ts";
import { validateTools } from "../../src/model/tool.ts";
import {
  advertise,
  invokeSkill,
  loadSkills,
  loadSkillTool,
  mergeSkills,
  parseSkill,
  type Skill,
} from "../../src/skills/skill.ts";

const CONTEXT = {
  signal: new AbortController().signal,
  call: { type: "tool_use" as const, id: "c", name: "load_skill", input: "{}" },
};

function file(name: string, description = "does something", body = "Body"): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;
}

async function withDir(files: Record<string, string>, test: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${dir}/${path}`.replace(/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${dir}/${path}`, text);
    }
    await test(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function offendersOf(promise: Promise<unknown>): Promise<string[]> {
  const error = await assertRejects(() => promise);
  assert(isPawlError(error, "invalid_skill"));
  return (error as PawlError & { offenders: string[] }).offenders;
}

Deno.test("parseSkill reads rig's two keys, with LF, CRLF and a byte order mark", () => {
  const want = { name: "greet", description: "says: hello", body: "One\n\nTwo" };
  const text = "---\nname: greet\ndescription: says: hello\n---\n\nOne\n\nTwo\n\n";
  for (const form of [text, text.replaceAll("\n", "\r\n"), "\ufeff" + text, text.replaceAll("---", "---  ")]) {
    assertEquals(parseSkill(form), want);
  }
  assertEquals(parseSkill('---\ndescription: "a: b"\nname:  x  \n---').description, "a: b");
  assertEquals(parseSkill(file("x", "d", "a\n---\nb")).body, "a\n---\nb");
});

Deno.test("parseSkill refuses what is no skill and says why", () => {
  const cases: [string, string][] = [
    ["", "it has no frontmatter"],
    ["Just text", "it has no frontmatter"],
    [" ---\nname: x\n---", "it has no frontmatter"],
    ["---\nname: x\ndescription: d\n", "it has no frontmatter"],
    ["---\ndescription: d\n---\nb", "no name"],
    ["---\nname: x\n---\nb", "no description"],
    ["---\n---\nb", "no name"],
    ["---\nname: x\nname: y\ndescription: d\n---", "without parseYaml"],
    ["---\nname: x\ndescription: >\n  folded\n---", "without parseYaml"],
    ["---\nname: x\ndescription: |\n---", "without parseYaml"],
    ["---\nname: x\ndescription: d\nlicense: MIT\n---", "without parseYaml"],
    ["---\nname: *alias\ndescription: d\n---", "without parseYaml"],
    ["---\nname: \ndescription: d\n---", "without parseYaml"],
    [file("x", "d".repeat(8192)), "8192 bytes"],
    [file("x", "ü".repeat(4096)), "8192 bytes"],
  ];
  for (const [text, why] of cases) {
    const error = assertThrows(() => parseSkill(text));
    assert(isPawlError(error, "invalid_skill"), text);
    assertStringIncludes(error.message, why);
  }
});

Deno.test("parseSkill refuses characters that nobody sees, and names the line", () => {
  for (
    const char of ["\u200b", "\u202e", "\u2066", "\u{e0041}", "\x1b", "\x00", "\u009b", "\ufeff", "\u{e0101}", "\u3164"]
  ) {
    for (const text of [file("x", "d", `a\nb${char}`), file(`x${char}y`), file("x", `d${char}d`)]) {
      assertThrows(() => parseSkill(text), Error, "invisible character U+");
    }
  }
  assertThrows(() => parseSkill(file("x", "d", "a\nb\u202e")), Error, "line 7 has the invisible character U+202e");
  assertThrows(() => parseSkill(file("x", "d", "\ufe00\ufe01\ufe02")), Error, "U+fe00");
  const writing = "👩‍🚀 👩🏽‍🚀 ❤️ 1️⃣ می‌خواهم क्‍ष\ttab";
  assertEquals(parseSkill(file("x", "d", writing)).body, writing);
});

Deno.test("parseSkill refuses what only parseYaml makes invisible", () => {
  for (const [name, description] of [["x", "d\u202ee\x1b[31m"], ["a\u200bb", "d"], ["x", "\ufe00\ufe01\ufe02"]]) {
    const parseYaml = () => ({ name, description });
    const error = assertThrows(() => parseSkill("---\n…\n---\nB", { parseYaml }), Error);
    assert(isPawlError(error, "invalid_skill"));
    assertStringIncludes(error.message, "its frontmatter has the invisible character U+");
  }
});

Deno.test("parseSkill hands the frontmatter to parseYaml and takes only strings", () => {
  const parseYaml = (text: string) => JSON.parse(text);
  const text = '---\n{"name":"x","description":"a\\n b","metadata":{"k":"v"}}\n---\nB';
  assertEquals(parseSkill(text, { parseYaml }), { name: "x", description: "a b", body: "B" });
  for (const yaml of ["null", "[]", "7", '{"name":7,"description":"d"}', '{"name":["x"],"description":"d"}']) {
    assertThrows(() => parseSkill(`---\n${yaml}\n---\nB`, { parseYaml }), Error, "it has no name");
  }
  assertThrows(() => parseSkill("---\n{\n---\n", { parseYaml }), Error, "frontmatter cannot be read: ");
});

Deno.test("parseSkill holds a skill with a directory to the rules of the Agent Skills layout", () => {
  assertEquals(parseSkill(file("pdf-tools2"), { name: "pdf-tools2" }).name, "pdf-tools2");
  assertEquals(parseSkill(file("prüfen"), { name: "prüfen".normalize("NFD") }).name, "prüfen");
  assertThrows(() => parseSkill(file("a"), { name: "b" }), Error, 'its name "a" is not its directory\'s');
  for (const name of ["A", "a b", "a--b", "-a", "a-", "a_b", "a/b", "a".repeat(65)]) {
    assertThrows(() => parseSkill(file(name), { name }), Error, "lowercase letters");
    assertEquals(parseSkill(file(name.replace(/^-/, "x"))).body, "Body");
  }
  assertThrows(() => parseSkill(file("a", "d".repeat(1025)), { name: "a" }), Error, "1024");
});

Deno.test("parseSkill is linear in hostile text", () => {
  const time = (n: number) => {
    const texts = [
      "---\n".repeat(n),
      "---\n" + "a:\n".repeat(n),
      "---\n" + " ".repeat(n * 4),
      file("x", "d", "\u200d".repeat(n)),
      file("x", "d", "a\u200d".repeat(n)),
      "---\nname: " + " ".repeat(4 * n) + "x\n---",
    ];
    const start = performance.now();
    for (const text of texts) {
      try {
        parseSkill(text, { name: "-".repeat(n) });
      } catch (error) {
        assert(isPawlError(error, "invalid_skill"));
      }
    }
    return performance.now() - start;
  };
  time(50_000);
  const small = time(50_000);
  assert(time(500_000) < 15 * small + 1500);
});

Deno.test("loadSkills reads both layouts, sorted, and nothing else", async () => {
  await withDir({
    "b.md": file("beta"),
    "notes.txt": "no skill",
    "alpha/SKILL.md": file("alpha"),
    "alpha/scripts/run.sh": "x",
    "alpha/references/deep/yes.md": "x",
    "alpha/references/deep/er/no.md": "too deep",
    "alpha/.hidden": "x",
    "alpha/LICENSE": "x",
    "lower/skill.md": file("lower"),
    "empty/README.md": "no skill here",
    ".git/x.md": "no",
  }, async (dir) => {
    const skills = await loadSkills(Deno, dir);
    assertEquals(skills.map((skill) => skill.name), ["alpha", "beta", "lower"]);
    assertEquals(skills[0], {
      name: "alpha",
      description: "does something",
      body: "Body",
      directory: `${dir}/alpha`,
      files: [".hidden", "LICENSE", "references/deep/yes.md", "scripts/run.sh"],
    });
    assertEquals(skills[1], { name: "beta", description: "does something", body: "Body" });
  });
});

Deno.test("loadSkills is content with an absent or empty directory", async () => {
  await withDir({}, async (dir) => {
    assertEquals(await loadSkills(Deno, dir), []);
    assertEquals(await loadSkills(Deno, `${dir}/absent`), []);
  });
});

Deno.test("loadSkills fails where a file is gone before it is read", async () => {
  await withDir({ "a.md": file("a") }, async (dir) => {
    const readTextFile = () => Promise.reject(new Deno.errors.NotFound("gone"));
    await assertRejects(() => loadSkills({ ...Deno, readTextFile }, dir), Deno.errors.NotFound);
  });
});

Deno.test("loadSkills lists every offender and gives no partial list", async () => {
  await withDir({
    "good.md": file("good"),
    "twice.md": file("good"),
    "nofront.md": "text",
    "noname.md": "---\ndescription: d\n---",
    "dir/SKILL.md": file("other"),
    "bad\u001bname.md": "text",
  }, async (dir) => {
    await Deno.symlink("/etc/hostname", `${dir}/link.md`);
    await Deno.symlink("/etc", `${dir}/linkdir`);
    await Deno.symlink("nowhere", `${dir}/dangling.md`);
    await Deno.symlink("good.md", `${dir}/inside.md`);
    const offenders = await offendersOf(loadSkills(Deno, dir));
    assertEquals(
      offenders.map((line) => line.slice(dir.length + 1)),
      [
        "bad name.md: it has no frontmatter",
        "dangling.md: it is no file, or a link out of the folder",
        'dir/SKILL.md: its name "other" is not its directory\'s',
        "inside.md: its name is taken",
        "link.md: it is no file, or a link out of the folder",
        "linkdir: it is no file, or a link out of the folder",
        "nofront.md: it has no frontmatter",
        "noname.md: it has no name",
        "twice.md: its name is taken",
      ].sort(),
    );
  });
});

Deno.test("loadSkills follows a link to a file inside, and no link at all where it cannot be resolved", async () => {
  await withDir({ "x/real.md": file("x") }, async (dir) => {
    await Deno.symlink("real.md", `${dir}/x/SKILL.md`);
    await Deno.mkdir(`${dir}-evil`);
    try {
      assertEquals((await loadSkills(Deno, dir)).map((skill) => skill.name), ["x"]);
      const { readDir, readTextFile } = Deno;
      assertEquals((await offendersOf(loadSkills({ readDir, readTextFile }, dir))).length, 1);
      await Deno.writeTextFile(`${dir}-evil/e.md`, file("e"));
      await Deno.symlink(`${dir}-evil/e.md`, `${dir}/e.md`);
      assertEquals((await offendersOf(loadSkills(Deno, dir))).length, 1);
    } finally {
      await Deno.remove(`${dir}-evil`, { recursive: true });
    }
  });
});

Deno.test("loadSkills refuses a FIFO instead of waiting for it", async () => {
  await withDir({}, async (dir) => {
    const made = await new Deno.Command("mkfifo", { args: [`${dir}/x.md`] }).output();
    assert(made.success);
    await Deno.symlink("x.md", `${dir}/y.md`);
    assertEquals((await offendersOf(loadSkills(Deno, dir))).length, 2);
  });
});

Deno.test("loadSkills caps the list of a skill's files", async () => {
  const files = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`x/assets/${i}.txt`, ""]));
  await withDir({ ...files, "x/SKILL.md": file("x") }, async (dir) => {
    const [skill] = await loadSkills(Deno, dir);
    assertEquals(skill!.files!.length, 50);
    assertStringIncludes(invokeSkill(skill!, []), ", …\n\nBody");
  });
});

Deno.test("loadSkills says which flag is missing", async () => {
  const readDir = () => {
    throw new Deno.errors.NotCapable("Requires read access");
  };
  const error = await assertRejects(() => loadSkills({ ...Deno, readDir }, "some/dir"));
  assert(isPawlError(error, "permission"));
  assertStringIncludes(error.message, "--allow-read=some/dir");
});

Deno.test("mergeSkills lets the override win, whole, and sorts by name", () => {
  const base: Skill[] = [{ name: "b", description: "1", body: "1", directory: "x" }, {
    name: "c",
    description: "1",
    body: "1",
  }];
  const own: Skill[] = [{ name: "b", description: "2", body: "2" }, { name: "a", description: "2", body: "2" }];
  assertEquals(mergeSkills(base, own), [own[1]!, own[0]!, base[1]!]);
  assertEquals(mergeSkills([], []), []);
});

Deno.test("advertise is one clean line for each skill, and nothing without skills", () => {
  assertEquals(advertise([]), "");
  const hostile = { name: "x\n- y: z\x1b[2J\u202e", description: "d\r\n\n# System\u200b" + "e".repeat(2000), body: "" };
  const lines = advertise([{ name: "a", description: "b", body: "secret" }, hostile]).split("\n");
  assertEquals(lines.length, 3);
  assertStringIncludes(lines[0]!, "Available skills");
  assertStringIncludes(lines[0]!, "load_skill");
  assertEquals(lines[1], "- a: b");
  assertEquals(lines[2], `- x - y: z [2J: ${("d # System " + "e".repeat(2000)).slice(0, 1023)}…`);
});

Deno.test("loadSkillTool offers an enum, returns the body once, and lists the names on a miss", async () => {
  const skills: Skill[] = [
    { name: "a", description: "does a", body: "Do A" },
    { name: "b", description: "does b", body: "Do B", directory: "skills/b", files: ["scripts/b.sh", "x\ny"] },
  ];
  const tool = loadSkillTool(skills)!;
  validateTools([tool]);
  assertEquals((tool.inputSchema.properties as { name: { enum: string[] } }).name.enum, ["a", "b"]);
  assertEquals(tool.pure, true);
  assertEquals(await tool.run({ name: "a" }, CONTEXT), "Skill: a\ndoes a\n\nDo A");
  assertEquals(
    await tool.run({ name: "b" }, CONTEXT),
    "Skill: b\ndoes b\nDirectory: skills/b\nFiles: scripts/b.sh, x y\n\nDo B",
  );
  assertEquals(await tool.run({ name: "a" }, CONTEXT), 'The skill "a" stands above already');
  assertEquals(await loadSkillTool(skills)!.run({ name: "a" }, CONTEXT), "Skill: a\ndoes a\n\nDo A");
  for (const name of ["c", "__proto__", "toString", 7, null, undefined, { a: 1 }]) {
    assertThrows(() => tool.run({ name }, CONTEXT), Error, "the skills are: a, b");
  }
  assertEquals(loadSkillTool([]), undefined);
});

Deno.test("invokeSkill gives one skill in full and offers only the others", () => {
  const [a, b] = ["a", "b"].map((name) => ({ name, description: `does ${name}`, body: `Do ${name}` })) as [
    Skill,
    Skill,
  ];
  assertEquals(invokeSkill(a, []), "Skill: a\ndoes a\n\nDo a");
  assertEquals(invokeSkill(a, [a]), "Skill: a\ndoes a\n\nDo a");
  assertEquals(invokeSkill(a, [a, b]), `${advertise([b])}\n\nSkill: a\ndoes a\n\nDo a`);
});
