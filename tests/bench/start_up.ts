/**
 * The time from the start of a process to its first request.
 *
 * @module
 */
import { activeMapFlags } from "../../scripts/deps.ts";
import { median } from "./pool.ts";
import { startServer } from "./server.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Milliseconds that were added to a bare fetch. */
export interface AddedStartUp {
  library: number;
  cli: number;
}

/**
 * Starts processes in turns, each with its module graph in the cache, and takes the time until its request arrives.
 *
 * @param key Of the reply that they get
 * @param rounds How often
 */
export async function measureStartUp(key: string, rounds: number): Promise<AddedStartUp> {
  let arrived = 0;
  const server = startServer(() => arrived ||= performance.now());
  const { origin } = server;
  const net = `--allow-net=${origin.slice("http://".length)}`;
  const scripts = {
    fetch: [`${ROOT}tests/bench/startup/fetch.ts`, origin, key],
    library: [`${ROOT}tests/bench/startup/library.ts`, origin, key],
    cli: [`${ROOT}cli.ts`, "run", "Hi", "--base-url", `${origin}/${key}`, "--model", "bench-model"],
  };
  const times: Record<keyof typeof scripts, number[]> = { fetch: [], library: [], cli: [] };
  try {
    for (let round = -2; round < rounds; round++) {
      for (const name of ["fetch", "library", "cli"] as const) {
        const args = ["run", "--quiet", "--no-check", "--no-prompt", ...activeMapFlags(), net, ...scripts[name]];
        const start = performance.now();
        arrived = 0;
        const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null", stdout: "null" })
          .output();
        if (!success || !arrived) {
          throw new Error(`Cannot measure the start of "${name}": ${new TextDecoder().decode(stderr)}`);
        }
        if (round >= 0) times[name].push(arrived - start);
      }
    }
  } finally {
    await server.close();
  }
  const bare = median(times.fetch);
  return { library: median(times.library) - bare, cli: median(times.cli) - bare };
}
