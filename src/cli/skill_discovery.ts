/**
 * Looks for skills that nobody named. What is broken there is left out with a warning, and nothing is asked for: somebody else's folder
 * must not keep pawl from starting.
 * @module
 */
import { basename, join } from "node:path";
import { parseSkill, type Skill } from "../skills/skill.ts";
import { visible } from "../text/visible.ts";
import { frontmatterParser } from "./frontmatter.ts";
import { ioReason } from "./io_reason.ts";

const MAX_DEPTH = 6;
const MAX_DIRECTORIES = 2000;
const MAX_BYTES = 1024 * 1024;
const MAX_FILES = 50;
const SKIPPED = new Set([".git", "node_modules"]);

/** A skill, and where it comes from. */
export interface FoundSkill extends Skill {
  /** `built-in`, or the path of its file or directory. */
  source: string;
}

/** Skills, and what somebody should know about them. */
export interface FoundSkills {
  skills: FoundSkill[];
  /** Clean lines for standard error. */
  warnings: string[];
}

/** A walk over one root. */
interface Walk {
  /** The root, without links. */
  real: string;
  directories: number;
}

/**
 * Reads all skills below some directories.
 *
 * @param roots The most important first; one that is not there or may not be read is passed over.
 * @param options `maxDirectories`: how many to look into below each root; default 2000.
 */
export async function discover(
  roots: readonly string[],
  { maxDirectories = MAX_DIRECTORIES }: { maxDirectories?: number } = {},
): Promise<FoundSkills> {
  const found = new Map<string, FoundSkill>();
  const warnings: string[] = [];
  const warn = (path: string, why: string) =>
    void warnings.push(visible(`Skipped the skill ${path}: ${why}`, { oneLine: true }));
  let parseYaml: ((yaml: string) => unknown) | undefined;

  /** Reads one file; `directory` is set in the Agent Skills layout. */
  async function add(path: string, walk: Walk, directory?: string): Promise<void> {
    try {
      const real = await Deno.realPath(path);
      const { isFile, size } = await Deno.stat(path);
      if (!isFile || !real.startsWith(walk.real)) return warn(path, "it is no file, or a link out of the folder");
      if (size > MAX_BYTES) return warn(path, `it is larger than ${MAX_BYTES} bytes`);
      const text = await Deno.readTextFile(path);
      parseYaml ??= await frontmatterParser();
      const skill = parseSkill(text, { parseYaml });
      const other = found.get(skill.name);
      if (other) return warn(path, `its name is that of ${other.source}`);
      if (directory !== undefined) warnAboutName(text, path);
      found.set(skill.name, {
        ...skill,
        ...directory !== undefined && { directory, ...await filesOf(directory) },
        source: path,
      });
    } catch (error) {
      warn(
        path,
        error instanceof Error && error.name === "PawlError" ? error.message.replace(/^.*?: /, "") : ioReason(error),
      );
    }
  }

  function warnAboutName(text: string, path: string): void {
    try {
      parseSkill(text, { parseYaml: parseYaml!, name: basename(join(path, "..")) });
    } catch (error) {
      warnings.push(
        visible(`The skill ${path} breaks a rule: ${(error as Error).message.replace(/^.*?: /, "")}`, {
          oneLine: true,
        }),
      );
    }
  }

  for (const root of roots) {
    if ((await Deno.permissions.query({ name: "read", path: root })).state !== "granted") continue;
    let walk: Walk;
    try {
      walk = { real: await Deno.realPath(root) + "/", directories: 0 };
    } catch {
      continue; // there are no skills here
    }
    const pending = [{ path: root, depth: 0 }];
    for (let at = pending.shift(); at; at = pending.shift()) {
      if (++walk.directories > maxDirectories) {
        warnings.push(`Skipped the rest of ${root}: it has more than ${maxDirectories} directories`);
        break;
      }
      let entries: Deno.DirEntry[];
      try {
        entries = [...Deno.readDirSync(at.path)]; // two thousand of them: the synchronous form is many times faster
      } catch (error) {
        warn(at.path, ioReason(error));
        continue;
      }
      entries.sort((a, b) => a.name < b.name ? -1 : 1);
      const main = entries.find(({ name }) => name === "SKILL.md") ?? entries.find(({ name }) => name === "skill.md");
      if (main && at.depth > 0) {
        await add(join(at.path, main.name), walk, at.path);
        continue;
      }
      for (const { name, isDirectory, isSymlink } of entries) {
        const path = join(at.path, name);
        if (isDirectory && at.depth < MAX_DEPTH && !SKIPPED.has(name)) pending.push({ path, depth: at.depth + 1 });
        else if (!isDirectory && at.depth === 0 && (name.endsWith(".md") || isSymlink)) await add(path, walk);
      }
    }
  }
  return { skills: [...found.values()], warnings };
}

/** The other files of a skill, as the loader of the library lists them. */
async function filesOf(directory: string): Promise<{ files?: string[] }> {
  const files: string[] = [];
  const pending = [""];
  for (let prefix = pending.shift(); prefix !== undefined && files.length < MAX_FILES; prefix = pending.shift()) {
    for await (const { name, isFile, isDirectory } of Deno.readDir(join(directory, prefix))) {
      if (isFile && !(prefix === "" && /^(SKILL|skill)\.md$/.test(name)) && files.length < MAX_FILES) {
        files.push(prefix + name);
      } else if (isDirectory && !SKIPPED.has(name) && prefix.split("/").length < 3) pending.push(`${prefix}${name}/`);
    }
  }
  return files.length > 0 ? { files: files.sort() } : {};
}
