import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Endpoint, startEndpoint } from "../support/endpoint.ts";
import { denoArgs, inDirectory, lines, pawl, pawlNeedsAll, pawlWith, shell, spawn } from "./pawl.ts";

const DIALECTS = [["openai_chat", "/v1"], ["anthropic_messages", ""]] as const;

async function withEndpoint(
  options: Parameters<typeof startEndpoint>[0],
  use: (endpoint: Endpoint) => Promise<void>,
): Promise<void> {
  const endpoint = startEndpoint(options);
  try {
    await use(endpoint);
  } finally {
    await endpoint.close();
  }
}

function at({ url }: Endpoint, ...args: string[]): string[] {
  return ["run", "--base-url", `${url}/v1`, "-m", "scripted", ...args];
}

Deno.test("pawl run prints the answer, one line feed and nothing else, in both dialects", async () => {
  await withEndpoint({}, async (endpoint) => {
    for (const [dialect, path] of DIALECTS) {
      const args = ["run", "-d", dialect, "--base-url", endpoint.url + path, "-m", "scripted", "Hello", "there"];
      const { code, stdout, stderr, flags } = await pawlNeedsAll(args);
      assertEquals([code, stdout, stderr], [0, 'You said "Hello there", and I heard it.\n', ""]);
      assertEquals(flags, [`--allow-net=${endpoint.host}`]);
    }
    assertEquals(endpoint.heard.map(({ dialect, maxTokens, system }) => [dialect, maxTokens, system]), [
      ["openai_chat", 8192, ""],
      ["anthropic_messages", 8192, ""],
    ]);
  });
});

Deno.test("pawl run chooses the only model and says so", async () => {
  await withEndpoint({}, async ({ url, host }) => {
    const { code, stderr } = await pawl(["run", "--base-url", `${url}/v1`, "hi"]);
    assertEquals([code, stderr], [0, `using the only model of ${host}: scripted\n`]);
  });
  await withEndpoint({ models: ["a", "b"] }, async ({ url }) => {
    const { code, stderr } = await pawl(["run", "--base-url", `${url}/v1`, "hi"]);
    assertEquals(code, 2);
    assertMatch(stderr, /^error: usage: Cannot choose a model: name one with --model; .* lists "a", "b"\n$/);
  });
});

Deno.test("pawl run reads what a tool needs and no more", async () => {
  await withEndpoint({}, async (endpoint) => {
    await inDirectory(async (directory) => {
      await Deno.writeTextFile(`${directory}/note.txt`, "The pawl holds.\n");
      const args = at(endpoint, "-t", `read_file=${directory}`, "--json", `read the file ${directory}/note.txt`);
      const { code, stdout, stderr, flags } = await pawlNeedsAll(args);
      assertEquals([code, stderr], [0, ""]);
      assertEquals(flags, [`--allow-net=${endpoint.host}`, `--allow-read=${directory}`]);
      const result = JSON.parse(stdout);
      assertEquals(result.text, 'The tool says "The pawl holds.".');
      assertEquals([result.type, result.iterations, result.toolCalls, result.model], ["result", 2, 1, "scripted"]);
      assert(result.usage.outputTokens > 0);
    });
  });
});

Deno.test("pawl run sends the key that --api-key-env names, and prints it nowhere", async () => {
  const key = "sk-canary-0123456789abcdef";
  await withEndpoint({ key }, async (endpoint) => {
    const env = { CANARY: key, PAWL_API_KEY: "another-key-entirely", OPENAI_API_KEY: "not-this-one-either" };
    const args = at(endpoint, "--api-key-env", "CANARY", "hi");
    const { code, stdout, flags } = await pawlNeedsAll(args, { env });
    assertEquals([code, stdout], [0, 'You said "hi", and I heard it.\n']);
    assertEquals(flags, [`--allow-net=${endpoint.host}`, "--allow-env=CANARY"]);
    const dry = await pawl([...args, "--dry-run"], { env });
    assertEquals(dry.code, 0);
    assertStringIncludes(dry.stdout, '"authorization": "Bearer [redacted]"');
    const refused = await pawl(at(endpoint, "hi"), { env });
    assertEquals([refused.code, lines(refused.stderr).length], [3, 1]);
    assertMatch(refused.stderr, /^error: http_status: .*401.*\n$/);
    assert(![dry.stdout, dry.stderr, refused.stderr].join().includes("canary"));
  });
});

