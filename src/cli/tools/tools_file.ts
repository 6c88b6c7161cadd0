/**
 * Tools of the user: `--tools-file FILE.ts`.
 * @module
 */
import { pathToFileURL } from "node:url";
import { type Tool, validateTools } from "../../model/tool.ts";
import { plainText } from "./plain_text.ts";

/**
 * Imports a module whose default export is a {@linkcode Tool} or an array of them. It runs with the permissions of the process.
 *
 * @param path The file.
 * @throws {TypeError} One line: it cannot be loaded, it throws, or it exports no tool.
 */
export async function loadToolsFile(path: string): Promise<Tool[]> {
  const subject = `Cannot load the tools file "${path}"`;
  let exported: unknown;
  try {
    exported = (await import(pathToFileURL(path).href) as { default?: unknown }).default;
  } catch (error) {
    throw new TypeError(`${subject}: ${firstLine(error)}`);
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
