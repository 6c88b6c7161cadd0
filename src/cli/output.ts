/**
 * Files that the command line writes.
 * @module
 */
import { CliError, usage } from "./exit.ts";
import { quote } from "./flags.ts";
import { whyOf } from "./input.ts";

/** Makes sure before any work that a file can be written; what it holds stays. */
export async function touch(path: string): Promise<void> {
  try {
    (await Deno.open(path, { write: true, create: true })).close();
  } catch (error) {
    throw usage(`Cannot write ${quote(path)}: ${whyOf(error)}`);
  }
}

/**
 * Writes a file.
 *
 * @throws {CliError} `output`: for example the disk is full.
 */
export async function writeText(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(path, text);
  } catch (error) {
    throw new CliError("output", `Cannot write ${quote(path)}: ${whyOf(error)}`);
  }
}
