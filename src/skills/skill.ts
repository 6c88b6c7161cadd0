/**
 * Skills: instructions that a model loads when it needs them. Reads the flat layout (`NAME.md`, rig's) and the Agent Skills layout
 * (`NAME/SKILL.md`), through a file system that the caller hands in.
 * @module
 */
import { cut, PawlError } from "../model/error.ts";
import type { Tool } from "../model/tool.ts";
import { hidden } from "../text/visible.ts";

/** Instructions with a name and a line that says when they help. */
export interface Skill {
  /** Unique among the skills of a run. */
  name: string;
  /** One line: what it does and when to use it. */
  description: string;
  /** The instructions, trimmed, with LF. */
  body: string;
  /** Where the skill's other files lie, in the Agent Skills layout. */
  directory?: string;
  /** The other files, relative to `directory`; at most 50. */
  files?: readonly string[];
}

/** How a skill's text is read. */
export interface ParseSkillOptions {
  /** Name of the skill's directory: the skill must bear it, and the Agent Skills rules for lengths and letters apply. */
  name?: string;
  /** Parses the frontmatter. Without it the lines `name: …` and `description: …` are read, and anything else is an error. */
  parseYaml?: (text: string) => unknown;
}

/** The folder of a skill. */
type Folder = { name: string; directory: string; files: string[] };

/** An entry of a directory, as `Deno.readDir` gives it. */
export interface SkillEntry {
  /** Without its directory. */
  name: string;
  /** A regular file; nothing else is read. */
  isFile: boolean;
  /** A directory. */
  isDirectory: boolean;
  /** A link: then it is neither of the two. */
  isSymlink: boolean;
}

/** The part of a file system that {@linkcode loadSkills} needs; pass `Deno`. Without the optional two every link is refused. */
export interface SkillFs {
  /** The entries of a directory, in any order; rejects with a `NotFound` if there is none. */
  readDir(path: string): AsyncIterable<SkillEntry>;
  /** A file as text. */
  readTextFile(path: string): Promise<string>;
  /** Where a path ends when every link is followed. */
  realPath?(path: string): Promise<string>;
  /** What a path ends at. */
  stat?(path: string): Promise<{ isFile: boolean; isDirectory: boolean }>;
}

const MAX_FILES = 50;
// A reviewer does not see these either, a model does. Emoji need a joiner and a variation selector side by side, nobody needs three.
const UNSEEN = /\u2800|[\u200c\u200d\ufe00-\ufe0f]{3}/g;

/**
 * Reads the text of one skill: frontmatter between two `---` lines (at most 8 KiB), then the body.
 *
 * @param text The file.
 * @param options Name of its directory, and a YAML parser.
 * @returns The skill.
 * @throws {PawlError} `invalid_skill`: no or unfinished frontmatter, no name, no description, or a character that nobody sees.
 *
 * @example
 * ```ts
 * import { parseSkill } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const skill = parseSkill("---\nname: greet\ndescription: Use when somebody says hello\n---\nAnswer in rhyme.\n");
 * assertEquals(skill, { name: "greet", description: "Use when somebody says hello", body: "Answer in rhyme." });
 * ```
 */
export function parseSkill(text: string, options: ParseSkillOptions = {}): Skill {
  const skill = readSkill(text, options);
  if (typeof skill === "string") throw new PawlError("invalid_skill", `Cannot read the skill: ${skill}`);
  return skill;
}

/** The skill, or why it is none. */
function readSkill(file: string, { name: directory, parseYaml = plainFields }: ParseSkillOptions): Skill | string {
  const text = file.replace(/^\ufeff|\r(?=\n)/g, "");
  const [head, yaml] = /---[ \t]*\n([^]*?)^---[ \t]*$/my.exec(text) ?? [];
  if (!head) return "it has no frontmatter";
  const unseen = unseenIn(text);
  if (unseen) return unseen;
  const MAX_FRONTMATTER_BYTES = 8192;
  if (new TextEncoder().encode(yaml).length > MAX_FRONTMATTER_BYTES) {
    return `its frontmatter is longer than ${MAX_FRONTMATTER_BYTES} bytes`;
  }
  let fields;
  try {
    fields = Object(parseYaml(yaml!));
  } catch (error) {
    return `its frontmatter cannot be read: ${clean((error as Error).message)}`;
  }
  const name = oneLine(fields.name).normalize(), description = oneLine(fields.description);
  if (!name || !description) return `it has no ${name ? "description" : "name"}`;
  if (directory !== undefined) {
    if (name !== directory.normalize()) return `its name "${clean(name, 64)}" is not its directory's`;
    if (!/^(?!-|.{65})(-?[\p{Ll}\p{Lo}\p{M}\p{Nd}])+$/u.test(name)) {
      return "its name is not 1 to 64 lowercase letters, digits, single hyphens";
    }
    if (description.length > 1024) return "its description is longer than 1024 characters";
  }
  // An escape of YAML writes what does not stand in the file.
  return unseenIn(`${name} ${description}`, "its frontmatter") ??
    { name, description, body: text.slice(head.length).trim() };
}

