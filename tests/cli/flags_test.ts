import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CliError } from "../../src/cli/exit.ts";
import { type Command, COMMANDS, flagList } from "../../src/cli/flag_table.ts";
import { parseCommandLine, wantsJson } from "../../src/cli/flags.ts";
import { completions, SHELLS } from "../../src/cli/completions.ts";
import { help } from "../../src/cli/help.ts";

function refused(...args: string[]): string {
  const error = assertThrows(() => parseCommandLine(args), CliError);
  assertEquals(error.exit, 2);
  assert(!error.message.includes("\n"), error.message);
  return error.message;
}

Deno.test("parseCommandLine reads values, switches and words in any order", () => {
  const { command, options, words } = parseCommandLine([
    "-m",
    "qwen3:8b",
    "run",
    "Say",
    "--max-tokens=12",
    "-xq",
    "hi",
    "-",
  ]);
  assertEquals(command, "run");
  assertEquals(words, ["Say", "hi", "-"]);
  assertEquals(options, { model: "qwen3:8b", "max-tokens": 12, extract: true, quiet: true });
});

Deno.test("parseCommandLine keeps an empty value apart from a missing one", () => {
  assertEquals(parseCommandLine(["chat", "-s", ""]).options.system, "");
  assertEquals(parseCommandLine(["chat", "--system="]).options.system, "");
  assertStringIncludes(refused("chat", "-s"), "its value is missing");
  assertStringIncludes(refused("run", "--model", "--json"), "its value is missing");
});

Deno.test("parseCommandLine takes values that look like something else", () => {
  const { options, words } = parseCommandLine([
    "run",
    "-s",
    "- be brief",
    "--stream",
    "true",
    "5",
    "--",
    "-x",
    "--nope",
  ]);
  assertEquals(options, { system: "- be brief", stream: true });
  assertEquals(words, ["true", "5", "-x", "--nope"]);
  assertEquals(parseCommandLine(["run", "-mgpt", "hi"]).options.model, "gpt");
  assertEquals(parseCommandLine(["run", "-Rm=gpt", "hi"]).options, { model: "gpt", "hide-reasoning": true });
  assertEquals(parseCommandLine(["run", "-s", "a=b\nc", "hi"]).options.system, "a=b\nc");
});

Deno.test("parseCommandLine collects repeatable flags and lets the last of the others win", () => {
  const { options } = parseCommandLine(["run", "-t", "read_file=a,b", "--tool=list_files", "-m", "a", "-m", "b"]);
  assertEquals(options, {
    tool: [{ name: "read_file", grants: ["a", "b"] }, { name: "list_files", grants: ["."] }],
    model: "b",
  });
});

Deno.test("parseCommandLine names the nearest flag and command", () => {
  assertStringIncludes(refused("run", "--modle", "x"), 'Unknown flag "--modle"; did you mean --model?');
  assertStringIncludes(refused("run", "--temprature=1"), "did you mean --temperature?");
  assertStringIncludes(refused("run", "--output-form", "json"), "did you mean --output-format?");
  assertStringIncludes(refused("rnu", "hi"), "did you mean run?");
  assertStringIncludes(refused("hello"), "it must be one of chat, run, probe, models, skills, completions");
  assert(!refused("run", "--xyzzy").includes("did you mean"));
  assertStringIncludes(refused("run", "-5"), "write -- before words that begin with a dash");
});

Deno.test("parseCommandLine refuses a flag of another command", () => {
  assertStringIncludes(
    refused("probe", "--tool", "read_file"),
    "Cannot use --tool with probe: it belongs to chat, run",
  );
});

Deno.test("parseCommandLine refuses each wrong value with what it must be", () => {
  const wrong: [string, string, string][] = [
    ["--max-tokens", "0", "an integer above 0"],
    ["--max-tokens", "many", "an integer above 0"],
    ["--max-turns", "33", "an integer from 1 to 32"],
    ["--max-retries", "-1", "an integer, 0 or more"],
    ["--temperature", "3", "a number from 0 to 2"],
    ["--timeout", "90", "a time above 0 with a unit"],
    ["--timeout", "0s", "a time above 0 with a unit"],
    ["--timeout", "999999999999h", "must be a shorter time"],
    ["--limit", "idleTimeoutMs=999999999999h", "must give idleTimeoutMs a shorter time"],
    ["--thinking", "deep", "low, medium, high or a number of tokens"],
    ["--limit", "nope=1", "must name one of maxResponseBytes"],
    ["--limit", "idleTimeoutMs=soon", "must give idleTimeoutMs a time above 0"],
    ["--limit", "maxBlocks=1KiB", "must give maxBlocks an integer above 0"],
    ["--limit", "maxBlocks", "must be NAME=VALUE"],
    ["--compat", "toolIds=short", "must give toolIds verbatim or mistral9"],
    ["--compat", "constructor=x", "must name one of streamUsage"],
    ["--header", "no colon", '"Name: value"'],
    ["--body", "{", "must be JSON"],
    ["--body", "[1]", "must be a JSON object"],
    ["--dialect", "gemini", "must be openai_chat or anthropic_messages"],
    ["--output-format", "xml", "must be text or json or stream-json"],
    ["--approve", "maybe", "must be ask or always or never"],
    ["--color", "blue", "must be auto or always or never"],
    ["--model", " ", "must not be empty"],
  ];
  for (const [flag, value, why] of wrong) {
    const message = refused("run", flag, value, "hi");
    assertStringIncludes(message, `Cannot use ${flag} as it`);
    assertStringIncludes(message, why);
  }
});

