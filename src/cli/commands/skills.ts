/**
 * `pawl skills [list | show NAME | validate PATH…]`.
 * @module
 */
import { quote } from "../../model/error.ts";
import { readGrantedEnv } from "../config.ts";
import { type Context, keepOnly, tellPermissions } from "../context.ts";
import { usage } from "../exit.ts";
import { didYouMean } from "../flags.ts";
import { joinNeeds, requirePermissions } from "../permissions.ts";
import type { FoundSkill } from "../skill_discovery.ts";
import { collectSkills, skillNeeds } from "../skill_files.ts";
import { validateSkills } from "../skill_rules.ts";

const EXIT_INVALID = 3;

/** Lists, shows or checks skills. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, words } = context;
  const [action = "list", ...rest] = words;
  const { skill: paths = [], "no-skills": onlyNamed = false } = options;
  if (action !== "list" && action !== "show" && action !== "validate") {
    throw usage(
      `Cannot use ${quote(action)}: skills takes list, show NAME or validate PATH${
        didYouMean(action, ["list", "show", "validate"])
      }`,
    );
  }
  if (action === "list" ? rest.length > 0 : action === "show" ? rest.length !== 1 : rest.length === 0) {
    throw usage(`Cannot ${action} skills: write ${USAGE[action]}`);
  }
  const needs = joinNeeds(...[...paths, ...action === "validate" ? rest : []].map(skillNeeds));
  if (options["explain-permissions"]) {
    tellPermissions(context, needs);
    return 0;
  }
  requirePermissions(needs, terminal);
  if (action === "validate") return await validate(context, rest);

  const home = readGrantedEnv("HOME");
  const { skills, warnings } = await collectSkills({ paths, onlyNamed, ...home !== undefined && { home } });
  keepOnly(context, { used: needs, rest: {} });
  for (const warning of warnings) terminal.note(`warning: ${warning}`);
  if (action === "show") show(context, skills, rest[0]!);
  else list(context, skills);
  return 0;
}

const USAGE = {
  list: "pawl skills list",
  show: "pawl skills show NAME",
  validate: "pawl skills validate PATH…",
};

function list({ options, terminal }: Context, skills: readonly FoundSkill[]): void {
  if (options.json) {
    const told = skills.map(({ name, description, source }) => ({ name, description, source }));
    return terminal.json(JSON.stringify({ type: "skills", skills: told }));
  }
  for (const { name, description, source } of skills) terminal.out(`${name}: ${description} (${source})\n`);
}

function show({ options, terminal }: Context, skills: readonly FoundSkill[], name: string): void {
  const skill = skills.find((one) => one.name === name);
  if (skill === undefined) {
    const names = skills.map((one) => one.name);
    throw usage(`Cannot show the skill ${quote(name)}: there are ${names.join(", ")}${didYouMean(name, names)}`);
  }
  if (options.json) terminal.json(JSON.stringify({ type: "skill", ...skill }));
  else terminal.out(`${skill.body}\n`);
}

async function validate({ options, terminal }: Context, paths: readonly string[]): Promise<number> {
  const reports = (await Promise.all(paths.map(validateSkills))).flat();
  const isValid = reports.every(({ problems }) => problems.length === 0);
  if (options.json) terminal.json(JSON.stringify({ type: "validation", ok: isValid, skills: reports }));
  else {
    for (const { path, problems } of reports) {
      terminal.out(
        problems.length === 0 ? `✓ ${path}\n` : problems.map((problem) => `✗ ${path}: ${problem}\n`).join(""),
      );
    }
  }
  return isValid ? 0 : EXIT_INVALID;
}
