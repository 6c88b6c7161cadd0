/**
 * Other runtimes to run the library on, as programs from npm.
 *
 * @module
 */

/** npm package of each runtime, and the program in it. */
export const RUNTIMES: Record<string, { package: string; program: string }> = {
  "Node 20": { package: "node@20", program: "node" },
  "Node 22": { package: "node@22", program: "node" },
  Bun: { package: "bun@1", program: "bun" },
};

/**
 * Fetches a runtime from npm, once.
 *
 * @param name A key of {@linkcode RUNTIMES}
 * @param folder Where runtimes are kept, about 100 MB each
 * @returns Path of the program; undefined if it cannot be had or does not start here
 */
export async function fetchRuntime(name: string, folder: string): Promise<string | undefined> {
  const { package: wanted, program } = RUNTIMES[name]!;
  const home = `${folder}/${wanted}`;
  const path = `${home}/node_modules/.bin/${program}`;
  if (await starts(path)) return path;
  await Deno.mkdir(home, { recursive: true });
  const args = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", home, wanted];
  await new Deno.Command("npm", { args, stdout: "null", stderr: "null" }).output();
  return await starts(path) ? path : undefined;
}

async function starts(path: string): Promise<boolean> {
  try {
    return (await new Deno.Command(path, { args: ["--version"], stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
