import { assert, assertEquals, assertFalse, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { inFlags } from "../../src/cli/exit.ts";
import { type Endpoint, startEndpoint } from "../support/endpoint.ts";
import { CLI, closedHost, inDirectory, lines, pawl, pawlNeedsAll, pawlWith, shell } from "./pawl.ts";

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

const DIALECTS = [["openai_chat", "/v1"], ["anthropic_messages", ""]] as const;

Deno.test("pawl chat reads a pipe line by line and keeps the conversation, in both dialects", async () => {
  await withEndpoint({}, async (endpoint) => {
    for (const [dialect, path] of DIALECTS) {
      const args = ["chat", "-d", dialect, "--base-url", endpoint.url + path, "-m", "scripted"];
      const stdin = "first\n\nsecond \\\nline\n//slash\nlast";
      const { code, stdout, stderr } = await pawlNeedsAll(args, { stdin });
      assertEquals([code, stderr], [0, ""]);
      assertEquals(lines(stdout), [
        'You said "first", and I heard it.',
        'You said "second \\nline", and I heard it.',
        'You said "/slash", and I heard it.',
        'You said "last", and I heard it.',
      ]);
      const { system, messages } = endpoint.heard.at(-1)!;
      assertEquals([system, messages.length], ["You are a helpful assistant.", 7]);
    }
  });
});

Deno.test("pawl chat refuses a line, and lines that go on, above the bound of every other input", async () => {
  const host = closedHost();
  const chat = `head -c 25000000 | pawl chat -m x --base-url http://${host}/v1; exit "\${PIPESTATUS[2]}"`;
  for (const [input, what] of [["cat /dev/zero", "line"], ["yes 'on and on \\'", "message"]]) {
    const { code, stdout, stderr } = await shell(`${input} | ${chat}`, [`--allow-net=${host}`]);
    const told = `error: usage: Cannot read a ${what} of standard input: it is larger than 20971520 bytes\n`;
    assertEquals([code, stdout, stderr.replace(/^(cat|yes): .*\n/gm, "")], [2, "", told]);
  }
});

Deno.test("pawl chat without a system prompt sends none", async () => {
  await withEndpoint({}, async (endpoint) => {
    await pawl(["chat", "--base-url", `${endpoint.url}/v1`, "-m", "scripted", "-s", ""], { stdin: "hi\n" });
    assertEquals(endpoint.heard[0]!.system, "");
  });
});

Deno.test("pawl chat ends at the first turn that fails, with its status", async () => {
  await withEndpoint({
    script: (heard) => heard.messages.length > 1 ? new Response("no", { status: 400 }) : { text: "yes" },
  }, async ({ url }) => {
    const { code, stdout, stderr } = await pawl(["chat", "--base-url", `${url}/v1`, "-m", "scripted"], {
      stdin: "a\nb\nc\n",
    });
    assertEquals([code, stdout, lines(stderr).length], [5, "yes\n", 1]);
    assertMatch(stderr, /^error: http_status: .*400/);
  });
});

Deno.test("pawl chat knows commands in a pipe too", async () => {
  await withEndpoint({}, async ({ url, host, heard }) => {
    await inDirectory(async (cwd) => {
      const args = ["chat", "--base-url", `${url}/v1`, "-m", "scripted"];
      const flags = [`--allow-net=${host}`, `--allow-read=${cwd}`, `--allow-write=${cwd}`];
      const stdin =
        "one\n/undo\n/system Be brief.\ntwo\n/usage\n/save talk.json\n/reset\nthree\n/load talk.json\nfour\n/exit\nnever\n";
      const { code, stdout, stderr } = await pawlWith(flags, args, { stdin, cwd });
      assertEquals([code, lines(stdout).length], [0, 4]);
      assertStringIncludes(stderr, "tokens: ");
      assertEquals(heard.map(({ system, messages }) => [system, messages.map(({ text }) => text.slice(0, 5))]), [
        ["You are a helpful assistant.", ["one"]],
        ["Be brief.", ["two"]],
        ["You are a helpful assistant.", ["three"]],
        ["Be brief.", ["two", "You s", "four"]],
      ]);
      for (
        const [line, why] of [["/usag", "did you mean /usage?"], ["/save", "without FILE"], [
          "/load none",
          "no such file",
        ], ["/reset x", "takes nothing"]]
      ) {
        const wrong = await pawlWith(flags, args, { stdin: `${line}\n`, cwd });
        assertEquals([wrong.code, lines(wrong.stderr).length], [2, 1]);
        assertStringIncludes(wrong.stderr, why!);
      }
      for (const [line, flag] of [["/save a.json", "--allow-write=a.json"], ["/load x y", "'--allow-read=x y'"]]) {
        const denied = await pawlWith([`--allow-net=${host}`], args, { stdin: `${line}\n`, cwd });
        assertEquals([denied.code, lines(denied.stderr).length], [9, 1]);
        assertStringIncludes(denied.stderr, `: it needs ${flag}`);
      }
    });
  });
});

Deno.test("pawl run --session goes on, -c takes the newest, --fork leaves the original alone", async () => {
  await withEndpoint({}, async ({ url, heard }) => {
    await inDirectory(async (cwd) => {
      const base = ["run", "--base-url", `${url}/v1`, "-m", "scripted"];
      const first = await pawlNeedsAll([...base, "-s", "Be kind.", "--session", "talk", "one"], { cwd });
      assertEquals([first.code, first.stderr], [0, ""]);
      assertEquals(first.flags.slice(1), ["--allow-read=.pawl/sessions", "--allow-write=.pawl/sessions"]);
      const path = `${cwd}/.pawl/sessions/talk.jsonl`;
      assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
      const second = await pawl([...base, "-c", "--json", "two"], { cwd });
      assertEquals(JSON.parse(second.stdout).session, ".pawl/sessions/talk.jsonl");
      const before = await Deno.readTextFile(path);
      const forked = await pawl([...base, "--session", "talk", "--fork", "three"], { cwd });
      assertEquals([forked.code, forked.stdout], [0, 'You said "three", and I heard it.\n']);
      assertEquals(await Deno.readTextFile(path), before);
      const { system, messages } = heard.at(-1)!;
      assertEquals(system, "Be kind.");
      assertEquals(messages.map(({ text }) => text.slice(0, 12)), [
        "one",
        'You said "on',
        "two",
        'You said "tw',
        "three",
      ]);
      const none = await inEmpty((empty) => pawl([...base, "-c", "x"], { cwd: empty }));
      assertEquals([none.code, lines(none.stderr).length], [3, 1]);
    });
  });
});

Deno.test("pawl --dry-run shows what a session would send, and leaves it alone", async () => {
  await withEndpoint({}, async ({ url, heard }) => {
    await inDirectory(async (cwd) => {
      const at = ["--base-url", `${url}/v1`, "-m", "scripted", "--session", "talk"];
      await pawl(["run", ...at, "-s", "Be kind.", "one"], { cwd });
      const directory = `${cwd}/.pawl/sessions`;
      const before = await Deno.readTextFile(`${directory}/talk.jsonl`);
      for (const [command, stdin] of [["run", undefined], ["chat", "two\n"]] as const) {
        for (const more of [[], ["--fork"], ["-s", "Be brief."]]) {
          const args = [command, ...at, "--dry-run", ...more, ...command === "run" ? ["two"] : []];
          const { code, stdout, stderr, flags } = await pawlNeedsAll(args, { cwd, ...stdin && { stdin } });
          assertEquals([code, stderr, flags], [0, "", ["--allow-read=.pawl/sessions"]]);
          const contents = JSON.parse(stdout).body.messages.map(({ content }: { content: string }) => content);
          assertEquals(contents, [more[1] ?? "Be kind.", "one", 'You said "one", and I heard it.', "two"]);
        }
      }
      const made = await pawl(["run", ...at.slice(0, -1), "other", "--dry-run", "hi"], { cwd });
      assertEquals([made.code, made.stderr], [0, ""]);
      assertEquals(await Deno.readTextFile(`${directory}/talk.jsonl`), before);
      assertEquals(Array.from(Deno.readDirSync(directory), ({ name }) => name), ["talk.jsonl"]);
      assertEquals(heard.length, 1);
    });
  });
});

Deno.test("pawl keeps in a session what -s and --append-system say, until they say something else", async () => {
  await withEndpoint({}, async ({ url, heard }) => {
    await inDirectory(async (cwd) => {
      const at = ["--base-url", `${url}/v1`, "-m", "scripted", "--session", "talk"];
      const steps: [string[], string][] = [
        [["-s", "A", "--append-system", "B"], "A\n\nB"],
        [[], "A\n\nB"],
        [["--append-system", "B"], "A\n\nB"],
        [["--append-system", "C"], "A\n\nC"],
        [["-s", "D"], "D"],
        [["-s", ""], ""],
        [["--append-system", "E"], "E"],
        [["--append-system", "E"], "E"],
        [["-s", "F"], "F"],
      ];
      for (const command of ["run", "chat"]) {
        for (const [flags, system] of steps) {
          const words = command === "run" ? ["hi"] : [];
          const { code, stderr } = await pawl([command, ...at, ...flags, ...words], { cwd, stdin: "hi\n" });
          assertEquals([code, stderr, heard.at(-1)!.system], [0, "", system], flags.join(" "));
        }
      }
      assertEquals(heard.at(-1)!.messages.length, 4 * steps.length - 1);
    });
  });
});

Deno.test("pawl run --schema holds for one run of a session", async () => {
  await withEndpoint({ script: () => ({ text: '{"n":1}' }) }, async ({ url, heard }) => {
    await inDirectory(async (cwd) => {
      const at = ["run", "--base-url", `${url}/v1`, "-m", "scripted", "--session", "talk", "-s", "A"];
      const schema = ["--schema", '{"type":"object"}'];
      for (const flags of [schema, schema, []]) assertEquals((await pawl([...at, ...flags, "hi"], { cwd })).code, 0);
      const told = heard.map(({ system }) => system.split("Answer with one JSON object only").length - 1);
      assertEquals(told, [1, 1, 0]);
      assertEquals(heard.at(-1)!.system, "A");
      assertEquals(heard.at(-1)!.messages.length, 5);
    });
  });
});

async function inEmpty<T>(use: (directory: string) => Promise<T>): Promise<T> {
  let result: T | undefined;
  await inDirectory(async (directory) => {
    result = await use(directory);
  });
  return result!;
}

Deno.test("pawl run keeps calls and results of tools in the session, the schema beside them", async () => {
  await withEndpoint({}, async ({ url, heard }) => {
    await inDirectory(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/a.txt`, '{"ok":true}\n');
      const args = [
        "run",
        "--base-url",
        `${url}/v1`,
        "-m",
        "scripted",
        "-t",
        "read_file",
        "--no-skills",
        "--session",
        "s.jsonl",
        "read the file a.txt",
      ];
      assertEquals((await pawl(args, { cwd })).code, 0);
      const records = lines(await Deno.readTextFile(`${cwd}/s.jsonl`)).map((line) => JSON.parse(line).type);
      assertEquals(records, ["session", "message", "message", "start", "result", "message"]);
      const chat = await pawl(["chat", "--base-url", `${url}/v1`, "-m", "scripted", "--session", "s.jsonl"], {
        cwd,
        stdin: "and now?\n",
      });
      assertEquals([chat.code, chat.stderr], [0, ""]);
      assertEquals(heard.at(-1)!.messages.length, 5);
    });
  });
});

Deno.test("pawl run --record keeps what --replay answers from without a network", async () => {
  await inDirectory(async (cwd) => {
    const env = { K: "sk-canary-0123456789abcdef" };
    let url = "";
    await withEndpoint({ key: env.K }, async (endpoint) => {
      url = `${endpoint.url}/v1`;
      const args = ["run", "--base-url", url, "--api-key-env", "K", "--record", "r.jsonl", "hi"];
      const { code, stdout } = await pawlNeedsAll(args, { cwd, env });
      assertEquals([code, stdout], [0, 'You said "hi", and I heard it.\n']);
    });
    assert(!(await Deno.readTextFile(`${cwd}/r.jsonl`)).includes("canary"));
    const again = ["run", "--base-url", url, "--api-key-env", "K", "--replay", "r.jsonl"];
    const replayed = await pawlNeedsAll([...again, "hi"], { cwd, env });
    assertEquals([replayed.code, replayed.stdout, replayed.flags], [0, 'You said "hi", and I heard it.\n', [
      "--allow-read=r.jsonl",
      "--allow-env=K",
    ]]);
    const missed = await pawl([...again, "ho"], { cwd, env });
    assertEquals([missed.code, missed.stdout], [4, ""]);
    assertMatch(missed.stderr, /error: unreachable: Cannot replay request 2: its body differs .*"\n$/);
    await Deno.writeTextFile(`${cwd}/r.jsonl`, "{}\n");
    const broken = await pawl([...again, "hi"], { cwd, env });
    assertEquals([broken.code, broken.stderr], [
      2,
      "error: usage: Cannot replay a recording as its line 1 is no exchange\n",
    ]);
  });
});

Deno.test("pawl run --record says when the disk is full", async () => {
  await withEndpoint({}, async ({ url }) => {
    const { code, stderr } = await pawlWith(["-A"], [
      "run",
      "--base-url",
      `${url}/v1`,
      "-m",
      "scripted",
      "--record",
      "/dev/full",
      "hi",
    ]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, 'error: output: Cannot write "/dev/full": the disk is full');
  });
});

Deno.test("pawl run --record holds what fetch_url gets too", async () => {
  const page = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => new Response("a page"));
  const site = `127.0.0.1:${page.addr.port}`;
  try {
    await inDirectory(async (cwd) => {
      await withEndpoint({
        script: ({ messages }) =>
          messages.length === 1
            ? { calls: [{ name: "fetch_url", input: { url: `http://${site}/x` } }] }
            : { text: messages.at(-1)!.results[0]! },
      }, async ({ url }) => {
        const args = [
          "run",
          "--base-url",
          `${url}/v1`,
          "-m",
          "scripted",
          "-t",
          `fetch_url=${site}`,
          "--no-skills",
          "go",
        ];
        assertEquals((await pawl([...args, "--record", "r.jsonl"], { cwd })).stdout, "a page\n");
        assertEquals(lines(await Deno.readTextFile(`${cwd}/r.jsonl`)).length, 3);
        await page.shutdown();
        assertEquals((await pawl([...args, "--replay", "r.jsonl"], { cwd })).stdout, "a page\n");
      });
    });
  } finally {
    await page.shutdown();
  }
});

