import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { BUILTIN_SKILLS } from "../../src/cli/builtin_skills.ts";
import { frontmatterParser } from "../../src/cli/frontmatter.ts";
import { collectSkills, discoverSkills, loadSkillPath, skillNeeds } from "../../src/cli/skill_files.ts";
import { discover } from "../../src/cli/skill_discovery.ts";
import { validateSkills } from "../../src/cli/skill_rules.ts";
import { isPawlError, type PawlError } from "../../src/model/error.ts";
import { loadSkills } from "../../src/skills/skill.ts";
import { moduleOf, runProgram } from "../support/program.ts";
import { renderSkills } from "../../scripts/skills.ts";

function file(name: string, description = "does something", body = "Body"): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;
}

async function withDir(files: Record<string, string>, test: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
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

Deno.test("builtin_skills.ts is what scripts/skills.ts makes of skills/", async () => {
  const root = new URL("../../", import.meta.url).pathname;
  const skills = await loadSkills(Deno, `${root}skills`);
  assertEquals(
    await Deno.readTextFile(`${root}src/cli/builtin_skills.ts`),
    renderSkills(skills),
    "run deno task skills",
  );
  assertEquals(BUILTIN_SKILLS, skills.map(({ name, description, body }) => ({ name, description, body })));
  assertEquals(BUILTIN_SKILLS.length, 3);
  for (const { path, problems } of await validateSkills(`${root}skills`)) assertEquals(problems, [], path);
});

Deno.test("frontmatterParser reads strings only, and mends missing quotes", async () => {
  const parse = await frontmatterParser();
  assertEquals(parse("name: 7\nmetadata:\n  a: yes\n  b: 1.0\n"), { name: "7", metadata: { a: "yes", b: "1.0" } });
  const mended: [string, string][] = [
    ["description: use when: always", "use when: always"],
    ['description: "a" or "b"', '"a" or "b"'],
    ["description: [x] marks", "[x] marks"],
    ["description: use it: for C:\\new", "use it: for C:\\new"],
    ["description: 'tis: so", "'tis: so"],
    ["description: >\n  folded\n  * star: text\n  & more", "folded * star: text & more\n"],
    ["description: use **bold**, a & b", "use **bold**, a & b"],
  ];
  for (const [yaml, want] of mended) {
    const { name, description } = parse(`name: x\n${yaml}\n`) as Record<string, string>;
    assertEquals([name, description!.trim()], ["x", want.trim()]);
  }
  const strict = await frontmatterParser({ strict: true });
  assertThrows(() => strict("name: x\ndescription: use when: always\n"), Error);
});

Deno.test("frontmatterParser refuses anchors, aliases, merge keys and what ends the parser", async () => {
  const parse = await frontmatterParser();
  for (
    const yaml of [
      "a: &x 1\nb: *x",
      "&x a: 1",
      "a:\n  - &x 1",
      "a:\n  - *x",
      "a: [&x 1, *x]",
      "a: {b: &x 1}",
      "<<: {a: 1}",
      "a:\n  <<: *x",
      "description: *x",
      '"a b": &x 1',
      "a:\n  - b: &x 1",
    ]
  ) assertThrows(() => parse(`name: x\n${yaml}\n`), Error, "holds an anchor, an alias or a merge key", yaml);
  for (
    const yaml of ["[".repeat(8000), "{a: ".repeat(2000), "a: !!js/function 'x'", "\t", "a: 1\na: 2", "- ".repeat(4000)]
  ) {
    try {
      parse(yaml);
    } catch (error) {
      assert(error instanceof Error && !(error instanceof RangeError));
    }
  }
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
  parse("__proto__:\n  polluted: yes\n");
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("loadSkillPath loads a file, a skill's directory, its SKILL.md, or a directory of skills", async () => {
  await withDir({
    "all/one/SKILL.md": file("one", "use when: always"),
    "all/one/references/a.md": "x",
    "all/two.md": file("two", ">\n  folded"),
    "all/one/evil.txt": "x",
  }, async (dir) => {
    const one = {
      name: "one",
      description: "use when: always",
      body: "Body",
      directory: `${dir}/all/one`,
      files: ["evil.txt", "references/a.md"],
      source: `${dir}/all/one`,
    };
    assertEquals(await loadSkillPath(`${dir}/all/one`), [one]);
    assertEquals(await loadSkillPath(`${dir}/all/one/`), [{
      ...one,
      directory: `${dir}/all/one/`,
      source: `${dir}/all/one/`,
    }]);
    assertEquals(await loadSkillPath(`${dir}/all/one/SKILL.md`), [one]);
    const two = { name: "two", description: "folded", body: "Body" };
    assertEquals(await loadSkillPath(`${dir}/all/two.md`), [{ ...two, source: `${dir}/all/two.md` }]);
    assertEquals((await loadSkillPath(`${dir}/all`)).map(({ name, source }) => [name, source]), [
      ["one", `${dir}/all/one`],
      ["two", `${dir}/all`],
    ]);
    const program = `
      import { loadSkillPath } from ${moduleOf("src/cli/skill_files.ts")};
      console.log(JSON.stringify([await loadSkillPath("."), await loadSkillPath("SKILL.md")]));`;
    const [here, file] = await runProgram(`${dir}/all/one`, program) as Awaited<ReturnType<typeof loadSkillPath>>[];
    assertEquals(here!.map(({ name, directory, files }) => [name, directory, files?.length]), [["one", ".", 2]]);
    assertEquals(file!.map(({ name }) => name), ["one"]);
    assertEquals(skillNeeds("a/SKILL.md"), { read: ["a"] });
    assertEquals(skillNeeds("a/x.md"), { read: ["a/x.md"] });
    assertEquals(skillNeeds("a"), { read: ["a"] });
  });
});

Deno.test("loadSkillPath fails loudly and lists every offender", async () => {
  await withDir({
    "bad/one/SKILL.md": file("two"),
    "bad/README.md": "no skill",
    "bad/c.md": "---\nmetadata: [\n---\n",
    "none/x.txt": "",
    "single/SKILL.md": "---\nname: single\n---\n",
    "secret.md": file("secret"),
    "link/x.txt": "",
  }, async (dir) => {
    const offenders = async (path: string) => {
      const error = await assertRejects(() => loadSkillPath(`${dir}/${path}`));
      assert(isPawlError(error, "invalid_skill"), String(error));
      return (error as PawlError & { offenders?: string[] }).offenders?.map((line) => line.slice(dir.length + 1)) ??
        error.message;
    };
    const [readme, broken, name] = await offenders("bad") as string[];
    assertEquals(readme, "bad/README.md: it has no frontmatter");
    assertMatch(broken!, /^bad\/c\.md: its frontmatter cannot be read: /);
    assertEquals(name, 'bad/one/SKILL.md: its name "two" is not its directory\'s');
    assertEquals(await offenders("bad/README.md"), ["bad/README.md: it has no frontmatter"]);
    assertEquals(await offenders("single"), ["single/SKILL.md: it has no description"]);
    assertMatch(String(await offenders("none")), /there is none in it$/);
    assertMatch(String(await offenders("absent")), /no such file or directory$/);
    await Deno.symlink(`${dir}/secret.md`, `${dir}/link/SKILL.md`);
    assertEquals(await offenders("link"), ["link/SKILL.md: it is no file, or a link out of the folder"]);
    assert((await new Deno.Command("mkfifo", { args: [`${dir}/fifo.md`] }).output()).success);
    assertMatch(String(await offenders("fifo.md")), /no regular file$/);
  });
});

Deno.test("discoverSkills looks in project and home, leniently, the project first", async () => {
  await withDir({
    "project/.pawl/skills/flat.md": file("flat", "from .pawl"),
    "project/.pawl/skills/deep/er/nested/SKILL.md": file("nested", "use when: nested"),
    "project/.pawl/skills/deep/er/nested/inner/SKILL.md": file("inner"),
    "project/.pawl/skills/deep/er/nested/scripts/x.sh": "",
    "project/.pawl/skills/deep/notes.md": "no skill, not at the top",
    "project/.pawl/skills/misnamed/SKILL.md": file("Other Name"),
    "project/.pawl/skills/nodesc/SKILL.md": "---\nname: nodesc\n---\n",
    "project/.pawl/skills/README.md": "read me",
    "project/.pawl/skills/node_modules/x/SKILL.md": file("x"),
    "project/.pawl/skills/.git/y/SKILL.md": file("y"),
    "project/.pawl/skills/1/2/3/4/5/6/SKILL.md": file("6"),
    "project/.pawl/skills/1/2/3/4/5/6b/7/SKILL.md": file("7"),
    "project/.agents/skills/flat/SKILL.md": file("flat", "from .agents"),
    "home/.agents/skills/mine/SKILL.md": file("mine"),
    "home/.pawl/skills/commit-message.md": file("commit-message", "my own"),
    "outside/SKILL.md": file("outside"),
  }, async (dir) => {
    await Deno.symlink(`${dir}/outside`, `${dir}/project/.pawl/skills/outside`);
    await Deno.symlink(`${dir}/outside/SKILL.md`, `${dir}/project/.pawl/skills/link.md`);
    const options = { project: `${dir}/project`, home: `${dir}/home` };
    const { skills, warnings } = await discoverSkills(options);
    assertEquals(skills.map(({ name, description }) => [name, description]).sort(), [
      ["6", "does something"],
      ["Other Name", "does something"],
      ["commit-message", "my own"],
      ["flat", "from .pawl"],
      ["mine", "does something"],
      ["nested", "use when: nested"],
    ]);
    const nested = skills.find(({ name }) => name === "nested")!;
    const at = `${dir}/project/.pawl/skills`;
    assertEquals(nested.directory, `${at}/deep/er/nested`);
    assertEquals(nested.files, ["inner/SKILL.md", "scripts/x.sh"]);
    assertEquals(warnings.sort(), [
      `Skipped the skill ${dir}/project/.agents/skills/flat/SKILL.md: its name is that of ${at}/flat.md`,
      `Skipped the skill ${at}/README.md: it has no frontmatter`,
      `Skipped the skill ${at}/link.md: it is no file, or a link out of the folder`,
      `Skipped the skill ${at}/nodesc/SKILL.md: it has no description`,
      `Skipped the skill ${at}/outside: it is no file, or a link out of the folder`,
      `The skill ${at}/misnamed/SKILL.md breaks a rule: its name "Other Name" is not its directory's`,
    ]);
    const all = await collectSkills({ ...options, paths: [`${dir}/outside`] });
    assertEquals(all.skills.map(({ name }) => name), [
      "6",
      "Other Name",
      "commit-message",
      "find-cause",
      "flat",
      "mine",
      "nested",
      "outside",
      "review-change",
    ]);
    assertEquals(
      all.warnings.at(-1),
      `The skill "commit-message" in ${dir}/home/.pawl/skills/commit-message.md replaces the built-in one`,
    );
    assertEquals(all.skills.find(({ name }) => name === "find-cause")!.source, "built-in");
    const named = await collectSkills({ ...options, paths: [`${dir}/outside`], onlyNamed: true });
    assertEquals([named.skills.map(({ name }) => name), named.warnings], [["outside"], []]);
    assertEquals(await discoverSkills({ project: `${dir}/nowhere` }), { skills: [], warnings: [] });
  });
});

Deno.test("discover looks into a bounded number of directories", async () => {
  await withDir({ "a.md": file("a"), "00/SKILL.md": file("00"), "99/SKILL.md": file("99") }, async (dir) => {
    for (let i = 10; i < 40; i++) await Deno.mkdir(`${dir}/${i}`);
    const { skills, warnings } = await discover([dir], { maxDirectories: 20 });
    assertEquals(skills.map(({ name }) => name), ["a", "00"]);
    assertEquals(warnings, [`Skipped the rest of ${dir}: it has more than 20 directories`]);
    assertEquals((await discover([dir])).skills.length, 3);
  });
});

Deno.test({
  name: "discoverSkills looks only where reading is permitted, and asks for nothing",
  permissions: { read: ["src"], env: false, net: false, run: false, write: false, sys: false, ffi: false },
  async fn() {
    assertEquals(await discoverSkills({ home: "/root" }), { skills: [], warnings: [] });
    const error = await assertRejects(() => loadSkillPath("skills"));
    assert(isPawlError(error, "permission"));
    assertMatch(error.message, /run with --allow-read=skills$/);
  },
});

Deno.test("validateSkills passes nothing that the loader refuses, and says what pawl does with the rest", async () => {
  await withDir({
    "all/good/SKILL.md": file("good"),
    "all/a.md": file("same"),
    "all/b.md": file("same"),
    "out/SKILL.md": file("out"),
    "out.md": file("outer"),
  }, async (dir) => {
    await Deno.symlink("../out", `${dir}/all/out`);
    await Deno.symlink("../out.md", `${dir}/all/outer.md`);
    await Deno.symlink("good/SKILL.md", `${dir}/all/inner.md`);
    await Deno.symlink("nowhere", `${dir}/all/none.md`);
    const told = (await validateSkills(`${dir}/all`)).map(({ path, problems }) => [
      path.slice(dir.length + 5),
      ...problems,
    ]);
    const link = "it is no file, or a link out of the folder";
    assertEquals(told, [
      ["a.md"],
      ["b.md", "its name is taken"],
      ["good/SKILL.md"],
      ["inner.md", "its name is taken"],
      ["none.md", link],
      ["out", link],
      ["outer.md", link],
    ]);
    const { offenders } = await assertRejects(() => loadSkillPath(`${dir}/all`)) as { offenders: string[] };
    assertEquals(offenders.length, told.filter(({ length }) => length > 1).length);
    await Deno.remove(`${dir}/all/good`, { recursive: true });
    await Deno.remove(`${dir}/all/inner.md`);
    await Deno.symlink("a.md", `${dir}/all/0.md`);
    const [first] = await validateSkills(`${dir}/all/0.md`);
    assertEquals(first!.problems, ["it is a link, which pawl follows inside of the folder only"]);
  });
});

Deno.test("validateSkills reports every problem of every skill", async () => {
  await withDir({
    "good/SKILL.md":
      "---\nname: good\ndescription: d\nlicense: MIT\ncompatibility: any\nmetadata:\n  a: 1\nallowed-tools: Read Bash\n---\nB",
    "bad/SKILL.md":
      "---\nname: Bad--\ndescription: d\nversion: 2\ncompatibility: ''\nmetadata: [a]\nlicense: [x]\n---\nB",
    "colon/SKILL.md": file("colon", "use when: always"),
    "flat.md": file("any name"),
    "sub/none.txt": "",
  }, async (dir) => {
    const reports = await validateSkills(dir);
    assertEquals(reports.map(({ path }) => path.slice(dir.length + 1)), [
      "bad/SKILL.md",
      "colon/SKILL.md",
      "flat.md",
      "good/SKILL.md",
    ]);
    assertEquals(reports[0]!.problems, [
      'its name "Bad--" is not its directory\'s',
      'its field "version" is unknown',
      "its license is no text",
      "its compatibility is no text of 1 to 500 characters",
      "its metadata is no map of texts",
    ]);
    assertEquals(reports[1]!.problems, [
      "its name or description needs quotes: pawl reads it as if it had them, others do not",
    ]);
    assertEquals(reports.slice(2).map(({ problems }) => problems), [[], []]);
    assertEquals((await validateSkills(`${dir}/good`)).length, 1);
    assertEquals((await validateSkills(`${dir}/good/SKILL.md`)).length, 1);
    for (const path of ["sub", "absent"]) {
      assert(isPawlError(await assertRejects(() => validateSkills(`${dir}/${path}`)), "invalid_skill"));
    }
  });
});
