import { assertEquals, assertMatch } from "@std/assert";
import { startEndpoint } from "../support/endpoint.ts";
import { closedHost, inDirectory, lines, pawlWith } from "./pawl.ts";

/** Arguments behind the command, exit status, and the line on standard error. */
type Wrong = [args: string[], code: number, line: RegExp];

async function check(wrong: readonly Wrong[], cwd: string): Promise<void> {
  for (const [args, code, line] of wrong) {
    const outcome = await pawlWith(
      ["--allow-net=127.0.0.1", "--allow-read=.", "--allow-write=.", "--allow-env=EMPTY"],
      args,
      { cwd },
    );
    assertEquals(lines(outcome.stderr).length, 1, `${args.join(" ")}: ${outcome.stderr}`);
    assertMatch(outcome.stderr, line);
    assertEquals([outcome.code, outcome.stdout], [code, ""], args.join(" "));
  }
}

Deno.test("pawl tells a wrong command line in one line and exits 2", async () => {
  await inDirectory(async (cwd) => {
    await Deno.mkdir(`${cwd}/dir`);
    await Deno.writeTextFile(`${cwd}/broken.yaml`, "a: [b\n");
    await Deno.writeTextFile(`${cwd}/text.json`, "no json");
    await Deno.writeTextFile(`${cwd}/throws.ts`, "throw new Error('not today');\n");
    await Deno.writeTextFile(`${cwd}/empty.ts`, "export const x = 1;\n");
    await Deno.writeFile(`${cwd}/binary`, new Uint8Array([0xff, 0xfe]));
    const url = ["--base-url", "http://127.0.0.1:9/v1", "-m", "x"];
    await check([
      [[], 2, /^error: usage: No command given; it must be one of chat, run/],
      [["rnu", "hi"], 2, /did you mean run\?/],
      [["run", "--modle", "x", "hi"], 2, /Unknown flag "--modle"; did you mean --model\?/],
      [["run", "--max-tokens", "x", "hi"], 2, /--max-tokens as it must be an integer above 0: current value is "x"/],
      [["run", ...url], 2, /Cannot run without a prompt: there are no words, and standard input is empty/],
      [["run", "--base-url", "ftp://x", "-m", "x", "hi"], 2, /base URL as it must begin with http/],
      [
        ["run", "--base-url", "http://u:p@127.0.0.1:9", "-m", "x", "hi"],
        2,
        /^error: usage: Cannot use --base-url as it (?!.*u:p)/,
      ],
      [["run", ...url, "--api-key-env", "EMPTY", "hi"], 2, /the environment variable "EMPTY" is not set/],
      [["run", ...url, "@none"], 2, /Cannot read "none": there is no such file/],
      [["run", ...url, "@dir"], 2, /Cannot read "dir": .*is a directory/i],
      [["run", ...url, "@binary"], 2, /Cannot use "binary" as it is no UTF-8 text/],
      [["run", ...url, "-s", "@none", "hi"], 2, /Cannot read "none"/],
      [["run", ...url, "-a", "binary", "hi"], 2, /neither UTF-8 text nor a PNG/],
      [["run", ...url, "--output", "dir", "hi"], 2, /Cannot write "dir": .*is a directory/i],
      [["run", ...url, "--schema", "none", "hi"], 2, /Cannot read "none"/],
      [["run", ...url, "--schema", "text.json", "hi"], 2, /Cannot use the schema "text.json" as it must be JSON/],
      [["run", ...url, "--schema", "{", "hi"], 2, /Cannot use --schema as it must be JSON/],
      [
        ["run", ...url, "--schema", '{"type":"array"}', "hi"],
        2,
        /as its type must be "object": current value is "array"/,
      ],
      [["run", ...url, "--schema", '{"$ref":"#/nope"}', "hi"], 2, /Cannot use --schema: /],
      [
        ["run", ...url, "--schema", '{"properties":{"a":{"items":{"pattern":"("}}}}', "hi"],
        2,
        /^error: usage: Cannot use --schema: Invalid regular expression: /,
      ],
      [
        ["run", ...url, "--schema", '{"properties":{"a":{"anyOf":[{"patternProperties":{"[":{}}}]}}}', "hi"],
        2,
        /^error: usage: Cannot use --schema: Invalid regular expression: /,
      ],
      [
        ["run", ...url, "--schema", '{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"c":{}}}', "hi"],
        2,
        /^error: usage: Cannot use --schema: its \$ref "#\/\$defs\/b" leads nowhere\n/,
      ],
      [["run", ...url, "--schema", "{}", "-x", "hi"], 2, /--schema together with --extract/],
      [["run", ...url, "-t", "read_file=none", "hi"], 2, /none/],
      [["run", ...url, "-t", "write_file", "--approve", "ask", "hi"], 2, /--approve ask as there is no terminal/],
      [["run", ...url, "--tools-file", "none.ts", "hi"], 2, /none\.ts/],
      [["run", ...url, "--tools-file", "throws.ts", "hi"], 2, /not today/],
      [["run", ...url, "--tools-file", "empty.ts", "hi"], 2, /its default export is no tool/],
      [["run", "--profile", "broken.yaml", "hi"], 2, /Cannot read "broken.yaml" as YAML/],
      [["run", "--profile", "none.yaml", "hi"], 2, /Cannot read "none.yaml"/],
      [["run", "--config", "dir", "hi"], 2, /is a directory/i],
      [["run", ...url, "--replay", "none", "hi"], 2, /Cannot read "none"/],
      [["run", ...url, "--fork", "hi"], 2, /--fork without --session or --continue/],
      [["run", ...url, "--session", "../x y", "-c", "hi"], 2, /--continue together with --session/],
      [
        ["run", ...url, "--session", "x.jsonl", "--output", "./x.jsonl", "hi"],
        2,
        /--session together with --output on/,
      ],
      [["run", ...url, "--output", "dir/../x", "--record", `${cwd}/x`, "hi"], 2, /--output together with --record on/],
      [["probe", ...url, "--output", "x", "--record", "x"], 2, /--output together with --record on the same file "x"/],
      [
        ["chat", ...url, "--session", "x", "--record", ".pawl/sessions/x.jsonl"],
        2,
        /--session together with --record on the same file/,
      ],
      [["run", ...url, "--session", "x.jsonl", "--output", "y", "--record", "z", "@none"], 2, /Cannot read "none"/],
      [["run", "--base-url", "http://127.0.0.1:9/v1", "--dry-run", "hi"], 2, /name one with --model/],
      [["chat", "hi"], 2, /chat takes flags only; pawl run takes a prompt/],
      [["models", "x"], 2, /models takes flags only/],
      [["skills", "shw"], 2, /Cannot use "shw": skills takes list, show NAME or validate PATH; did you mean show\?\n/],
      [["completions"], 2, /the shell must be one of bash, zsh, fish\n/],
      [["completions", "fihs"], 2, /did you mean fish\?/],
      [
        ["completions", "bash", "fish"],
        2,
        /Cannot print completions of 2 shells at once: name one of bash, zsh, fish\n/,
      ],
      [["run", ...url, "--temperature", "9", "hi"], 2, /a number from 0 to 2/],
    ], cwd);
  });
});