Deno.test("pawl probe tells each check, and writes a profile that --profile reads", async () => {
  await withEndpoint({}, async ({ url, host }) => {
    await inDirectory(async (cwd) => {
      const probed = await pawlNeedsAll([
        "probe",
        "--base-url",
        `${url}/v1`,
        "--compat",
        "mergeRoles=true",
        "--body",
        '{"top_k":40}',
        "--header",
        "X-Team: blue",
        "--output",
        "p.yaml",
      ], { cwd });
      assertEquals(probed.code, 0);
      assertEquals(probed.flags, [`--allow-net=${host}`, "--allow-write=p.yaml"]);
      assertStringIncludes(probed.stdout, "✓ tool call: ");
      assertStringIncludes(probed.stdout, "– context: not asked\n");
      const named = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted", "--json"], { cwd });
      const report = JSON.parse(named.stdout);
      assertEquals([report.type, report.ok, report.model, report.profile["base-url"]], [
        "probe",
        true,
        "scripted",
        `${url}/v1`,
      ]);
      const flags = [`--allow-net=${host}`, "--allow-read=p.yaml"];
      const { code, stdout } = await pawlWith(flags, ["run", "--profile", "p.yaml", "hi"], { cwd });
      assertEquals([code, stdout], [0, 'You said "hi", and I heard it.\n']);
      const dry = await pawlWith(["--allow-read=p.yaml"], ["run", "--profile", "p.yaml", "--dry-run", "hi"], { cwd });
      assertEquals(JSON.parse(dry.stdout).body.top_k, 40);
      assertStringIncludes(probed.stderr, "note: --header is not in it");
      const written = await Deno.readTextFile(`${cwd}/p.yaml`);
      assertFalse(written.includes("blue"), written);
      const failed = await pawl(["probe", "--base-url", `http://${closedHost()}/v1`, "-m", "x", "--output", "p.yaml"], {
        cwd,
      });
      assertEquals([failed.code, failed.stderr], [
        4,
        "note: the profile is not written, as a check failed that an agent needs\n",
      ]);
      assertEquals(await Deno.readTextFile(`${cwd}/p.yaml`), written);
      const none = await pawl(["probe", "--base-url", `http://${closedHost()}/v1`, "-m", "x", "--output", "new.yaml"], {
        cwd,
      });
      assertEquals(none.code, 4);
      await assertRejects(() => Deno.stat(`${cwd}/new.yaml`), Deno.errors.NotFound);
      const tools = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted", "--tool-calling"], { cwd });
      assertEquals([tools.code, tools.stdout], [0, "✓ tool call: the model calls a tool when told to\n"]);
    });
  });
});

