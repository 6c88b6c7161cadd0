/**
 * Skills on disk: those that the user names, read strictly, and those that are discovered, read leniently.
 * @module
 */
import { basename, dirname, join, resolve } from "node:path";
import { isPawlError, PawlError } from "../model/error.ts";
import { loadSkills, mergeSkills, parseSkill, type Skill } from "../skills/skill.ts";
import { BUILTIN_SKILLS } from "./builtin_skills.ts";
import { frontmatterParser } from "./frontmatter.ts";
import { discover, type FoundSkill, type FoundSkills } from "./skill_discovery.ts";
import { ioReason } from "./io_reason.ts";

/** Which skills {@linkcode collectSkills} collects. */
export interface CollectOptions {
  /** Files and directories that the user named. */
  paths?: readonly string[];
  /** Neither the built-in ones, nor those of the project and at home. Default `false`. */
  onlyNamed?: boolean;
  /** Directory of the project. Default: the working directory. */
  project?: string;
  /** Home directory, if it is known. */
  home?: string;
}

/** The skills that come with pawl. */
function builtinSkills(): FoundSkill[] {
  return BUILTIN_SKILLS.map((skill) => ({ ...skill, source: "built-in" }));
}

/**
 * Collects all skills: built-in, then at home, then in the project, then named ones; of two with one name the later stays.
 *
 * @returns Sorted by name.
 * @throws {PawlError} `invalid_skill` or `permission`, for the named ones only.
 */
export async function collectSkills(options: CollectOptions = {}): Promise<FoundSkills> {
  const named = await Promise.all((options.paths ?? []).map(loadSkillPath));
  if (options.onlyNamed) return { skills: mergeSkills([], named.flat()), warnings: [] };
  const { skills: discovered, warnings } = await discoverSkills(options);
  const builtin = builtinSkills();
  for (const { name, source } of discovered) {
    if (builtin.some((skill) => skill.name === name)) {
      warnings.push(`The skill "${name}" in ${source} replaces the built-in one`);
    }
  }
  return { skills: mergeSkills(mergeSkills(builtin, discovered), named.flat()), warnings };
}

/**
 * Looks in `.pawl/skills` and `.agents/skills` of the project, then of the home directory: each only where reading is permitted already.
 *
 * @returns Of two with one name the first stays, with a warning. What cannot be used is left out with a warning.
 */
export async function discoverSkills(options: Pick<CollectOptions, "project" | "home"> = {}): Promise<FoundSkills> {
  const bases = [options.project ?? ".", ...options.home === undefined ? [] : [options.home]];
  const roots = bases.flatMap((base) => [join(base, ".pawl", "skills"), join(base, ".agents", "skills")]);
  return await discover([...new Set(roots)]);
}

/**
 * The paths that reading a named skill takes.
 *
 * @param path As the user wrote it: a file, the directory of a skill, or a directory of skills.
 */
export function skillNeeds(path: string): { read: string[] } {
  return { read: [isMain(path) ? dirname(path) : path] };
}

function isMain(path: string): boolean {
  return /^(SKILL|skill)\.md$/.test(basename(path));
}

/**
 * Loads what the user named, strictly.
 *
 * @param path A file, the directory of a skill, or a directory of skills.
 * @throws {PawlError} `invalid_skill`: it is not there, or holds no skill or a broken one; `offenders` lists all. `permission`.
 */
export async function loadSkillPath(path: string): Promise<FoundSkill[]> {
  const fail = (why: string) => new PawlError("invalid_skill", `Cannot load skills from "${path}": ${why}`);
  const parseYaml = await frontmatterParser();
  try {
    const { isFile, isDirectory } = await Deno.stat(path);
    if (!isFile && !isDirectory) throw fail("it is no regular file");
    if (isFile && !isMain(path)) {
      return [{ ...readNamed(path, await Deno.readTextFile(path), parseYaml), source: path }];
    }
    const directory = isFile ? dirname(path) : path;
    const isOne = isFile || await hasMain(directory);
    const skills = isOne ? await loadOne(directory, parseYaml) : await loadSkills(Deno, path, { parseYaml });
    if (skills.length === 0) throw fail("there is none in it");
    return skills.map((skill) => ({ ...skill, source: skill.directory ?? path }));
  } catch (error) {
    if (isPawlError(error)) throw error;
    if (error instanceof Deno.errors.NotCapable) {
      throw new PawlError("permission", `Cannot load skills: run with --allow-read=${skillNeeds(path).read}`);
    }
    throw fail(ioReason(error));
  }
}

function readNamed(path: string, text: string, parseYaml: (yaml: string) => unknown): Skill {
  try {
    return parseSkill(text, { parseYaml });
  } catch (error) {
    const offenders = [`${path}: ${(error as Error).message.replace("Cannot read the skill: ", "")}`];
    throw Object.assign(new PawlError("invalid_skill", `Cannot load skills: ${offenders}`), { offenders });
  }
}

async function hasMain(directory: string): Promise<boolean> {
  for await (const { name } of Deno.readDir(directory)) if (isMain(name)) return true;
  return false;
}

/** Loads the one skill whose directory it is: to the loader, its parent holds nothing else, and links may not leave the skill itself. */
async function loadOne(directory: string, parseYaml: (yaml: string) => unknown): Promise<Skill[]> {
  const [parent, name] = [join(directory, ".."), basename(resolve(directory))];
  const fs = {
    async *readDir(path: string): AsyncGenerator<Deno.DirEntry> {
      if (path === parent) yield { name, isFile: false, isDirectory: true, isSymlink: false };
      else yield* Deno.readDir(path);
    },
    readTextFile: Deno.readTextFile,
    realPath: (path: string) => Deno.realPath(path === parent ? directory : path),
    stat: Deno.stat,
  };
  return (await loadSkills(fs, parent, { parseYaml })).map((skill) => ({ ...skill, directory }));
}
