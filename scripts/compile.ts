/**
 * `deno task compile [DENO-FLAGS…]`: one binary with the command line and its skills, dist/pawl, that has the permissions
 * of the set `compile` in deno.json and can never ask for more. Flags given here go to `deno compile`: a
 * `--allow-net=HOST:PORT` replaces the hosts of the set, `--output=FILE` the place.
 *
 * @module
 */
import { activeMapFlags } from "./deps.ts";

const ROOT = `${import.meta.dirname}/..`;

/**
 * The arguments that make a binary.
 *
 * @param extra More flags for `deno compile`
 * @returns All arguments, the subcommand first
 */
export function compileArguments(extra: readonly string[] = []): string[] {
  return [
    "compile",
    "--quiet",
    "--permission-set=compile",
    // Types are for `deno task test`; another version of Deno, with other types, may compile.
    "--no-check",
    // Without it the binary asks for what it lacks on a terminal, whatever DENO_NO_PROMPT says.
    "--no-prompt",
    // Without it the binary writes a file of predictable name into the temporary directory, permission or not.
    "--no-code-cache",
    ...activeMapFlags(),
    ...extra.some((flag) => /^(-o|--output)/.test(flag)) ? [] : [`--output=${ROOT}/dist/pawl`],
    ...extra,
    `${ROOT}/cli.ts`,
  ];
}

if (import.meta.main) {
  const child = new Deno.Command(Deno.execPath(), { args: compileArguments(Deno.args), cwd: ROOT }).spawn();
  Deno.exit((await child.status).code);
}
