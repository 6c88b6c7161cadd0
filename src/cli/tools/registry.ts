/**
 * How the built-in tools are made, once their permissions are there.
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
import { mergeToolSpecs, toolNeeds, type ToolSpec } from "./spec.ts";
import { writeFileTool } from "./write_file.ts";

/** Settings of {@linkcode createTools}. */
export interface CreateToolsOptions {
  /** What `fetch_url` sends with. Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** Milliseconds that `fetch_url` and `run_command` may take. Default: their own, 30,000 and 120,000. */
  timeoutMs?: number | undefined;
}

/**
 * Makes the tools.
 *
 * @throws {PawlError} `permission`: Deno does not grant what they need; names every flag.
 * @throws {TypeError} A granted directory is none.
 */
export async function createTools(specs: readonly ToolSpec[], options: CreateToolsOptions = {}): Promise<Tool[]> {
  const { fetch: request = globalThis.fetch, timeoutMs } = options;
  const merged = mergeToolSpecs(specs);
  await checkPermissions(merged);
  return await Promise.all(merged.map(async ({ name, grants }) => {
    switch (name) {
      case "fetch_url":
        return fetchUrlTool(grants, request, { timeoutMs });
      case "run_command":
        return runCommandTool(grants, { timeoutMs });
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

async function checkPermissions(specs: readonly ToolSpec[]): Promise<void> {
  const missing = new Map<string, Set<string>>();
  for (const needs of specs.map(toolNeeds)) {
    for (const name of Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]) {
      for (const value of needs[name]) {
        if (!await isGranted(name, value)) missing.set(name, (missing.get(name) ?? new Set()).add(value));
      }
    }
  }
  if (missing.size === 0) return;
  const flags = [...missing].map(([name, values]) => `--allow-${name}=${[...values].join(",")}`).join(" ");
  const unfound = missing.has("run") ? " (or there is no such program)" : "";
  throw new PawlError("permission", `Cannot use the tools: they need ${flags}${unfound}`);
}
