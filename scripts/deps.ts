/**
 * Picks the packages for this machine and runs `deno` with them: JSR's by deno.json where JSR answers, otherwise the
 * stand-ins beside this file. It imports nothing, since what it could import is what it has to find out.
 *
 *     deno run -q -P=tasks scripts/deps.ts SUBCOMMAND ARGS…
 *
 * @module
 */

const STANDINS = `${import.meta.dirname}/standins/import_map.json`;

/** A dropped connection attempt shows only as silence: this long is waited for an answer. */
const PATIENCE_MS = 5_000;

async function jsrAnswers(): Promise<boolean> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "--no-lock", "jsr:@std/assert@1"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return (await command.output()).success;
}

/**
 * The flags that give a `deno` command the same packages as the running program.
 *
 * @returns An `--import-map` flag if this program runs with the stand-ins, else nothing
 */
export function activeMapFlags(): string[] {
  return import.meta.resolve("@std/assert").startsWith("file:") ? [`--import-map=${STANDINS}`] : [];
}

if (import.meta.main) {
  const useJsr = await jsrAnswers();
  console.error(useJsr ? "packages: JSR" : "packages: stand-ins in scripts/standins (JSR does not answer)");
  const [subcommand = "help", ...args] = Deno.args;
  const map = useJsr ? [] : [`--import-map=${STANDINS}`];
  const child = new Deno.Command(Deno.execPath(), { args: [subcommand, ...map, ...args] }).spawn();
  // The terminal sends Ctrl-C to both; a plain SIGTERM would otherwise leave the child behind.
  Deno.addSignalListener("SIGINT", () => {});
  Deno.addSignalListener("SIGTERM", () => child.kill("SIGTERM"));
  Deno.exit((await child.status).code);
}
