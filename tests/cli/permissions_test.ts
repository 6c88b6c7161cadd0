import { assertEquals } from "@std/assert";
import { explain, joinNeeds, permissionFlags, shellQuote } from "../../src/cli/permissions.ts";
import { startEndpoint } from "../support/endpoint.ts";
import { inDirectory, pawl, pawlWith } from "./pawl.ts";

Deno.test("joinNeeds keeps each name once and drops empty classes", () => {
  assertEquals(joinNeeds({ read: ["a"], net: [] }, { read: ["b", "a"], run: ["git"] }), {
    read: ["a", "b"],
    run: ["git"],
  });
});

Deno.test("permissionFlags writes flags in one order, and for a path with a comma the directory above", () => {
  assertEquals(permissionFlags({ env: ["A", "B"], read: ["x,y", "z"], net: ["h:1"] }), [
    "--allow-net=h:1",
    "--allow-read=.,z",
    "--allow-env=A,B",
  ]);
  const paths = ["/a/b,c/d,e", "/a/,b", "/,a", ",a", "a/b/,", "./a,b"];
  assertEquals(permissionFlags({ write: paths }), ["--allow-write=/a,/,.,a/b"]);
  assertEquals(permissionFlags({}), []);
});

Deno.test({
  name: "permissionFlags asks for everything where Deno grants nothing less",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const some = ["/dev/null", "/dev/zero", "/dev/urandom", "/etc/passwd", "dev/stdin", "/devices"];
    assertEquals(permissionFlags({ read: some }), [`--allow-read=${some.join(",")}`]);
    assertEquals(permissionFlags({ read: ["/dev/tty"], write: ["/dev/null"] }).length, 2);
    for (const path of ["/dev/stdin", "/dev/fd/3", "//dev/shm/x", "/proc/self/fd/0", "/proc", "/sys/kernel/x"]) {
      assertEquals(permissionFlags({ net: ["h:1"], read: ["a", path] }), ["--allow-all"]);
      assertEquals(permissionFlags({ write: [path] }), ["--allow-all"]);
    }
    assertEquals(permissionFlags({ write: ["/dev/tty"] }), ["--allow-all"]);
    const endpoint = startEndpoint();
    try {
      const at = ["run", "--base-url", `${endpoint.url}/v1`, "-m", "scripted", "--no-skills"];
      const { code, stdout } = await pawl([...at, "Say", "@/dev/stdin"], { stdin: "piped" });
      assertEquals([code, stdout.includes("piped")], [0, true]);
      // What Deno says is granted, and refuses all the same.
      const exact = [`--allow-net=${endpoint.host}`, "--allow-read=/dev/stdin", "--allow-write=/dev/fd/1"];
      for (const args of [["@/dev/stdin"], ["--output", "/dev/fd/1", "hi"]]) {
        const { code, stderr } = await pawlWith(exact, [...at, ...args]);
        assertEquals([code, /^error: permission: .*: it needs --allow-all\n$/.test(stderr)], [9, true], stderr);
      }
    } finally {
      await endpoint.close();
    }
  },
});

Deno.test("shellQuote leaves plain words and quotes the rest", () => {
  for (const word of ["run", "--allow-net=h:1", "./a/b.ts", "http://h/v1"]) assertEquals(shellQuote(word), word);
  assertEquals(shellQuote("it's"), "'it'\\''s'");
  assertEquals(shellQuote(""), "''");
  assertEquals(shellQuote("$(rm) `x` \n*"), "'$(rm) `x` \n*'");
});

Deno.test("explain is a line that a shell can run", () => {
  assertEquals(
    explain({ net: ["h:1"], read: ["a b"] }, "/x/cli.ts", ["run", "-s", "", "what?"]),
    "deno run --allow-net=h:1 '--allow-read=a b' /x/cli.ts run -s '' 'what?'",
  );
});

/** A tools file that tells what is still granted while the run goes on. */
const SPY = `
const state = (d) => Deno.permissions.querySync(d).state;
export default {
  name: "spy", description: "Tells permissions", inputSchema: { type: "object" }, pure: true,
  run: () => JSON.stringify({
    env: state({ name: "env", variable: "K" }),
    prompt: state({ name: "read", path: "p.txt" }),
    granted: state({ name: "write", path: "other" }),
  }),
};`;

