import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Endpoint, startEndpoint } from "../support/endpoint.ts";
import { inDirectory, lines, pawl, pawlNeedsAll, pawlWith } from "./pawl.ts";

const SKILL = "---\nname: rhyme\ndescription: Use when asked for a poem\n---\nAnswer in rhyme.\n";

async function withSkill(use: (endpoint: Endpoint, cwd: string) => Promise<void>): Promise<void> {
  const endpoint = startEndpoint();
  try {
    await inDirectory(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/rhyme.md`, SKILL);
      await use(endpoint, cwd);
    });
  } finally {
    await endpoint.close();
  }
}

function run({ url }: Endpoint, ...args: string[]): string[] {
  return ["run", "--base-url", `${url}/v1`, "-m", "scripted", ...args];
}

Deno.test("pawl run --skill advertises it with the built-in ones, and lets the model load it", async () => {
  await withSkill(async (endpoint, cwd) => {
    const { code, stdout, flags } = await pawlNeedsAll(
      run(endpoint, "-s", "Be kind.", "--skill", "rhyme.md", "call load_skill for rhyme"),
      { cwd },
    );
    assertEquals([code, flags[1]], [0, "--allow-read=rhyme.md"]);
    const { system, tools } = endpoint.heard[0]!;
    assertMatch(system, /^Be kind\.\n\nAvailable skills/);
    assertStringIncludes(system, "- rhyme: Use when asked for a poem");
    assertEquals(tools.map(({ name }) => name), ["load_skill"]);
    assertMatch(stdout, /^The tool says /);
  });
});

Deno.test("pawl run --use-skill starts with a skill in full", async () => {
  await withSkill(async (endpoint, cwd) => {
    await pawl(run(endpoint, "--skill", "rhyme.md", "--use-skill", "rhyme", "hi"), { cwd });
    assertStringIncludes(endpoint.heard[0]!.system, "Answer in rhyme.");
    const wrong = await pawl(run(endpoint, "--skill", "rhyme.md", "--use-skill", "rime", "hi"), { cwd });
    assertEquals([wrong.code, lines(wrong.stderr).length], [2, 1]);
    assertStringIncludes(wrong.stderr, "did you mean rhyme?");
  });
});

Deno.test("pawl offers skills in a session as long as the model may load them, and once", async () => {
  await withSkill(async (endpoint, cwd) => {
    const skill = ["--skill", "rhyme.md"];
    const steps: [string[], offers: number, inFull: number][] = [
      [["-s", "A", ...skill], 1, 0],
      [skill, 1, 0],
      [[], 0, 0],
      [[...skill, "--use-skill", "rhyme"], 1, 1],
      [[...skill, "--use-skill", "rhyme"], 1, 1],
      [["--append-system", "B", ...skill], 1, 0],
    ];
    for (const command of ["run", "chat"]) {
      for (const [flags, offers, inFull] of steps) {
        const [, ...at] = run(endpoint, "--session", "s.jsonl", ...flags);
        const { code } = await pawl([command, ...at, ...command === "run" ? ["hi"] : []], { cwd, stdin: "hi\n" });
        const { system, tools } = endpoint.heard.at(-1)!;
        const count = (text: string) => system.split(text).length - 1;
        assertEquals([code, tools.length, count("Available skills"), count("Answer in rhyme.")], [
          0,
          offers,
          offers,
          inFull,
        ]);
        assertMatch(system, /^A/);
      }
    }
  });
});

Deno.test("pawl chat goes on offering skills when /system replaces the prompt", async () => {
  await withSkill(async (endpoint, cwd) => {
    const [, ...at] = run(endpoint, "--skill", "rhyme.md");
    await pawl(["chat", ...at], { cwd, stdin: "/system Be brief.\nhi\n" });
    assertMatch(endpoint.heard[0]!.system, /^Be brief\.\n\nAvailable skills/);
  });
});

Deno.test("pawl run without skills has no advertisement and no tool", async () => {
  await withSkill(async (endpoint, cwd) => {
    await Deno.mkdir(`${cwd}/.pawl/skills`, { recursive: true });
    await Deno.rename(`${cwd}/rhyme.md`, `${cwd}/.pawl/skills/rhyme.md`);
    const net = `--allow-net=${endpoint.host}`;
    await pawlWith([net], run(endpoint, "hi"), { cwd });
    await pawlWith([net, "--allow-read=."], run(endpoint, "--no-skills", "hi"), { cwd });
    await pawlWith([net, "--allow-read=."], run(endpoint, "hi"), { cwd });
    assertEquals(endpoint.heard.map(({ system, tools }) => [system.includes("rhyme"), tools.length]), [
      [false, 0],
      [false, 0],
      [true, 1],
    ]);
  });
});

Deno.test("pawl run tells broken skills that were named, all of them, and exits 3", async () => {
  await withSkill(async (endpoint, cwd) => {
    await Deno.writeTextFile(`${cwd}/nameless.md`, "---\ndescription: x\n---\nbody\n");
    const { code, stderr } = await pawl(run(endpoint, "--skill", "nameless.md", "hi"), { cwd });
    assertEquals([code, lines(stderr).length], [3, 1]);
    assertMatch(stderr, /^error: invalid_skill: .*nameless\.md/);
  });
});

Deno.test("pawl skills lists, shows and validates", async () => {
  await withSkill(async (_, cwd) => {
    const listed = await pawlNeedsAll(["skills", "--skill", "rhyme.md"], { cwd });
    assertEquals([listed.code, listed.stderr, listed.flags], [0, "", ["--allow-read=rhyme.md"]]);
    assertStringIncludes(listed.stdout, "rhyme: Use when asked for a poem (rhyme.md)\n");
    assertStringIncludes(listed.stdout, "(built-in)\n");
    const shown = await pawl(["skills", "show", "rhyme", "--skill", "rhyme.md"], { cwd });
    assertEquals(shown.stdout, "Answer in rhyme.\n");
    const only = await pawl(["skills", "--no-skills", "--skill", "rhyme.md"], { cwd });
    assertEquals([only.code, only.stdout], [0, "rhyme: Use when asked for a poem (rhyme.md)\n"]);
    assertEquals((await pawl(["skills", "--no-skills"], { cwd })).stdout, "");
    const none = await pawl(["skills", "show", "rime", "--skill", "rhyme.md"], { cwd });
    assertEquals([none.code, lines(none.stderr).length], [2, 1]);
    const valid = await pawlNeedsAll(["skills", "validate", "rhyme.md"], { cwd });
    assertEquals([valid.code, valid.stdout], [0, "✓ rhyme.md\n"]);
    await Deno.writeTextFile(`${cwd}/bad.md`, "no frontmatter");
    const invalid = await pawl(["skills", "validate", "bad.md", "rhyme.md"], { cwd });
    assertEquals(invalid.code, 3);
    assertMatch(invalid.stdout, /^✗ bad\.md: .*\n✓ rhyme\.md\n$/);
    const json = await pawl(["skills", "--json"], { cwd });
    assertEquals(JSON.parse(json.stdout).type, "skills");
  });
});

Deno.test("pawl skills tells what it cannot do in one line", async () => {
  for (
    const [args, why] of [
      [["shwo"], /did you mean show\?/],
      [["show"], /pawl skills show NAME/],
      [["list", "x"], /pawl skills list/],
      [["validate"], /pawl skills validate PATH/],
    ] as const
  ) {
    const { code, stderr } = await pawlWith([], ["skills", ...args]);
    assertEquals([code, lines(stderr).length], [2, 1]);
    assertMatch(stderr, why);
  }
});