Deno.test("pawl asks for a model where the endpoint lists none, and speaks of flags", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("no", { status: 404 }),
  );
  try {
    const host = `127.0.0.1:${server.addr.port}`;
    const unnamed = await pawl(["run", "--base-url", `http://${host}/v1`, "hi"]);
    assertEquals([unnamed.code, unnamed.stderr], [
      2,
      `error: usage: Cannot choose a model as ${host} gives no list of them: name one with --model, or check --base-url\n`,
    ]);
    const named = await pawl(["run", "--base-url", `http://${host}/v1`, "-m", "m", "hi"]);
    assertEquals(named.code, 5);
    assertMatch(named.stderr, /^error: http_status: .*look at the option --base-url/);
  } finally {
    await server.shutdown();
  }
});

Deno.test("pawl gives a model that thinks its budget on top of the reply", async () => {
  const args = ["run", "-d", "anthropic_messages", "-m", "m", "--dry-run", "--thinking", "high", "hi"];
  const { code, stdout } = await pawl(args);
  const { max_tokens, thinking } = JSON.parse(stdout).body;
  assertEquals([code, max_tokens, thinking.budget_tokens], [0, 8192 + 16384, 16384]);
  const tight = await pawl([...args, "--max-tokens", "2000"]);
  assertEquals(tight.code, 2);
  assertMatch(tight.stderr, /^error: usage: Cannot use --thinking as it must be an integer from 1024 to 1999: .*\n$/);
});