/** That a text has a character which nobody sees, and where: in its line unless another place is given. */
function unseenIn(text: string, place?: string): string | undefined {
  const at = Math.max(text.search(hidden()), text.search(UNSEEN));
  if (at < 0) return;
  const where = place ?? `line ${text.slice(0, at).split("\n").length}`;
  return `${where} has the invisible character U+${text.codePointAt(at)!.toString(16)}`;
}

/** rig's two keys, one line each. What would mean something else in YAML is refused, not misread. */
function plainFields(yaml: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of yaml.split("\n").filter((line) => line.trim())) {
    const [, key, quoted, plain] =
      /^(name|description):[ \t]+(?:"([^"\\]*)"\s*|([^\s"'&*!|>%@`[\]{}#,].*))$/.exec(line) ?? [];
    if (!key || key in fields) throw new Error("without parseYaml it has a line for name and for description");
    fields[key] = quoted ?? plain!;
  }
  return fields;
}

function oneLine(value: unknown): string {
  return typeof value === "string" ? value.replace(/\s+/g, " ").trim() : "";
}

/** Fit for a prompt or an error, whoever wrote it: one line, nothing hidden, not long. */
function clean(text: string, max = 256): string {
  return cut(oneLine(text.replace(hidden(), " ").replace(UNSEEN, " ")), max);
}

/**
 * Loads all skills of a directory: its `*.md` files, and its subdirectories that hold a `SKILL.md`.
 * Links that lead out of it and what is no regular file are refused.
 *
 * @param fs File system; pass `Deno`.
 * @param dir The directory; absent or empty is fine.
 * @param options YAML parser for the frontmatter.
 * @returns The skills, sorted by name.
 * @throws {PawlError} `invalid_skill` if any of them is broken: its `offenders` lists `PATH: reason` for each, its message as many as fit.
 * `permission`: reading was refused.
 *
 * @example
 * ```ts
 * import { loadSkills } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const fs = {
 *   async *readDir() {
 *     yield { name: "greet.md", isFile: true, isDirectory: false, isSymlink: false };
 *   },
 *   readTextFile: () => Promise.resolve("---\nname: greet\ndescription: Says hello\n---\nAnswer in rhyme."),
 * };
 * const [skill] = await loadSkills(fs, "skills"); // in Deno: loadSkills(Deno, "skills")
 * assertEquals(skill?.name, "greet");
 * ```
 */
