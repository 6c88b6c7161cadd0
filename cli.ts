/**
 * The command line: `chat`, `run`, `probe`, `models`, `skills` and `completions`. It runs with exactly the permissions that a task needs,
 * names those that are missing, and prints all of them with `--explain-permissions`. It exports nothing.
 *
 * @example One task on a model of your own
 * ```sh
 * deno run --allow-net=localhost:11434 jsr:@pawl/pawl/cli run "Why is the sky blue?"
 * ```
 *
 * @example A task with a tool that reads the current directory
 * ```sh
 * deno run --allow-net=localhost:11434 --allow-read=. jsr:@pawl/pawl/cli run -t read_file "What does the README promise?"
 * ```
 *
 * @example What another task needs, and all that can be said
 * ```sh
 * deno run jsr:@pawl/pawl/cli run --explain-permissions -t edit_file=src "Correct the spelling"
 * deno run jsr:@pawl/pawl/cli --help
 * ```
 *
 * @module
 */
import { main } from "./src/cli/main.ts";

if (import.meta.main) Deno.exit(await main(Deno.args, import.meta.url));