Deno.test("inFlags names flags instead of the library's options", () => {
  const rows = [
    ["Cannot go on: maxTokens (8) is reached", "Cannot go on: --max-tokens (8) is reached"],
    ["deadlineMs (8), maxIterations (8)", "--timeout (8 ms), --max-turns (8)"],
    ["it exceeds limits.idleTimeoutMs (8)", "it exceeds --limit idleTimeoutMs (8)"],
    ["check compat.streamUsage", "check --compat streamUsage"],
    ["look at the option baseUrl, its path", "look at the option --base-url, its path"],
    ["look at the option apiKey", "look at the option --api-key-env"],
    ["maxTokensField, my_maxTokens, unlimits.x", "maxTokensField, my_maxTokens, unlimits.x"],
  ];
  for (const [text, told] of rows) assertEquals(inFlags(text!), told);
});

Deno.test("pawl probe exits by what fails", async () => {
  await withEndpoint({ script: () => ({ text: "I would call ping." }) }, async ({ url }) => {
    const { code, stdout } = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted"]);
    assertEquals(code, 5);
    assertMatch(stdout, /^✗ tool call: .*; .*$/m);
    const alone = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted", "--tool-calling"]);
    assertEquals([alone.code, alone.stdout, lines(alone.stderr).length], [5, "", 1]);
    assertMatch(alone.stderr, /^error: no_tool_calling: /);
  });
  const closed = await pawl(["probe", "--base-url", `http://${closedHost()}/v1`, "-m", "x"]);
  assertEquals(closed.code, 4);
  assertMatch(closed.stdout, /^✗ reachable: /);
});

