/**
 * Programs in a directory: tests run side by side in one process, and that has but one working directory.
 *
 * @module
 */
import { activeMapFlags } from "../../scripts/deps.ts";

/** The address of a module of the project, as a literal. */
export function moduleOf(path: string): string {
  return JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
}

/**
 * Runs a program that may do everything.
 *
 * @param cwd Where
 * @param source Its text
 * @returns What it prints, which must be JSON
 */
export async function runProgram(cwd: string, source: string): Promise<unknown> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      ...activeMapFlags(),
      `data:text/javascript,${encodeURIComponent(source)}`,
    ],
    cwd,
  }).output();
  const printed = new TextDecoder().decode(stdout);
  if (!printed) throw new Error(`The program failed: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(printed);
}
