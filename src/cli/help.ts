/**
 * Help, made from the flag table; no line is longer than 80 columns.
 * @module
 */
import { type Command, COMMANDS, type Flag, flagList } from "./flag_table.ts";

const WIDTH = 80;
const INDENT = 26;

interface About {
  summary: string;
  usage: string;
  examples: readonly string[];
  about?: string;
}

/** Help of one command, or of the program. */
export function help(command?: Command): string {
  return (command === undefined ? programHelp() : commandHelp(command)).join("\n") + "\n";
}

function programHelp(): string[] {
  return [
    "Talk with language models, with exactly the permissions that it takes.",
    "",
    "Usage: pawl COMMAND [FLAGS]",
    "",
    ...Object.entries(COMMANDS).flatMap(([name, { summary }]) => entry(`  ${name}`, summary, 16)),
    "",
    "Examples:",
    ...Object.values(COMMANDS).map(({ examples }) => `  ${examples[0]}`),
    "",
    "pawl COMMAND --help lists the flags of a command.",
  ];
}

function commandHelp(command: Command): string[] {
  const { summary, usage, examples, about }: About = COMMANDS[command];
  const lines = [`${summary}.`, "", `Usage: pawl ${command} [FLAGS] ${usage}`.trimEnd()];
  if (about !== undefined) lines.push("", ...wrap(about, WIDTH));
  const flags = flagList(command);
  for (const group of new Set(flags.map(([, flag]) => flag.group))) {
    lines.push("", `${group}:`);
    for (const [name, flag] of flags) {
      if (flag.group === group) lines.push(...entry(`  ${spelling(name, flag)}`, flag.help, INDENT));
    }
  }
  return [...lines, "", "Examples:", ...examples.map((example) => `  ${example}`)];
}

function spelling(name: string, { short, value }: Flag): string {
  return `${short ? `-${short}, ` : ""}--${name}${value === "" ? "" : ` ${value}`}`;
}

/** A name and what it means, side by side, or below each other where the name is long. */
function entry(name: string, text: string, indent: number): string[] {
  const lines = wrap(text, WIDTH - indent).map((line) => " ".repeat(indent) + line);
  if (name.length + 1 < indent) lines[0] = name.padEnd(indent) + lines[0]!.slice(indent);
  else lines.unshift(name);
  return lines;
}

function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