Deno.test("pawl models takes a --timeout beyond what a timer counts", async () => {
  const endpoint = startEndpoint();
  try {
    const { code, stdout, stderr } = await pawl(["models", "--base-url", `${endpoint.url}/v1`, "--timeout", "1000h"]);
    assertEquals([code, stdout, stderr], [0, "scripted\n", ""]);
  } finally {
    await endpoint.close();
  }
});

Deno.test("pawl probe exits 3 where the key is refused, as every command", async () => {
  for (const status of [401, 403]) {
    await withEndpoint({ script: () => new Response("no", { status }) }, async ({ url }) => {
      const { code, stdout } = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted"]);
      assertEquals(code, 3);
      assertMatch(stdout, new RegExp(`^✗ streaming: .*${status}, look at the option --api-key-env$`, "m"));
    });
  }
});

Deno.test("pawl probe --tool-calling tells JSON in the form of a report, the status, and which flags do not go with it", async () => {
  await withEndpoint({}, async ({ url }) => {
    const { code, stdout } = await pawl([
      "probe",
      "--base-url",
      `${url}/v1`,
      "-m",
      "scripted",
      "--tool-calling",
      "--json",
    ]);
    assertEquals([code, JSON.parse(stdout)], [0, {
      type: "probe",
      ok: true,
      dialect: "openai_chat",
      model: "scripted",
      checks: [{ name: "tool_call", status: "pass", detail: "the model calls a tool when told to" }],
      profile: { dialect: "openai_chat", "base-url": `${url}/v1`, model: "scripted" },
    }]);
  });
  await withEndpoint({ key: "wanted-key-123" }, async ({ url, host }) => {
    const { code, stderr } = await pawl(["probe", "--base-url", `${url}/v1`, "-m", "scripted", "--tool-calling"]);
    assertEquals([code, stderr], [3, `error: http_status: Cannot probe the model: HTTP status 401 (${host})\n`]);
  });
  for (const [flag, value] of [["--output", "p.yaml"], ["--context", "100"]] as const) {
    const { code, stderr } = await pawlWith([], ["probe", "-m", "x", "--tool-calling", flag, value]);
    assertEquals([code, stderr], [2, `error: usage: Cannot use --tool-calling together with ${flag}\n`]);
  }
});