Deno.test("pawl run reads PAWL_ variables only where that is granted", async () => {
  await withEndpoint({ key: "granted-key" }, async ({ url, host }) => {
    const env = { PAWL_BASE_URL: `${url}/v1`, PAWL_MODEL: "scripted", PAWL_API_KEY: "granted-key" };
    const granted = await pawlWith([`--allow-net=${host}`, "--allow-env=PAWL_BASE_URL,PAWL_MODEL,PAWL_API_KEY"], [
      "run",
      "hi",
    ], { env });
    assertEquals([granted.code, granted.stderr], [0, ""]);
    const denied = await pawlWith([], ["run", "hi"], { env });
    assertEquals(
      denied.stderr,
      "error: permission: Cannot start without more permissions: run with --allow-net=localhost:11434\n",
    );
    assertEquals(denied.code, 9);
  });
});

Deno.test("pawl run names every missing permission in one line", async () => {
  await inDirectory(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/it's, a file`, "x");
    const args = [
      "run",
      "-t",
      "run_command=cat",
      "-t",
      "write_file=out,src",
      "--api-key-env",
      "K",
      "--base-url",
      "https://box",
      "@it's, a file",
    ];
    const { code, stderr } = await pawlWith([], args, { cwd });
    assertEquals(code, 9);
    assertEquals(
      stderr,
      "error: permission: Cannot start without more permissions: run with --allow-net=box:443 " +
        "--allow-read=.,out,src --allow-write=out,src --allow-env=K --allow-run=cat,kill " +
        "(or there is no such program)\n",
    );
  });
});

Deno.test("pawl run puts files and standard input into fences", async () => {
  await withEndpoint({}, async (endpoint) => {
    await inDirectory(async (directory) => {
      await Deno.writeTextFile(`${directory}/a.ts`, "let a;\n");
      const path = `${directory}/a.ts`;
      const { code, flags } = await pawlNeedsAll(at(endpoint, "Explain", `@${path}`, "-"), { stdin: "piped\n" });
      assertEquals([code, flags[1]], [0, `--allow-read=${path}`]);
      const { text } = endpoint.heard[0]!.messages[0]!;
      assertEquals(text, `Explain\n\n${path}:\n\`\`\`\nlet a;\n\`\`\`\n\n\`\`\`\npiped\n\`\`\``);
      await pawl(at(endpoint), { stdin: "Only this\n" });
      assertEquals(endpoint.heard.at(-1)!.messages[0]!.text, "Only this\n");
    });
  });
});

Deno.test("pawl run says that it waits for standard input, once", async () => {
  await withEndpoint({}, async (endpoint) => {
    const { code, stderr } = await shell(`(sleep 2.6; echo late) | pawl ${at(endpoint, "Hi").join(" ")}`, [
      `--allow-net=${endpoint.host}`,
    ]);
    assertEquals([code, stderr], [0, "waiting for standard input; </dev/null is none\n"]);
    assertStringIncludes(endpoint.heard[0]!.messages[0]!.text, "late");
  });
});

Deno.test("pawl run says that it is standard input which cannot be read", async () => {
  await withEndpoint({}, async (endpoint) => {
    const { code, stderr } = await shell(`pawl ${at(endpoint, "Hi").join(" ")} </`, [`--allow-net=${endpoint.host}`]);
    assertEquals([code, stderr], [2, "error: usage: Cannot read standard input: it is a directory\n"]);
  });
});

