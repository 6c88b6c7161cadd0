/**
 * What the flags say about the built-in tools. It loads none of them: the flag table is read at every start.
 * @module
 */
import { quote } from "../../model/error.ts";

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
}

/** Facts about a built-in tool. */
export interface BuiltinTool {
  /** What its grants are. Directories default to the working directory; hosts and programs must be named. */
  grants: "directories" | "hosts" | "programs";
  /** As in {@linkcode Tool}. */
  pure: boolean;
}

/** The built-in tools by name. None is on unless the user names it. */
export const BUILTIN_TOOLS: Readonly<Record<ToolName, BuiltinTool>> = {
  read_file: { grants: "directories", pure: true },
  list_files: { grants: "directories", pure: true },
  search_files: { grants: "directories", pure: true },
  write_file: { grants: "directories", pure: false },
  edit_file: { grants: "directories", pure: false },
  fetch_url: { grants: "hosts", pure: false },
  run_command: { grants: "programs", pure: false },
};

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

const EXAMPLES = { directories: "src,docs", hosts: "example.com,localhost:8080", programs: "date,jq" };

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
    // What a program has started can be ended only by this one: Deno.kill needs the permission to run everything.
    run: kind === "programs" ? [...grants, "kill"] : [],
  };
}