Deno.test("pawl models lists one model a line", async () => {
  await withEndpoint({ models: ["a", "b\x1b[2J"] }, async ({ url }) => {
    for (const [dialect, path] of DIALECTS) {
      const plain = await pawlNeedsAll(["models", "-d", dialect, "--base-url", url + path]);
      assertEquals([plain.code, plain.stdout, plain.stderr], [0, "a\nb\x1b[2J\n", ""]);
    }
    const json = await pawl(["models", "--base-url", `${url}/v1`, "--json"]);
    assertEquals(JSON.parse(json.stdout), { type: "models", models: ["a", "b\x1b[2J"] });
    await inDirectory(async (cwd) => {
      const at = ["models", "--base-url", `${url}/v1`];
      await pawlNeedsAll([...at, "--record", "r.jsonl"], { cwd });
      const again = await pawlNeedsAll([...at, "--replay", "r.jsonl"], { cwd });
      assertEquals([again.code, again.stdout, again.stderr], [0, "a\nb\x1b[2J\n", ""]);
    });
  });
});

Deno.test("pawl uses named profiles only when asked to, and no more than they need", async () => {
  await withEndpoint({ key: "profile-key-123" }, async ({ url, host }) => {
    await inDirectory(async (cwd) => {
      await Deno.mkdir(`${cwd}/.pawl`);
      const profile = `profiles:\n  box:\n    base-url: ${url}/v1\n    model: scripted\n    api-key: profile-key-123\n`;
      await Deno.writeTextFile(`${cwd}/.pawl/config.yaml`, profile);
      const blind = await pawlWith([], ["run", "--profile", "box", "--explain-permissions", "hi"], { cwd });
      assertStringIncludes(blind.stdout, "--allow-read=./.pawl/config.yaml");
      assertStringIncludes(blind.stderr, "the profile may need more");
      const read = "--allow-read=./.pawl/config.yaml";
      const seen = await pawlWith([read], ["run", "--profile", "box", "--explain-permissions", "hi"], { cwd });
      assertStringIncludes(seen.stdout, `--allow-net=${host} ${read} `);
      const { code, stdout, stderr } = await pawlWith(
        [read, `--allow-net=${host}`],
        ["run", "--profile", "box", "hi"],
        { cwd },
      );
      assertEquals([code, stdout, stderr], [0, 'You said "hi", and I heard it.\n', ""]);
      const run = ["run", "--profile", "box", "hi"];
      const inHome = 'a profile in $HOME takes --allow-env=HOME "--allow-read=$HOME/.config/pawl/config.yaml"';
      const missing = await pawlWith([], run, { cwd });
      assertEquals([missing.code, missing.stderr], [
        9,
        `error: permission: Cannot start without more permissions: run with ${read}; ${inHome}\n`,
      ]);
      assertStringIncludes(blind.stderr, inHome);

      // The same profile at home: the flags that were named are enough, and nothing of the project is asked for.
      await Deno.mkdir(`${cwd}/home/.config`, { recursive: true });
      await Deno.rename(`${cwd}/.pawl`, `${cwd}/home/.config/pawl`);
      const gone = await pawlWith([read], run, { cwd });
      assertEquals([gone.code, gone.stderr], [
        2,
        `error: usage: Cannot find the profile "box": there are none; ${inHome}\n`,
      ]);
      const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
      const home = { cwd, env: { HOME: `${cwd}/home`, DENO_DIR: cache } };
      const file = `${cwd}/home/.config/pawl/config.yaml`;
      const flags = ["--allow-env=HOME", `--allow-read=${file}`];
      const told = await pawlWith(flags, ["run", "--profile", "box", "--explain-permissions", "hi"], home);
      assertStringIncludes(told.stdout, `--allow-net=${host} --allow-read=${file} --allow-env=HOME `);
      const found = await pawlWith([...flags, `--allow-net=${host}`], run, home);
      assertEquals([found.code, found.stdout, found.stderr], [0, 'You said "hi", and I heard it.\n', ""]);
      const other = await pawlWith(flags, ["run", "--profile", "bax", "hi"], home);
      assertStringIncludes(other.stderr, `"bax": there is "box"; another place takes ${read}\n`);
      // A file that is named needs neither the name of the home directory nor anything in it.
      const named = await pawlWith(["--allow-env=HOME", `--allow-read=${file}`], [
        "run",
        "--profile",
        file,
        "--explain-permissions",
        "hi",
      ], home);
      assertStringIncludes(named.stdout, `deno run --allow-net=${host} --allow-read=${file} ${CLI}`);
    });
  });
});