Deno.test("pawl run sends images and texts that are attached", async () => {
  await withEndpoint({}, async (endpoint) => {
    await inDirectory(async (directory) => {
      await Deno.writeFile(`${directory}/p.png`, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
      const { code } = await pawlNeedsAll(at(endpoint, "-a", `${directory}/p.png`, "What is it?"));
      assertEquals(code, 0);
      assertStringIncludes(JSON.stringify(endpoint.heard[0]!.body), "data:image/png;base64,iVBORw0KGgo=");
    });
  });
});

Deno.test("pawl run -x prints the first fenced block only, and exits 8 where there is none", async () => {
  const answers = ["Here:\n```ts\nlet a = 1;\n```\nDone.", "No code today."];
  await withEndpoint({ script: () => ({ text: answers.shift()! }) }, async (endpoint) => {
    const block = await pawl(at(endpoint, "-x", "code"));
    assertEquals([block.code, block.stdout, block.stderr], [0, "let a = 1;\n", ""]);
    const none = await pawl(at(endpoint, "-x", "code"));
    assertEquals([none.code, none.stdout], [8, ""]);
    assertMatch(none.stderr, /^error: no_block: .*\n/);
    assertStringIncludes(none.stderr, "No code today.");
  });
});

Deno.test("pawl run -x does the same to JSON", async () => {
  for (const format of ["json", "stream-json"]) {
    const answers = ["Here:\n```ts\nlet a = 1;\n```\nDone.", "No code today."];
    await withEndpoint({ script: () => ({ text: answers.shift()! }) }, async (endpoint) => {
      const args = at(endpoint, "-x", "--output-format", format, "code");
      const block = await pawl(args);
      const told = lines(block.stdout).map((line) => JSON.parse(line));
      assertEquals([block.code, told.at(-1).type, told.at(-1).text], [0, "result", "let a = 1;"]);
      const none = await pawl(args);
      const last = JSON.parse(lines(none.stdout).at(-1)!);
      assertEquals([none.code, last.type, last.code, last.exit], [8, "error", "no_block", 8]);
      assertEquals(last.partial.text, "No code today.");
    });
  }
});

Deno.test("pawl run --schema asks once more and prints JSON that fits, or exits 8", async () => {
  const schema = JSON.stringify({
    type: "object",
    properties: { n: { type: "integer", minimum: 3 } },
    required: ["n"],
  });
  const answers = ['{"n":1}', 'Sure: {"n":4}', "nothing", "still nothing"];
  await withEndpoint({ script: () => ({ text: answers.shift()! }) }, async (endpoint) => {
    await inDirectory(async (directory) => {
      await Deno.writeTextFile(`${directory}/s.json`, schema);
      const fits = await pawlNeedsAll(at(endpoint, "--schema", `${directory}/s.json`, "a number"));
      assertEquals([fits.code, fits.stdout, fits.stderr], [0, '{"n":4}\n', ""]);
      assertStringIncludes(endpoint.heard[1]!.messages.at(-1)!.text, "#/n");
      const never = await pawl(at(endpoint, "--schema", schema, "a number"));
      assertEquals([never.code, never.stdout], [8, ""]);
      assertMatch(never.stderr, /^error: invalid_json: /);
    });
  });
});

Deno.test("pawl run --schema follows references, and tells what only an answer shows to be no schema", async () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" }, "$ref": { pattern: "^a" } } };
  const extra = { "x-mask": { pattern: "(" }, examples: [{ $ref: "#/none" }] };
  const list = JSON.stringify({ properties: { head: { $ref: "#/$defs/node" } }, $defs: { node }, ...extra });
  const odd = JSON.stringify({ properties: { a: { enum: 5 } } });
  const answers = ['{"head":{"next":{"next":{"$ref":"abc"}}}}', '{"a":1}'];
  await withEndpoint({ script: () => ({ text: answers.shift()! }) }, async (endpoint) => {
    const fits = await pawl(at(endpoint, "--schema", list, "a list"));
    assertEquals([fits.code, fits.stderr], [0, ""]);
    const fails = await pawl(at(endpoint, "--schema", odd, "a number"));
    assertEquals(fails.code, 2);
    assertMatch(fails.stderr, /^error: usage: Cannot use --schema: /);
  });
});

