/**
 * The one flag table: parsing, help, completions, profiles and the hint for a misspelt flag are all read from it.
 * @module
 */
import { DIALECT_NAMES } from "./dialects.ts";
import { BUILTIN_TOOLS, parseToolSpec } from "./tools/spec.ts";
import * as read from "./values.ts";

/** The commands, with what their help says. */
export const COMMANDS = {
  chat: {
    summary: "Talk with a model, message by message",
    usage: "",
    examples: ["pawl chat", "pawl chat -m qwen3:8b --session notes", "printf 'Hi\\nAnd again\\n' | pawl chat"],
  },
  run: {
    summary: "Do one task, with the tools you name, and print the answer",
    usage: "[PROMPT…]",
    about:
      "The words of PROMPT join with a space. @PATH is that file, @@x is @x. Standard input follows if it is no terminal, or if - asks for it.",
    examples: [
      'pawl run "Why is the sky blue?"',
      "git diff | pawl run Write a commit message",
      "pawl run -t read_file=src @README.md Is this still true?",
    ],
  },
  probe: {
    summary: "Find out what an endpoint and its model can do",
    usage: "",
    examples: ["pawl probe -m qwen3:8b", "pawl probe --base-url http://box:8000/v1 --output box.yaml"],
  },
  models: {
    summary: "List the models of an endpoint",
    usage: "",
    examples: ["pawl models", "pawl models --base-url http://box:8000/v1"],
  },
  skills: {
    summary: "List, show or check skills",
    usage: "[list | show NAME | validate PATH…]",
    examples: ["pawl skills", "pawl skills show NAME", "pawl skills validate ./skills"],
  },
  completions: {
    summary: "Print completions for a shell",
    usage: "bash | zsh | fish",
    examples: ["pawl completions fish > ~/.config/fish/completions/pawl.fish"],
  },
} as const;

/** Name of a command. */
export type Command = keyof typeof COMMANDS;

/** What a flag belongs to, and what its value looks like. */
export interface About {
  /** Heading in the help. */
  group: "Endpoint" | "Request" | "Prompt" | "Tools" | "Output" | "Session" | "Probe" | "General";
  /** Which commands know it; absent: all. */
  for?: readonly Command[];
  /** One letter. */
  short?: string;
  /** The only values. */
  choices?: readonly string[];
  /** Values, or beginnings of some that end in `=`, for completions. */
  suggest?: readonly string[];
  /** The value is a path, or may be one. */
  path?: true;
  /** May stand in a profile, under its long name. */
  profile?: true;
}

/** One flag; `T` is the value it parses to. */
export interface Flag<T = unknown> extends About {
  help: string;
  /** What the help calls the value; empty for a switch. */
  value: string;
  /** Reads the value behind the flag. */
  read: (text: string) => unknown;
  /** May be given several times; the value is a list. */
  repeat: boolean;
  /** Only for the type. */
  type?: T;
}

function on(help: string, about: About): Flag<true> {
  return { ...about, help, value: "", read: read.text, repeat: false };
}

function valued<T>(value: string, reader: (text: string) => T, help: string, about: About): Flag<T> {
  return { ...about, help, value, read: reader, repeat: false };
}

function repeated<T>(value: string, reader: (text: string) => T, help: string, about: About): Flag<T[]> {
  return { ...about, help, value, read: reader, repeat: true };
}

const TALK = ["chat", "run"] as const;
const ASK = ["chat", "run", "probe"] as const;
const NET = ["chat", "run", "probe", "models"] as const;

const ENDPOINT: About = { group: "Endpoint", for: NET };
const KEPT: About = { ...ENDPOINT, profile: true };
const WIRE: About = { group: "Request", for: NET, profile: true };
const REQUEST: About = { group: "Request", for: ASK, profile: true };
const LOOP: About = { group: "Request", for: TALK, profile: true };
const PROMPT: About = { group: "Prompt", for: TALK };
const TOOLS: About = { group: "Tools", for: TALK };
const OUTPUT: About = { group: "Output", for: TALK };
const SESSION: About = { group: "Session", for: TALK };
const GENERAL: About = { group: "General" };