Deno.test("pawl completions complete in bash", async () => {
  const script =
    'eval "$(pawl completions bash)"; COMP_WORDS=(pawl run --output-f); COMP_CWORD=2; _pawl; echo "${COMPREPLY[@]}"; ' +
    'COMP_WORDS=(pawl run --dialect an); COMP_CWORD=3; _pawl; echo "${COMPREPLY[@]}"; COMP_WORDS=(pawl pr); COMP_CWORD=1; _pawl; echo "${COMPREPLY[@]}"';
  const { stdout } = await shell(script, []);
  assertEquals(stdout, "--output-format\nanthropic_messages\nprobe\n");
});

Deno.test("pawl without a network: help, version, completions and skills need no permission", async () => {
  for (const args of [["--help"], ["run", "--help"], ["help", "chat"], ["--version"], ["completions", "fish"]]) {
    const { code, stdout, stderr } = await pawlWith([], args);
    assertEquals([code, stderr], [0, ""]);
    assert(stdout.length > 5);
  }
});

Deno.test("pawl tells a broad grant once, after the work, and not with --quiet", async () => {
  await withEndpoint({}, async ({ url, host }) => {
    const args = ["run", "--base-url", `${url}/v1`, "-m", "scripted", "hi"];
    const { stderr } = await pawlWith(["--allow-net"], args);
    assertEquals(
      stderr,
      `note: every host is allowed, which cannot be narrowed while running; --allow-net=${host} would do\n`,
    );
    assertEquals((await pawlWith(["--allow-net"], [...args, "-q"])).stderr, "");
  });
});