Deno.test("pawl run --output writes the answer to a file and nothing to standard output", async () => {
  await withEndpoint({}, async (endpoint) => {
    await inDirectory(async (directory) => {
      const { code, stdout } = await pawlNeedsAll(at(endpoint, "--output", `${directory}/a.txt`, "hi"));
      assertEquals([code, stdout], [0, ""]);
      assertEquals(await Deno.readTextFile(`${directory}/a.txt`), 'You said "hi", and I heard it.\n');
      // Deno grants the files of /dev to nobody but -A.
      const full = await pawlWith(["-A"], at(endpoint, "--output", "/dev/full", "hi"));
      assertEquals(full.code, 1);
      assertMatch(full.stderr, /^error: output: Cannot write "\/dev\/full": the disk is full\n/);
      assertStringIncludes(full.stderr, 'You said "hi", and I heard it.');
      // No file of the process may grow: nothing could be written, and nothing stays behind.
      const line = `trap "" XFSZ; ulimit -f 0; pawl ${at(endpoint, "--output", "new.txt", "hi").join(" ")} </dev/null`;
      const none = await shell(line, ["-A"], { cwd: directory });
      assertEquals(none.code, 1, none.stderr);
      assertMatch(none.stderr, /^error: output: Cannot write "new.txt": file too large\n/);
      assertEquals([...Deno.readDirSync(directory)].map(({ name }) => name), ["a.txt"]);
    });
  });
});

Deno.test("pawl run keeps standard output for the answer, whatever a tools file prints", async () => {
  await withEndpoint({}, async (endpoint) => {
    await inDirectory(async (cwd) => {
      await Deno.writeTextFile(
        `${cwd}/t.ts`,
        `console.log("loaded"); console.table([1]);
        export default { name: "echo", description: "Echoes", inputSchema: { type: "object" }, pure: true,
          run() { console.info("running"); return "done"; } };`,
      );
      const args = at(endpoint, "--tools-file", "t.ts", "--no-skills", "call echo");
      const { code, stdout, stderr } = await pawlNeedsAll(args, { cwd });
      assertEquals([code, stdout], [0, 'The tool says "done".\n']);
      assertMatch(stderr, /^loaded\n[^]*\nrunning\n$/);
    });
  });
});

Deno.test("pawl run tells a full disk, and ends quietly when its reader leaves", async () => {
  const text = "word ".repeat(20_000);
  await withEndpoint({ script: () => ({ text }) }, async (endpoint) => {
    const flags = [`--allow-net=${endpoint.host}`];
    const full = await shell(`pawl ${at(endpoint, "hi").join(" ")} </dev/null >/dev/full`, flags);
    assertEquals([full.code, lines(full.stderr)[0]], [
      1,
      "error: output: Cannot write to standard output: the disk is full",
    ]);
    const closed = await shell(
      `pawl ${at(endpoint, "--stream", "hi").join(" ")} </dev/null | head -c 5; echo "\${PIPESTATUS[0]}" >&2`,
      flags,
    );
    assertEquals([closed.stdout, closed.stderr], ["word ", "141\n"]);
  });
});

Deno.test("pawl run --dry-run tells a full disk, and ends quietly when its reader leaves", async () => {
  const full = await shell("pawl run --dry-run -m x hi </dev/null >/dev/full", []);
  assertEquals([full.code, full.stderr], [
    1,
    "error: output: Cannot write to standard output: the disk is full\n",
  ]);
  // More than a pipe holds: the reader is gone before all is written.
  const prompt = "printf 'word %.0s' {1..20000}";
  const closed = await shell(`${prompt} | pawl run --dry-run -m x | head -c 1; echo "\${PIPESTATUS[1]}" >&2`, []);
  assertEquals([closed.stdout, closed.stderr], ["{", "141\n"]);
});

Deno.test("pawl run ends within a second of SIGINT with 130 and of SIGTERM with 143, and tells what it has", async () => {
  await withEndpoint({ script: () => ({ text: "word ".repeat(500) }), pauseMs: 20 }, async (endpoint) => {
    for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
      const child = spawn(Deno.execPath(), denoArgs([`--allow-net=${endpoint.host}`], at(endpoint, "--stream", "hi")));
      const reader = child.stdout.getReader();
      const first = await reader.read();
      child.kill(signal);
      const killed = performance.now();
      let text = new TextDecoder().decode(first.value);
      for (let part; !(part = await reader.read()).done;) text += new TextDecoder().decode(part.value);
      const status = await child.status;
      const stderr = await new Response(child.stderr).text();
      assert(performance.now() - killed < 5000);
      assertEquals(status.code, code);
      assertMatch(text, /^word( word)*\n$/);
      assertEquals(stderr, `error: aborted: Stopped by ${signal}\n`);
    }
    // The endpoint is still in a pause of its own.
    await new Promise((done) => setTimeout(done, 50));
  });
});
