/**
 * Tools of the user: `--tools-file FILE.ts`.
 * @module
 */
import { Console } from "node:console";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { type Tool, validateTools } from "../../model/tool.ts";
import { CliError } from "../exit.ts";
import { shellQuote } from "../permissions.ts";
import { ioReason } from "../io_reason.ts";
import { plainText } from "./plain_text.ts";

/**
 * Imports a module whose default export is a {@linkcode Tool} or an array of them. It runs with the permissions of the process.
 *
 * @param path The file.
 * @throws {TypeError} One line: it cannot be loaded, it throws, or it exports no tool.
 * @throws {CliError} `permission`, exit 9: what it imports or does at its start needs more; names the flag.
 */
export async function loadToolsFile(path: string): Promise<Tool[]> {
  const subject = `Cannot load the tools file "${path}"`;
  // A FIFO would be waited for with everything else at a standstill.
  const { isFile } = await Deno.stat(path).catch((error) => {
    throw new TypeError(`${subject}: ${ioReason(error)}`);
  });
  if (!isFile) throw new TypeError(`${subject}: it is no regular file`);
  let exported: unknown;
  try {
    // Standard output is the answer's alone.
    globalThis.console = new Console(process.stderr, process.stderr);
    exported = (await import(pathToFileURL(path).href) as { default?: unknown }).default;
  } catch (error) {
    // Deno says the same words with either class of error: its own, and the one of an import that failed.
    const [, name, value] = /^Requires (\w+) access(?: to "(.*?)")?, run again with/.exec((error as Error)?.message) ??
      [];
    if (name === undefined) throw new TypeError(`${subject}: ${firstLine(error)}`);
    const flag = shellQuote(`--allow-${name}${value === undefined ? "" : `=${value}`}`);
    throw new CliError("permission", `${subject}: it needs ${flag}`, { exit: 9 });
  }
  const tools = (Array.isArray(exported) ? exported : [exported]) as Tool[];
  if (tools.length === 0 || !tools.every((tool) => typeof tool === "object" && tool !== null)) {
    throw new TypeError(`${subject}: its default export is no tool and no array of tools`);
  }
  try {
    validateTools(tools);
  } catch (error) {
    throw new TypeError(`${subject}: ${firstLine(error)}`);
  }
  return tools;
}

function firstLine(error: unknown): string {
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  const [line = ""] = plainText(message).split("\n").filter((line) => line.trim() !== "");
  return (name === "" || name === "Error" || name === "TypeError" ? line : `${name}: ${line}`).trim().slice(0, 250) ||
    "it throws nothing that says why";
}
