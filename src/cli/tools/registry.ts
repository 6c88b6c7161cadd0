/**
 * The built-in tools: what each may be granted, which permissions of Deno that takes, and how it is made.
 * @module
 */
import { PawlError } from "../../model/error.ts";
import type { Tool } from "../../model/tool.ts";
import { editFileTool } from "./edit_file.ts";
import { fetchUrlTool } from "./fetch_url.ts";
import { listFilesTool } from "./list_files.ts";
import { Fence } from "./paths.ts";
import { readFileTool } from "./read_file.ts";
import { runCommandTool } from "./run_command.ts";
import { searchFilesTool } from "./search_files.ts";
import { writeFileTool } from "./write_file.ts";

/** Names of the built-in tools. */
export type ToolName =
  | "read_file"
  | "list_files"
  | "search_files"
  | "write_file"
  | "edit_file"
  | "fetch_url"
  | "run_command";

/** What `--tool NAME=GRANT,…` asked for. */
export interface ToolSpec {
  name: ToolName;
  /** Directories, hosts or programs; never empty. */
  grants: string[];
}

/** Values for `--allow-read=` and so on. */
export interface ToolNeeds {
  read: string[];
  write: string[];
  net: string[];
  run: string[];
  /** Better with it: `kill`, so that `run_command` can end a whole process tree. */
  optionalRun: string[];
}

/** Facts about a built-in tool. */
export interface BuiltinTool {
  /** What its grants are. Directories default to the working directory; hosts and programs must be named. */
  grants: "directories" | "hosts" | "programs";
  /** As in {@linkcode Tool}. */
  pure: boolean;
  /** One line for help and completions. */
  summary: string;
}

/** The built-in tools by name. None is on unless the user names it. */
export const BUILTIN_TOOLS: Readonly<Record<ToolName, BuiltinTool>> = {
  read_file: { grants: "directories", pure: true, summary: "read text files" },
  list_files: { grants: "directories", pure: true, summary: "list directories" },
  search_files: { grants: "directories", pure: true, summary: "find lines in files" },
  write_file: { grants: "directories", pure: false, summary: "write whole files" },
  edit_file: { grants: "directories", pure: false, summary: "replace a piece of a file" },
  fetch_url: { grants: "hosts", pure: false, summary: "get the text of web pages" },
  run_command: { grants: "programs", pure: false, summary: "run programs, outside of every fence" },
};

/** Settings of {@linkcode createTools}. */
export interface CreateToolsOptions {
  /** What `fetch_url` sends with. Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** Told, in one line, what works less well than it could. */
  warn?: (text: string) => void;
}

/**
 * Reads `NAME` or `NAME=GRANT,…`.
 *
 * @throws {TypeError} There is no such tool, or its grants are missing or malformed.
 */
export function parseToolSpec(text: string): ToolSpec {
  const [, name = "", list] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  if (!Object.hasOwn(BUILTIN_TOOLS, name)) {
    throw new TypeError(
      `Cannot use the tool ${quote(name)}: the built-in tools are ${Object.keys(BUILTIN_TOOLS).join(", ")}`,
    );
  }
  const kind = BUILTIN_TOOLS[name as ToolName].grants;
  if (list === undefined && kind === "directories") return { name: name as ToolName, grants: ["."] };
  const grants = (list ?? "").split(",").map((grant) => grant.trim());
  if (grants.includes("")) {
    throw new TypeError(`Cannot use the tool ${quote(name)}: name its ${kind}, as in ${name}=${EXAMPLES[kind]}`);
  }
  return {
    name: name as ToolName,
    grants: [...new Set(kind === "hosts" ? grants.map(checkHost) : grants.map(checkText))],
  };
}

const EXAMPLES = { directories: "src,docs", hosts: "example.com,localhost:8080", programs: "git,deno" };

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

