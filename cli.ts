/**
 * The command line. `deno run jsr:@pawl/pawl/cli --help` tells the rest.
 * @module
 */
import { main } from "./src/cli/main.ts";

if (import.meta.main) Deno.exit(await main(Deno.args, import.meta.url));
