/**
 * What a hostile endpoint writes steers no terminal: the bytes that reach one.
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { hidden } from "../../src/text/visible.ts";
import { ATTACKS } from "../hostile/attacks.ts";
import { HostileEndpoint } from "../hostile/endpoint.ts";
import { startEndpoint } from "../support/endpoint.ts";
import { lines, pawlWith } from "./pawl.ts";
import { HAS_SCRIPT, onTerminal } from "./tmux.ts";

const TOOLS = new URL("../hostile/tools.ts", import.meta.url).pathname;

/** How each attack ends, and words that stand on both sides of its escapes. */
const SHOWN: [attack: string, exit: number, words: string[]][] = [
  ["escape-injection", 0, ["safe-start", "safe-end"]],
  ["escape-tool", 0, ["tool done"]],
  ["escape-error-short", 5, ["safe-start"]],
  ["error-in-stream", 5, ["partial answer", "pwn"]],
  ["tool-name-injection", 7, ["iteration_limit"]],
  ["wrong-content-type", 5, ["text/html"]],
  ["garbage-bytes", 6, ["truncated"]],
];

for (const dialect of ["openai_chat", "anthropic_messages"]) {
  for (const flags of [[], ["--json"], ["--output-format", "stream-json"]]) {
    Deno.test({
      name: `a terminal gets no control character of a hostile endpoint: ${dialect} ${flags.join(" ")}`,
      ignore: !HAS_SCRIPT,
      async fn() {
        await Promise.all(SHOWN.map(async ([attack, exit, words]) => {
          await using endpoint = new HostileEndpoint(ATTACKS);
          const base = ["-d", dialect, "--base-url", endpoint.baseUrl(attack, dialect), "-m", "hostile"];
          const args = [
            "run",
            ...base,
            "--tools-file",
            TOOLS,
            "--color",
            "never",
            "--approve",
            "always",
            ...flags,
            "hello",
          ];
          const permissions = [`--allow-net=${endpoint.host}`, `--allow-read=${TOOLS}`];
          const { code, text } = await onTerminal(permissions, args);
          assertEquals(code, exit, text);
          // The terminal itself makes CRLF of each line feed.
          const raw = text.replaceAll("\r\n", "\n").match(hidden()) ?? [];
          assertEquals(
            raw.map((c) => c.codePointAt(0)!.toString(16)),
            [],
            `${attack}: ${JSON.stringify(text.slice(0, 500))}`,
          );
          for (const word of words) assertStringIncludes(text, word);
        }));
      },
    });
  }
}

Deno.test("a model that is named like an error is told in one line", async () => {
  const endpoint = startEndpoint({ models: ["only\nerror: forged: x\x1b[2J"] });
  try {
    const args = ["run", "--base-url", `${endpoint.url}/v1`, "hello"];
    const { code, stderr } = await pawlWith([`--allow-net=${endpoint.host}`], args);
    assertEquals([code, lines(stderr)], [0, [
      `using the only model of ${endpoint.host}: only\\u{a}error: forged: x\\u{1b}[2J`,
    ]]);
  } finally {
    await endpoint.close();
  }
});