Deno.test("pawl tells a session that cannot be used in one line and exits 3", async () => {
  await inDirectory(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/no.jsonl`, '{"type":"other"}\n');
    const url = ["--base-url", "http://127.0.0.1:9/v1", "-m", "x"];
    await check([
      [["run", ...url, "--session", "no.jsonl", "hi"], 3, /^error: invalid_session: /],
      [
        ["run", ...url, "--session", "none/x.jsonl", "hi"],
        3,
        /^error: invalid_session: .*: its directory is missing\n/,
      ],
      [["run", ...url, "--session", "no.jsonl/x.jsonl", "hi"], 3, /^error: invalid_session: .*: not a directory\n/i],
      [["run", ...url, "--session", "none/x.jsonl", "--fork", "hi"], 3, /^error: invalid_session: .*: there is none\n/],
      [["chat", ...url, "-c"], 3, /^error: invalid_session: /],
    ], cwd);
  });
});

Deno.test("pawl tells what an endpoint does wrong in one line, with host and port, and exits by its kind", async () => {
  const html = new Response("<html><body>Welcome</body></html>", { headers: { "content-type": "text/html" } });
  const replies: Record<string, () => Response> = {
    html: () => html,
    refused: () => new Response('{"error":{"message":"no such key"}}', { status: 401 }),
    broken: () => new Response("Bad\x1b[2J request", { status: 400 }),
    moved: () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:1/secret" } }),
    cut: () =>
      new Response('data: {"choices":[{"delta":{"content":"half"}}]}\n\n', {
        headers: { "content-type": "text/event-stream" },
      }),
  };
  const endpoint = startEndpoint({ models: Object.keys(replies), script: ({ model }) => replies[model]!() });
  try {
    await inDirectory(async (cwd) => {
      const at = ["--base-url", `${endpoint.url}/v1`];
      const closed = closedHost();
      const host = endpoint.host.replaceAll(".", "\\.");
      await check([
        [
          ["run", "--base-url", `http://${closed}/v1`, "-m", "x", "hi"],
          4,
          /^error: unreachable: .*refused \(127\.0\.0\.1:\d+\)\n$/,
        ],
        [["models", "--base-url", `http://${closed}/v1`], 4, /^error: unreachable: .*refused/],
        [
          ["run", "--base-url", endpoint.url + "/nowhere", "-m", "html", "hi"],
          5,
          new RegExp(`^error: http_status: .*404.*\\(${host}\\)\n$`),
        ],
        [["run", ...at, "-m", "nobody", "hi"], 5, /^error: http_status: .*404/],
        [["run", ...at, "-m", "html", "hi"], 5, /^error: malformed_stream: .*text\/html/],
        [["run", ...at, "-m", "refused", "hi"], 3, /^error: http_status: (?!.*no such key).*401/],
        [["run", ...at, "-m", "broken", "hi"], 5, /^error: http_status: .*400/],
        [["run", ...at, "-m", "moved", "hi"], 5, /^error: redirect: (?!.*secret).*307/],
      ], cwd);
      const cut = await pawlWith([`--allow-net=${endpoint.host}`], ["run", ...at, "-m", "cut", "hi"]);
      assertEquals([cut.code, cut.stdout], [6, ""]);
      assertMatch(cut.stderr, /^error: truncated: .*\nthe text so far:\nhalf\n$/);
    });
  } finally {
    await endpoint.close();
  }
});

Deno.test("pawl tells errors as JSON too where JSON is asked for", async () => {
  for (const flag of ["--json", "--output-format=stream-json"]) {
    const { code, stdout, stderr } = await pawlWith([], ["run", flag, "--nope"]);
    assertEquals([code, stderr], [2, 'error: usage: Unknown flag "--nope"\n']);
    const { type, exit, message, retryable } = JSON.parse(stdout);
    assertEquals([type, exit, message, retryable], ["error", 2, 'Unknown flag "--nope"', false]);
  }
});