Deno.test("wantsJson hears flags, and neither words nor values of other flags", () => {
  const asks = [["run", "--json"], ["run", "--nope", "--output-format=json"], ["--output-format", "stream-json"]];
  const asksNot = [["run", "--", "--json"], ["run", "-s=--json"], ["run", "-s", "--output-format=json"], [
    "run",
    "--output",
    "x.json",
  ], ["--output-format", "text"]];
  assertEquals(asks.map(wantsJson), [true, true, true]);
  assertEquals(asksNot.map(wantsJson), [false, false, true, false, false]);
});

Deno.test("parseCommandLine refuses tools that there are not, or without their grants", () => {
  assertStringIncludes(refused("run", "-t", "rm", "hi"), 'Cannot use the tool "rm": the built-in tools are read_file');
  assertStringIncludes(refused("run", "-t", "fetch_url", "hi"), "name its hosts");
  assertStringIncludes(refused("run", "-t", "run_command=", "hi"), "name its programs");
});

Deno.test("parseCommandLine refuses a value behind a switch, which would turn it on whatever it says", () => {
  for (const arg of ["--json=no", "--dry-run=no", "--quiet=false", "--no-tools=", "-q=no", "-qx=no"]) {
    assertStringIncludes(refused("run", arg, "hi"), `Cannot use ${arg.split("=")[0]} with a value: it is a switch`);
  }
  assertStringIncludes(refused("run", "--jsno=no", "hi"), 'Unknown flag "--jsno"; did you mean --json?');
  assertEquals(parseCommandLine(["run", "-qm=no", "--", "-q=no"]).words, ["-q=no"]);
});

Deno.test("parseCommandLine reads sizes, times, levels and pairs", () => {
  const { options } = parseCommandLine([
    ...["run", "--limit", "maxResponseBytes=8MiB", "--limit", "idleTimeoutMs=30s", "--limit", "headersTimeoutMs=2000"],
    ...["--limit", "maxRepeats=3", "--timeout", "1.5m", "--thinking", "2048", "--header", "X-A: b: c", "--compat"],
    ...["streamUsage=false", "--compat", "thinkTags=off", "--body", '{"top_k":4}', "hi"],
  ]);
  assertEquals(options, {
    limit: [["maxResponseBytes", 8 << 20], ["idleTimeoutMs", 30_000], ["headersTimeoutMs", 2000], ["maxRepeats", 3]],
    timeout: 90_000,
    thinking: { budgetTokens: 2048 },
    header: [["x-a", "b: c"]],
    compat: [["streamUsage", false], ["thinkTags", "off"]],
    body: [{ top_k: 4 }],
  });
});

Deno.test("help fits 80 columns, names every flag of its command, and shows examples", () => {
  assert(help().split("\n").every((line) => line.length <= 80));
  for (const command of Object.keys(COMMANDS) as Command[]) {
    const text = help(command);
    for (const line of text.split("\n")) assert(line.length <= 80, line);
    for (const [name] of flagList(command)) assertStringIncludes(text, `--${name}`);
    const named = flagList().flatMap(([name]) => new RegExp(`--${name}\\b(?!-)`).test(text) ? [name] : []);
    assertEquals(
      named,
      flagList(command).map(([name]) => name),
      `pawl ${command} --help names a flag of another command`,
    );
    assertStringIncludes(text, "Examples:\n");
    assertStringIncludes(help(), command);
  }
  for (const word of ["@PATH", "@@x", " - "]) assertStringIncludes(help("run"), word);
});

Deno.test("help examples are command lines that parse", () => {
  for (const [command, { examples }] of Object.entries(COMMANDS)) {
    for (const example of examples) {
      const line = example.split(" | ").find((part) => part.startsWith("pawl "))!.split(" > ")[0]!;
      const args = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
      assertEquals<string | undefined>(parseCommandLine(args.slice(1)).command, command);
    }
  }
});

Deno.test("completions know every flag in every shell", () => {
  for (const shell of SHELLS) {
    const script = completions(shell);
    for (const [name] of flagList()) assertStringIncludes(script, shell === "fish" ? `-l ${name} ` : `--${name}`);
    for (const command of Object.keys(COMMANDS)) assertStringIncludes(script, command);
  }
});
