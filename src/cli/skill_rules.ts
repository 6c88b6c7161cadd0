/**
 * `pawl skills validate`: the rules of the Agent Skills layout, all of them.
 * @module
 */
import { basename, dirname, join, resolve } from "node:path";
import { PawlError } from "../model/error.ts";
import { parseSkill } from "../skills/skill.ts";
import { frontmatterParser } from "./frontmatter.ts";
import { ioReason } from "./tools/paths.ts";

/** What is wrong with one skill. */
export interface SkillReport {
  path: string;
  /** Empty: it is valid. */
  problems: string[];
}

const FIELDS = new Set(["name", "description", "license", "compatibility", "metadata", "allowed-tools"]);
const MAIN = /^(SKILL|skill)\.md$/;

/**
 * Holds skills against the rules.
 *
 * @param path A file, the directory of a skill, or a directory of skills.
 * @returns One report for each skill, sorted by path.
 * @throws {PawlError} `invalid_skill`: there is nothing to validate. `permission`.
 */
export async function validateSkills(path: string): Promise<SkillReport[]> {
  const parseYaml = await frontmatterParser({ strict: true });
  try {
    const reports: SkillReport[] = [];
    for (const file of await filesBelow(path)) reports.push(await report(file, parseYaml));
    if (reports.length > 0) return reports;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      throw new PawlError(
        "permission",
        `Cannot validate skills: run with --allow-read=${MAIN.test(basename(path)) ? dirname(path) : path}`,
      );
    }
    throw new PawlError("invalid_skill", `Cannot validate "${path}": ${ioReason(error)}`);
  }
  throw new PawlError("invalid_skill", `Cannot validate "${path}": there is no skill in it`);
}

async function filesBelow(path: string): Promise<string[]> {
  if (!(await Deno.stat(path)).isDirectory) return [path];
  const names = (await entriesOf(path)).map(({ name }) => name);
  const main = names.find((name) => MAIN.test(name));
  if (main) return [join(path, main)];
  const files: string[] = [];
  for (const { name, isDirectory } of await entriesOf(path)) {
    if (isDirectory) {
      const inner = (await entriesOf(join(path, name))).find((entry) => MAIN.test(entry.name));
      if (inner) files.push(join(path, name, inner.name));
    } else if (name.endsWith(".md")) {
      files.push(join(path, name));
    }
  }
  return files;
}

async function entriesOf(path: string): Promise<Deno.DirEntry[]> {
  const entries: Deno.DirEntry[] = [];
  for await (const entry of Deno.readDir(path)) entries.push(entry);
  return entries.sort((a, b) => a.name < b.name ? -1 : 1);
}

async function report(path: string, parseYaml: (yaml: string) => unknown): Promise<SkillReport> {
  if ((await Deno.lstat(path)).isSymlink || !(await Deno.stat(path)).isFile) {
    return { path, problems: ["it is a link or no regular file"] };
  }
  const problems: string[] = [];
  let fields: unknown;
  try {
    parseSkill(await Deno.readTextFile(path), {
      parseYaml: (yaml) => fields = parseYaml(yaml),
      ...MAIN.test(basename(path)) && { name: basename(dirname(resolve(path))) },
    });
  } catch (error) {
    problems.push((error as Error).message.replace("Cannot read the skill: ", ""));
  }
  if (typeof fields === "object" && fields !== null) problems.push(...problemsOf(fields as Record<string, unknown>));
  return { path, problems };
}

function problemsOf(fields: Record<string, unknown>): string[] {
  const problems = Object.keys(fields).filter((key) => !FIELDS.has(key)).map((key) =>
    `its field ${JSON.stringify(key.slice(0, 64))} is unknown`
  );
  const { compatibility, metadata } = fields;
  for (const key of ["license", "allowed-tools"]) {
    if (key in fields && typeof fields[key] !== "string") problems.push(`its ${key} is no text`);
  }
  if (
    compatibility !== undefined &&
    (typeof compatibility !== "string" || compatibility.trim() === "" || compatibility.length > 500)
  ) {
    problems.push("its compatibility is no text of 1 to 500 characters");
  }
  const isMap = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  if (metadata !== undefined && !(isMap && Object.values(metadata).every((value) => typeof value === "string"))) {
    problems.push("its metadata is no map of texts");
  }
  return problems;
}