export async function loadSkills(
  fs: SkillFs,
  dir: string,
  options: Pick<ParseSkillOptions, "parseYaml"> = {},
): Promise<Skill[]> {
  const skills = new Map<string, Skill>();
  const offenders: string[] = [];
  let isThere = false;

  /** Rejects where the link leads to nothing, or nobody can tell where. */
  async function isFileInside(path: string): Promise<boolean> {
    const root = await fs.realPath!(dir), target = await fs.realPath!(path);
    return target.startsWith(root) && "/\\".includes(target[root.length]!) && (await fs.stat!(path)).isFile;
  }

  /** Goes into a skill's own folder, which `own` tells of, as deep and as wide as is worth telling. */
  async function walk(folder: string, depth: number, own?: Folder): Promise<void> {
    const entries: SkillEntry[] = [];
    for await (const entry of fs.readDir(folder)) entries.push(entry);
    isThere = true;
    for (
      const { name, isFile, isDirectory, isSymlink } of entries.sort(byName).slice(0, depth > 1 ? MAX_FILES : undefined)
    ) {
      const path = `${folder}/${name}`;
      const isRegular = isFile || isSymlink && await isFileInside(path).catch(() => false);
      if (isDirectory) {
        if (depth < 3 && !/^\.|^node_modules$/.test(name)) {
          await walk(path, depth + 1, own ?? { name, directory: path, files: [] });
        }
      } else if (own ? depth === 1 && /^skill\.md$/i.test(name) : !isRegular || /\.md$/.test(name)) {
        let skill = isRegular
          ? readSkill(await fs.readTextFile(path), { ...options, ...own })
          : "it is no file, or a link out of the folder";
        if (skills.has((skill as Skill).name)) skill = "its name is taken";
        if (typeof skill === "string") offenders.push(`${clean(path)}: ${skill}`);
        else skills.set(skill.name, { ...skill, ...own });
      } else if (isRegular && own && own.files.length < MAX_FILES) own.files.push(path.slice(own.directory.length + 1));
    }
  }

  try {
    await walk(dir, 0);
  } catch (error) {
    const { name } = error as Error;
    if (name === "NotCapable") throw new PawlError("permission", `Cannot load skills: run with --allow-read=${dir}`);
    if (isThere || name !== "NotFound") throw error;
  }
  if (offenders[0]) {
    throw Object.assign(new PawlError("invalid_skill", `Cannot load skills: ${offenders.join("; ")}`), { offenders });
  }
  return [...skills.values()].sort(byName);
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/**
 * Joins two sets of skills; of two with one name the override stays, whole.
 *
 * @param base For example the skills that come with a program.
 * @param overrides For example those of its user.
 * @returns Sorted by name.
 */
export function mergeSkills<T extends Skill>(base: readonly T[], overrides: readonly T[]): T[] {
  return [...new Map([...base, ...overrides].map((skill) => [skill.name, skill])).values()].sort(byName);
}

/**
 * The lines of a system prompt that offer skills; add {@linkcode loadSkillTool} to the tools beside it.
 *
 * @param skills In the order in which they are offered.
 * @returns `""` without skills; the same text for the same skills.
 */
export function advertise(skills: readonly Skill[]): string {
  return skills.map(({ name, description }, i) =>
    (i ? "" : "Available skills; call load_skill before using one:\n") +
    `- ${clean(name, 64)}: ${clean(description, 1024)}`
  ).join("\n");
}

/**
 * The tool `load_skill`: returns a skill in full, and only a short note when it is asked for one again. Make one for each conversation.
 *
 * @param skills Those that were advertised.
 * @returns `undefined` without skills.
 *
 * @example
 * ```ts
 * import { advertise, loadSkillTool } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const skills = [{ name: "greet", description: "Says hello", body: "Answer in rhyme." }];
 * const system = `Be brief.\n\n${advertise(skills)}`;
 * const tools = [loadSkillTool(skills)].filter((tool) => tool !== undefined);
 * assertEquals(system.split("\n").at(-1), "- greet: Says hello");
 * assertEquals(tools[0]?.name, "load_skill");
 * ```
 */
export function loadSkillTool(skills: readonly Skill[]): Tool | undefined {
  const byName = new Map(skills.map((skill) => [clean(skill.name, 64), skill]));
  const names = [...byName.keys()];
  const loaded = new Set<Skill>();
  return skills[0] && {
    name: "load_skill",
    description: "Returns a skill in full",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", enum: names } },
      required: ["name"],
    },
    pure: true,
    run({ name }) {
      const skill = byName.get(name as string);
      if (!skill) throw new Error(`no such skill; available: ${names.join(", ")}`);
      if (loaded.has(skill)) return `The skill "${name}" stands above already`;
      loaded.add(skill);
      return inFull(skill);
    },
  };
}

function inFull({ name, description, body, directory = "", files = [] }: Skill): string {
  const list = files.map((file) => clean(file)).join(", ") + (files.length < MAX_FILES ? "" : ", …");
  return `Skill: ${clean(name, 64)}\n${clean(description, 1024)}\n` +
    (directory && `Directory: ${clean(directory, 1024)}\n`) + (list && `Files: ${list}\n`) + `\n${body}`;
}

/**
 * System text for a run that the user began with a skill: the others are offered, this one stands there in full.
 *
 * @param skill The invoked one.
 * @param others May contain `skill`; it is not offered again.
 * @returns Lines for a system prompt.
 */
export function invokeSkill(skill: Skill, others: readonly Skill[]): string {
  const offer = advertise(others.filter(({ name }) => name !== skill.name));
  return (offer && `${offer}\n\n`) + inFull(skill);
}