const WHEN = ["auto", "always", "never"];

/** All flags. Names hold no dot: `parseArgs` would nest them. */
export const FLAGS = {
  dialect: valued("NAME", read.name, "Protocol: openai_chat (default) or anthropic_messages; env PAWL_DIALECT", {
    ...KEPT,
    short: "d",
    choices: DIALECT_NAMES,
  }),
  "base-url": valued(
    "URL",
    read.name,
    "Default http://localhost:11434/v1, or https://api.anthropic.com; env PAWL_BASE_URL",
    KEPT,
  ),
  model: valued("NAME", read.name, "Default: the only one that the endpoint lists; env PAWL_MODEL", {
    ...KEPT,
    for: ASK,
    short: "m",
  }),
  "api-key-env": valued(
    "NAME",
    read.name,
    "Environment variable with the key. Without it PAWL_API_KEY, which goes only to the origin of PAWL_BASE_URL if that is set",
    KEPT,
  ),
  profile: valued(
    "NAME|FILE",
    read.name,
    "Use a named endpoint of ./.pawl/config.yaml or $HOME/.config/pawl/config.yaml, or FILE",
    {
      ...ENDPOINT,
      path: true,
    },
  ),
  config: valued("FILE", read.name, "Look for profiles in FILE instead", { ...ENDPOINT, path: true }),

  "max-tokens": valued("N", read.count, "Longest reply, in tokens (default 8192, and --thinking on top)", REQUEST),
  temperature: valued("N", read.temperature, "From 0 to 2; default: the endpoint's own", REQUEST),
  thinking: valued(
    "LEVEL|TOKENS",
    read.thinking,
    "How much to think: low, medium, high or a number of tokens",
    REQUEST,
  ),
  "max-turns": valued("N", read.turns, "Most replies of one task, 1 to 32 (default 8)", LOOP),
  "max-total-tokens": valued("N", read.count, "Send nothing more once a task has used so many tokens", LOOP),
  "max-retries": valued("N", read.whole, "Repetitions of a request whose reply has not begun (default 2)", WIRE),
  timeout: valued(
    "DURATION",
    read.duration,
    "Deadline of the whole run, or of each message of a chat, such as 90s or 10m",
    WIRE,
  ),
  limit: repeated(
    "NAME=VALUE",
    read.limit,
    "Set a bound, such as idleTimeoutMs=30s, maxResponseBytes=8MiB or maxRepeats=3",
    {
      ...WIRE,
      suggest: read.LIMIT_NAMES.map((name) => `${name}=`),
    },
  ),
  compat: repeated("NAME=VALUE", read.compat, "Set a switch for servers that differ, such as streamUsage=false", {
    ...REQUEST,
    suggest: Object.entries(read.COMPAT).flatMap(([name, values]) =>
      Object.keys(values).map((value) => `${name}=${value}`)
    ),
  }),
  header: repeated("'N: V'", read.header, "Add or replace a request header", WIRE),
  body: repeated("JSON", read.jsonObject, "Merge an object into the request body", REQUEST),

  system: valued("TEXT|@FILE", read.text, 'System prompt; "" is none', { ...PROMPT, short: "s", profile: true }),
  "append-system": valued("TEXT|@FILE", read.text, "Add to the system prompt", PROMPT),
  attach: repeated("FILE", read.name, "Attach an image or a text", { ...PROMPT, short: "a", path: true }),
  skill: repeated("PATH", read.name, "Load a skill, or a directory of skills", {
    ...PROMPT,
    for: ["chat", "run", "skills"],
    path: true,
  }),
  "use-skill": valued("NAME", read.name, "Start with this skill", PROMPT),
  "no-skills": on("Use no skills", { ...PROMPT, for: ["chat", "run", "skills"] }),

  tool: repeated(
    "NAME[=GRANT,…]",
    parseToolSpec,
    "Allow a tool: read_file, list_files, search_files, write_file or edit_file (in directories, default .), fetch_url (from hosts), run_command (programs)",
    {
      ...TOOLS,
      short: "t",
      suggest: Object.entries(BUILTIN_TOOLS).map(([name, { grants }]) => grants === "directories" ? name : `${name}=`),
    },
  ),
  "tools-file": repeated("FILE.ts", read.name, "Allow the tools that a module exports", { ...TOOLS, path: true }),
  "no-tools": on("Use no tools", TOOLS),
  approve: valued(
    "WHEN",
    read.name,
    "ask before a tool that changes or sends something (default on a terminal), always allow it, or never",
    {
      ...TOOLS,
      choices: ["ask", "always", "never"],
    },
  ),

  "output-format": valued("FORMAT", read.name, "text (default), json, or stream-json: events, one a line", {
    ...OUTPUT,
    for: ASK,
    choices: ["text", "json", "stream-json"],
  }),
  json: on("JSON instead of text", { ...OUTPUT, for: [...NET, "skills"] }),
  schema: valued("FILE|JSON", read.name, "The answer must be JSON that fits this JSON Schema", {
    ...OUTPUT,
    for: ["run"],
    path: true,
  }),
  extract: on("Print only the first fenced block of the answer", { ...OUTPUT, for: ["run"], short: "x" }),
  output: valued("FILE", read.name, "Write the answer to FILE; probe writes a profile", {
    ...OUTPUT,
    for: ["run", "probe"],
    path: true,
  }),
  stream: on("Stream the answer into a pipe too", { ...OUTPUT, for: ["run"] }),
  "hide-reasoning": on("Do not show what the model thinks", { ...OUTPUT, short: "R" }),
  usage: on("Tell the tokens used, on standard error", { ...OUTPUT, short: "u" }),

  session: valued("FILE|NAME", read.name, "Keep the conversation in FILE, or in ./.pawl/sessions/NAME.jsonl", {
    ...SESSION,
    path: true,
  }),
  continue: on("Go on with the newest session", { ...SESSION, short: "c" }),
  fork: on("Go on in a copy of the session", SESSION),
  record: valued("FILE", read.name, "Write every exchange to FILE, secrets redacted", {
    ...SESSION,
    for: NET,
    path: true,
  }),
  replay: valued("FILE", read.name, "Answer from such a FILE instead of the network", {
    ...SESSION,
    for: NET,
    path: true,
  }),

  "tool-calling": on("Only find out whether the model calls a tool", { group: "Probe", for: ["probe"] }),
  context: valued("N", read.count, "Also find out whether a prompt of N tokens arrives whole", {
    group: "Probe",
    for: ["probe"],
  }),

  quiet: on("Only errors on standard error", { ...GENERAL, short: "q" }),
  color: valued("WHEN", read.name, "auto (default), always or never; env NO_COLOR", { ...GENERAL, choices: WHEN }),
  "explain-permissions": on("Print the deno run line with exactly the permissions needed", GENERAL),
  "dry-run": on("Print the request, secrets redacted, and send nothing", { ...GENERAL, for: TALK }),
  help: on("Print help", { ...GENERAL, short: "h" }),
  version: on("Print the version", { ...GENERAL, short: "V" }),
};

/** Long name of a flag. */
export type FlagName = keyof typeof FLAGS;

/** What was given, by long name. */
export type Options = { [N in FlagName]?: (typeof FLAGS)[N] extends Flag<infer T> ? T : never };

/** The flags with their names, in the order of the table. */
export function flagList(command?: Command): [FlagName, Flag][] {
  const all = Object.entries(FLAGS) as [FlagName, Flag][];
  return command === undefined ? all : all.filter(([, flag]) => flag.for?.includes(command) ?? true);
}