function checkText(grant: string): string {
  if (/[\x00-\x1f\x7f]/.test(grant)) throw new TypeError(`Cannot grant ${quote(grant)}: it holds a control character`);
  return grant;
}

function checkHost(grant: string): string {
  const host = URL.parse(`http://${grant}/`);
  const port = /:(\d{1,5})$/.exec(grant)?.[1];
  // The parser drops port 80 and accepts user names, queries and more: only what comes out as it went in is a host.
  if (!host || host.hostname + (port ? `:${port}` : "") !== grant.toLowerCase() || host.hostname.includes("*")) {
    throw new TypeError(
      `Cannot grant the host ${quote(grant)}: write it as NAME or NAME:PORT, without a scheme or path`,
    );
  }
  return grant.toLowerCase();
}

/** Joins specs that name the same tool: their grants are united. Keeps the order. */
export function mergeToolSpecs(specs: readonly ToolSpec[]): ToolSpec[] {
  const merged = new Map<ToolName, ToolSpec>();
  for (const { name, grants } of specs) {
    merged.set(name, { name, grants: [...new Set([...merged.get(name)?.grants ?? [], ...grants])] });
  }
  return [...merged.values()];
}

/** The permissions that a tool takes, exactly. */
export function toolNeeds({ name, grants }: ToolSpec): ToolNeeds {
  const { grants: kind, pure } = BUILTIN_TOOLS[name];
  const isFiles = kind === "directories";
  return {
    read: isFiles ? grants : [],
    write: isFiles && !pure ? grants : [],
    net: kind === "hosts" ? grants : [],
    run: kind === "programs" ? grants : [],
    optionalRun: kind === "programs" ? ["kill"] : [],
  };
}

/**
 * Makes the tools.
 *
 * @throws {PawlError} `permission`: Deno does not grant what they need; names every flag.
 * @throws {TypeError} A granted directory is none.
 */
export async function createTools(specs: readonly ToolSpec[], options: CreateToolsOptions = {}): Promise<Tool[]> {
  const { fetch: request = globalThis.fetch, warn } = options;
  const merged = mergeToolSpecs(specs);
  await checkPermissions(merged, warn);
  return await Promise.all(merged.map(async ({ name, grants }) => {
    switch (name) {
      case "fetch_url":
        return fetchUrlTool(grants, request);
      case "run_command":
        return runCommandTool(grants);
      default:
        return FILE_TOOLS[name](await Fence.open(grants));
    }
  }));
}

const FILE_TOOLS = {
  read_file: readFileTool,
  list_files: listFilesTool,
  search_files: searchFilesTool,
  write_file: writeFileTool,
  edit_file: editFileTool,
};

const SUBJECTS = { read: "path", write: "path", net: "host", run: "command" };

async function isGranted(name: keyof typeof SUBJECTS, value: string): Promise<boolean> {
  const descriptor = { name, [SUBJECTS[name]]: value } as unknown as Deno.PermissionDescriptor;
  return (await Deno.permissions.query(descriptor)).state === "granted";
}

async function checkPermissions(specs: readonly ToolSpec[], warn: CreateToolsOptions["warn"]): Promise<void> {
  const missing = new Map<string, Set<string>>();
  for (const needs of specs.map(toolNeeds)) {
    for (const name of Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]) {
      for (const value of needs[name]) {
        if (!await isGranted(name, value)) missing.set(name, (missing.get(name) ?? new Set()).add(value));
      }
    }
    for (const program of needs.optionalRun) {
      if (await isGranted("run", program)) continue;
      warn?.(`run_command can end only the program itself, not what it starts: allow it with --allow-run=${program}`);
    }
  }
  if (missing.size === 0) return;
  const flags = [...missing].map(([name, values]) => `--allow-${name}=${[...values].join(",")}`).join(" ");
  const unfound = missing.has("run") ? " (or there is no such program)" : "";
  throw new PawlError("permission", `Cannot use the tools: they need ${flags}${unfound}`);
}
