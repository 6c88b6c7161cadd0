/**
 * What `run` and `chat` share: system prompt, tools, approval.
 * @module
 */
import type { Decision } from "../agent/options.ts";
import type { ToolUseBlock } from "../model/message.ts";
import type { Tool } from "../model/tool.ts";
import type { Skill } from "../skills/skill.ts";
import type { Context } from "./context.ts";
import { type Endpoint, loopOptions } from "./endpoint.ts";
import { usage } from "./exit.ts";
import type { Options } from "./flag_table.ts";
import { textOrFile } from "./input.ts";
import { joinNeeds, type Needs } from "./permissions.ts";
import { joinSystem, type SystemSettings } from "./system_prompt.ts";
import { toolNeeds } from "./tools/spec.ts";

/** What a conversation is held with. */
export interface Task extends SystemSettings {
  /** Offers the skills. It goes along with each request and is not kept: the next run may have others, or none. */
  offer: string;
  tools: readonly Tool[];
  /** Skills that the model may load, by a tool that each conversation has for itself. */
  skills: readonly Skill[];
  /** Asked before each call, if somebody has to be. */
  decide?(call: ToolUseBlock, context: { signal: AbortSignal }): Promise<Decision>;
}

/** The tools of a new conversation. */
export async function toolsFor({ tools, skills }: Task): Promise<readonly Tool[]> {
  if (skills.length === 0) return tools;
  const { loadSkillTool } = await import("../skills/skill.ts");
  const tool = loadSkillTool(skills);
  return tool === undefined ? tools : [...tools, tool];
}

/** Refuses flags that contradict each other. */
export function checkFlags(options: Options, pairs: readonly [keyof Options, keyof Options][]): void {
  for (const [one, other] of pairs) {
    if (options[one] !== undefined && options[other] !== undefined) {
      throw usage(`Cannot use --${one} together with --${other}`);
    }
  }
}

const CONTRADICTIONS: readonly [keyof Options, keyof Options][] = [
  ["no-tools", "tool"],
  ["no-tools", "tools-file"],
  ["no-skills", "skill"],
  ["no-skills", "use-skill"],
  ["json", "output-format"],
  ["record", "replay"],
  ["continue", "session"],
];

/** Whether the flags ask for a session. */
export function wantsSession({ session, continue: goesOn, fork }: Options): boolean {
  const wants = session !== undefined || goesOn === true;
  if (fork && !wants) throw usage("Cannot use --fork without --session or --continue");
  return wants;
}

/** What the flags of a conversation need: `start` until it begins, `run` until its end. */
export async function taskNeeds({ options }: Context): Promise<{ start: Needs; run: Needs }> {
  checkFlags(options, CONTRADICTIONS);
  const { attach = [] } = options;
  const session = wantsSession(options) ? (await import("./session_flags.ts")).sessionFlagNeeds(options) : {};
  const skills = options.skill ? (await import("./skill_flags.ts")).namedSkillNeeds(options.skill) : {};
  const texts = [options.system, options["append-system"]].filter((text) => /^@[^@]/s.test(text ?? ""));
  return {
    start: joinNeeds(skills, {
      read: [
        ...texts.map((text) => text!.slice(1)),
        ...attach,
        ...options["tools-file"] ?? [],
      ],
    }),
    run: joinNeeds(...(options.tool ?? []).map(toolNeeds), session),
  };
}

/**
 * Reads and loads what the flags name.
 *
 * @param fallback System prompt where none is given.
 */
export async function openTask(context: Context, endpoint: Endpoint, fallback = ""): Promise<Task> {
  const { options } = endpoint;
  const tools = await loadTools(endpoint);
  const skills = wantsSkills(options, tools)
    ? await (await import("./skill_flags.ts")).chooseSkills(context, tools.length > 0)
    : undefined;
  const { "append-system": appended, "use-skill": used } = options;
  const own = await textOrFile(options.system ?? fallback);
  const added = joinSystem(await textOrFile(appended ?? ""), skills?.invoked ?? "");
  // What a profile or nobody says is for new conversations only.
  const isGiven = context.options.system !== undefined;
  const isAdded = appended !== undefined || used !== undefined;
  const decide = decisionOf(context, tools);
  return {
    system: { own, added },
    given: isGiven ? { own, added } : isAdded ? { added } : {},
    offer: skills?.offer ?? "",
    tools,
    skills: skills?.loadable ?? [],
    ...decide && { decide },
  };
}

/** Directories of the project in which skills are looked for, if reading them is granted. */
const SKILL_DIRECTORIES = [".pawl/skills", ".agents/skills"];

/** Whether there may be skills at all: most command lines need not load what reads them. */
function wantsSkills(options: Options, tools: readonly Tool[]): boolean {
  if (options["no-skills"]) return false;
  if (tools.length > 0 || options.skill !== undefined || options["use-skill"] !== undefined) return true;
  return SKILL_DIRECTORIES.some((path) => Deno.permissions.querySync({ name: "read", path }).state === "granted");
}

async function loadTools({ options, fetch }: Endpoint): Promise<Tool[]> {
  const tools: Tool[] = [];
  if (options.tool) {
    const { createTools } = await import("./tools/registry.ts");
    const { toolTimeoutMs: timeoutMs } = loopOptions(options);
    tools.push(...await createTools(options.tool, { fetch, timeoutMs }));
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
  const impure = new Set(tools.filter(({ pure }) => !pure).map(({ name }) => name));
  return async (call, { signal }) => {
    if (!impure.has(call.name)) return { allow: true };
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
