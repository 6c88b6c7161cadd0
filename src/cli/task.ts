/**
 * What `run` and `chat` share: system prompt, tools, approval.
 * @module
 */
import type { Decision } from "../agent/options.ts";
import type { ToolUseBlock } from "../model/message.ts";
import type { Tool } from "../model/tool.ts";
import type { Context } from "./context.ts";
import { usage } from "./exit.ts";
import type { Options } from "./flag_table.ts";
import { textOrFile } from "./input.ts";
import { joinNeeds, type Needs } from "./permissions.ts";
import { BUILTIN_TOOLS, type ToolSpec } from "./values.ts";

/** What a conversation is held with. */
export interface Task {
  /** System prompt; empty: none. */
  system: string;
  tools: readonly Tool[];
  /** Asked before each call, if somebody has to be. */
  decide?(call: ToolUseBlock, context: { signal: AbortSignal }): Promise<Decision>;
}

/** Refuses flags that contradict each other. */
export function checkFlags(options: Options, pairs: readonly [keyof Options, keyof Options][]): void {
  for (const [one, other] of pairs) {
    if (options[one] !== undefined && options[other] !== undefined) {
      throw usage(`Cannot use --${one} together with --${other}`);
    }
  }
}

/** Whether the flags ask for a session. */
export function wantsSession({ session, continue: goesOn, fork }: Options): boolean {
  const wants = session !== undefined || goesOn === true;
  if (fork && !wants) throw usage("Cannot use --fork without --session or --continue");
  return wants;
}

/** What the flags of a conversation need: `start` until it begins, `run` until its end. */
export async function taskNeeds({ options }: Context): Promise<{ start: Needs; run: Needs }> {
  checkFlags(options, [
    ["no-tools", "tool"],
    ["no-tools", "tools-file"],
    ["no-skills", "skill"],
    [
      "no-skills",
      "use-skill",
    ],
    ["json", "output-format"],
    ["record", "replay"],
  ]);
  const { attach = [], record, replay } = options;
  const session = wantsSession(options) ? (await import("./session_flags.ts")).sessionFlagNeeds(options) : {};
  const texts = [options.system, options["append-system"]].filter((text) => /^@[^@]/s.test(text ?? ""));
  return {
    start: {
      read: [
        ...texts.map((text) => text!.slice(1)),
        ...attach,
        ...options["tools-file"] ?? [],
        ...replay === undefined ? [] : [replay],
      ],
    },
    run: joinNeeds(...(options.tool ?? []).map(toolNeeds), session, { write: record === undefined ? [] : [record] }),
  };
}

/** A tool that writes reads there too. */
function toolNeeds({ name, grants }: ToolSpec): Needs {
  const kind = BUILTIN_TOOLS[name];
  return kind === "write" ? { read: grants, write: grants } : { [kind]: grants };
}

/**
 * Reads and loads what the flags name.
 *
 * @param fallback System prompt where none is given.
 */
export async function openTask(context: Context, options: Options, fallback: string): Promise<Task> {
  const tools = await loadTools(context, options);
  const decide = decisionOf(context, tools);
  const texts = [await textOrFile(options.system ?? fallback), await textOrFile(options["append-system"] ?? "")];
  return {
    system: texts.filter((text) => text.trim() !== "").join("\n\n"),
    tools,
    ...decide && { decide },
  };
}

async function loadTools({ terminal }: Context, options: Options): Promise<Tool[]> {
  const tools: Tool[] = [];
  if (options.tool) {
    const { createTools } = await import("./tools/registry.ts");
    tools.push(...await createTools(options.tool, { warn: (text) => terminal.note(`warning: ${text}`) }));
  }
  for (const path of options["tools-file"] ?? []) {
    const { loadToolsFile } = await import("./tools/tools_file.ts");
    tools.push(...await loadToolsFile(path));
  }
  return tools;
}

/** Longer input is cut where a person is asked: the beginning tells what it is. */
const MAX_SHOWN = 4000;

function decisionOf({ options, terminal, progress }: Context, tools: readonly Tool[]): Task["decide"] {
  if (tools.every(({ pure }) => pure)) return undefined;
  const canAsk = Deno.stdin.isTerminal() && terminal.errIsTerminal;
  const approve = options.approve ?? (canAsk ? "ask" : "always");
  if (approve === "always") return undefined;
  if (approve === "ask" && !canAsk) {
    throw usage("Cannot use --approve ask as there is no terminal to ask on: choose always or never");
  }
  const pure = new Set(tools.filter(({ pure }) => pure).map(({ name }) => name));
  return async (call, { signal }) => {
    if (pure.has(call.name)) return { allow: true };
    if (approve === "never") return { allow: false, reason: "this tool needs an approval, which nobody gives here" };
    progress.end();
    const input = call.input.length > MAX_SHOWN
      ? `${call.input.slice(0, MAX_SHOWN).toWellFormed()}… (cut)`
      : call.input;
    terminal.line(`the model wants to use ${call.name}:\n${input}`);
    const { confirm } = await import("./ask.ts");
    const isAllowed = await confirm("Allow it?", signal);
    return isAllowed ? { allow: true } : { allow: false, reason: "the user does not allow it" };
  };
}
