/**
 * `pawl skills validate`: the rules of the Agent Skills layout, all of them, and whatever else pawl itself refuses.
 * @module
 */
import { basename, dirname, join, resolve } from "node:path";
import { isPawlError, PawlError } from "../model/error.ts";
import { parseSkill } from "../skills/skill.ts";
import { frontmatterParser } from "./frontmatter.ts";
import { loadSkillPath } from "./skill_files.ts";
import { ioReason } from "./io_reason.ts";

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
  try {
    const files = new Map((await filesBelow(path)).map((file) => [resolve(file), file]));
    const refused = await refusals(path);
    for (const file of refused.keys()) files.set(resolve(file), files.get(resolve(file)) ?? file);
    const reasons = new Map([...refused].map(([file, why]) => [resolve(file), why]));
    const reports = await Promise.all([...files].map(([key, file]) => report(file, reasons.get(key))));
    if (reports.length > 0) return reports.sort((a, b) => a.path < b.path ? -1 : 1);
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

/** What the loader refuses, with its reason: to agree with it, it is asked. */
async function refusals(path: string): Promise<Map<string, string>> {
  try {
    await loadSkillPath(path);
    return new Map();
  } catch (error) {
    if (!isPawlError(error, "invalid_skill")) throw error;
    const { offenders = [] } = error as { offenders?: string[] };
    return new Map(offenders.map((line) => {
      const at = line.indexOf(": ");
      return [join(line.slice(0, at)), line.slice(at + 2)];
    }));
  }
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

/** @param refusal Why pawl refuses it, if it does. */
async function report(path: string, refusal: string | undefined): Promise<SkillReport> {
  const problems = refusal === undefined ? [] : [refusal];
  const { isFile, isSymlink } = await Deno.lstat(path);
  if (isSymlink && refusal === undefined) problems.push("it is a link, which pawl follows inside of the folder only");
  // Where a refused link leads is not looked at.
  if (!isFile && (refusal !== undefined || !(await Deno.stat(path)).isFile)) {
    return { path, problems: problems.length > 0 ? problems : ["it is no regular file"] };
  }
  const [parseYaml, parseStrictly] = [await frontmatterParser(), await frontmatterParser({ strict: true })];
  let fields: unknown;
  try {
    parseSkill(await Deno.readTextFile(path), {
      parseYaml(yaml) {
        fields = parseYaml(yaml);
        try {
          parseStrictly(yaml);
        } catch {
          problems.push("its name or description needs quotes: pawl reads it as if it had them, others do not");
        }
        return fields;
      },
      ...MAIN.test(basename(path)) && { name: basename(dirname(resolve(path))) },
    });
  } catch (error) {
    const why = (error as Error).message.replace("Cannot read the skill: ", "");
    if (!problems.includes(why)) problems.push(why);
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
