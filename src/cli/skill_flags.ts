/**
 * `--skill`, `--use-skill` and `--no-skills`.
 * @module
 */
import { quote } from "../model/error.ts";
import { advertise, invokeSkill, type Skill } from "../skills/skill.ts";
import { readGrantedEnv } from "./config.ts";
import type { Context } from "./context.ts";
import { usage } from "./exit.ts";
import { didYouMean } from "./flags.ts";
import type { Needs } from "./permissions.ts";
import { collectSkills, skillNeeds } from "./skill_files.ts";

/** Skills of a conversation. */
export interface ChosenSkills {
  /** The one that `--use-skill` names, in full; empty: none. */
  invoked: string;
  /** Offers those that the model may load. */
  offer: string;
  /** What the model may load. */
  loadable: readonly Skill[];
}

/** What reading the named skills needs. */
export function namedSkillNeeds(paths: readonly string[]): Needs {
  return { read: paths.flatMap((path) => skillNeeds(path).read) };
}

/**
 * Chooses the skills: named, discovered and built-in ones.
 *
 * @param hasTools Built-in skills alone are offered only beside tools: a plain question should stay one.
 * @throws {PawlError | CliError} A named skill is broken, or there is none of that name.
 */
export async function chooseSkills({ options, terminal }: Context, hasTools: boolean): Promise<ChosenSkills> {
  const { skill: paths = [], "use-skill": used } = options;
  const home = readGrantedEnv("HOME");
  const { skills, warnings } = await collectSkills({ paths, ...home !== undefined && { home } });
  for (const warning of warnings) terminal.note(`warning: ${warning}`);
  if (used !== undefined) {
    const names = skills.map(({ name }) => name);
    const invoked = skills.find(({ name }) => name === used);
    if (invoked === undefined) {
      throw usage(
        `Cannot use the skill ${quote(used)}: ${
          didYouMean(used, names) ? `there is none${didYouMean(used, names)}` : `there are ${names.join(", ")}`
        }`,
      );
    }
    const others = skills.filter((skill) => skill !== invoked);
    return { invoked: invokeSkill(invoked, []), offer: advertise(others), loadable: others };
  }
  const isWanted = hasTools || skills.some(({ source }) => source !== "built-in");
  const loadable = isWanted ? skills : [];
  return { invoked: "", offer: advertise(loadable), loadable };
}