Deno.test("pawl gives back what has served before the model is heard", async () => {
  const endpoint = startEndpoint({
    script: ({ messages }) =>
      messages.length === 1 ? { calls: [{ name: "spy", input: {} }] } : { text: messages.at(-1)!.results[0]! },
  });
  try {
    await inDirectory(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/spy.ts`, SPY);
      await Deno.writeTextFile(`${cwd}/p.txt`, "hello");
      const flags = [
        `--allow-net=${endpoint.host}`,
        "--allow-read=spy.ts,p.txt",
        "--allow-env=K",
        "--allow-write=other",
      ];
      const args = [
        "run",
        "--base-url",
        `${endpoint.url}/v1`,
        "-m",
        "scripted",
        "--api-key-env",
        "K",
        "--no-skills",
        "--tools-file",
        "spy.ts",
        "@p.txt",
      ];
      const { code, stdout } = await pawlWith(flags, args, { cwd, env: { K: "some-long-key" } });
      assertEquals(code, 0);
      // A module of the user's may need what pawl does not know of: only what pawl has used itself is given back.
      assertEquals(JSON.parse(stdout), { env: "prompt", prompt: "prompt", granted: "granted" });
    });
  } finally {
    await endpoint.close();
  }
});

Deno.test("pawl names the flag for what a tools file imports or does at its start, and warns that there may be more", async () => {
  await inDirectory(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/other.ts`, "export default [];");
    await Deno.writeTextFile(`${cwd}/imports.ts`, 'export { default } from "./other.ts";');
    await Deno.writeTextFile(`${cwd}/reads.ts`, 'Deno.env.get("A_NAME");');
    for (const [file, flag] of [["imports.ts", `--allow-read=${cwd}/other.ts`], ["reads.ts", "--allow-env=A_NAME"]]) {
      const args = ["run", "--base-url", "http://127.0.0.1:9/v1", "-m", "x", "--tools-file", file!, "hi"];
      const flags = ["--no-prompt", "--allow-net=127.0.0.1:9", `--allow-read=${file}`];
      const { code, stderr } = await pawlWith(flags, args, { cwd });
      assertEquals([code, stderr], [
        9,
        `error: permission: Cannot load the tools file "${file}": it needs ${flag}\n`,
      ]);
      const told = await pawlWith([], ["--explain-permissions", ...args], { cwd });
      assertEquals(told.stderr, "note: what the tools file imports and does may need more\n");
    }
  });
});

Deno.test("dropPermissions gives back whole classes, exact names, and says what it cannot narrow", async () => {
  const module = new URL("../../src/cli/permissions.ts", import.meta.url).href;
  const script = `
    import { dropPermissions } from ${JSON.stringify(module)};
    const state = (d) => Deno.permissions.querySync(d).state;
    const told = dropPermissions({ net: ["h:1"], read: ["a"], env: ["K"] }, { net: ["h:1"], read: ["b"] }, ["write"]);
    console.log(JSON.stringify({
      told,
      net: state({ name: "net", host: "h:1" }),
      a: state({ name: "read", path: "a" }),
      b: state({ name: "read", path: "b" }),
      write: state({ name: "write" }),
      env: state({ name: "env", variable: "K" }),
      run: state({ name: "run" }),
      sys: state({ name: "sys" }),
      ffi: state({ name: "ffi" }),
    }));`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, script);
    const flags = [
      "--allow-net",
      "--allow-read=a,b",
      "--allow-write",
      "--allow-env=K",
      "--allow-run",
      "--allow-sys",
      "--allow-ffi",
    ];
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--quiet", ...flags, file],
      stderr: "inherit",
    });
    const { stdout } = await command.output();
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), {
      told: "--allow-net=h:1",
      net: "granted",
      a: "prompt",
      b: "granted",
      write: "granted",
      env: "prompt",
      run: "prompt",
      sys: "prompt",
      ffi: "prompt",
    });
  } finally {
    await Deno.remove(file);
  }
});
