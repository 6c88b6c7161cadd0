/**
 * A Deno and the runtime that its `deno compile` puts into a binary, from npm alone. Deno fetches that runtime from a
 * host that many networks do not reach; with the pair named in DENO_BIN and DENORT_BIN the compile test runs anyway.
 *
 *     deno run -A tests/compile/matching_pair.ts FOLDER
 *
 * The runtime is cut out of a command line that its author compiled with this very Deno: such a file is the runtime byte
 * for byte, then the embedded program. Both parts are checked by their hash. For tests only, never shipped.
 *
 * @module
 */

const DENO = { name: "@deno/linux-x64-glibc", version: "2.7.11", file: "deno" };
const DONOR = { name: "@stdy/cli-linux-x64", version: "0.22.2", file: "bin/steady" };
const RUNTIME_BYTES = 97_076_048;
const HASHES = {
  deno: "e518fbc96877fbc2b37820ec54a02e473166cb25a5d4d627ffde37360fd7d210",
  denort: "f12d5d3886d5ea138304fb8d67d7396cfbedf53656676132152cb89f3fa4d8e6",
};

/** Paths of a Deno and its compile runtime. */
export interface MatchingPair {
  deno: string;
  denort: string;
}

async function keep(path: string, bytes: Uint8Array<ArrayBuffer>, hash: string): Promise<void> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  if (digest !== hash) throw new Error(`Cannot use ${path}: its SHA-256 is ${digest}, not ${hash}`);
  await Deno.writeFile(path, bytes, { mode: 0o755 });
}

async function areThere(pair: MatchingPair): Promise<boolean> {
  try {
    for (const path of Object.values(pair)) await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Puts the pair into a folder, about 220 MB, once.
 *
 * @param folder Where to
 * @returns The paths
 */
export async function fetchMatchingPair(folder: string): Promise<MatchingPair> {
  const pair = { deno: `${folder}/deno`, denort: `${folder}/denort` };
  if (await areThere(pair)) return pair;
  const unpacked = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${unpacked}/package.json`, '{"private":true}');
    const packages = [DENO, DONOR].map(({ name, version }) => `${name}@${version}`);
    const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--silent", ...packages];
    const { success, stderr } = await new Deno.Command("npm", { args, cwd: unpacked }).output();
    if (!success) throw new Error(`Cannot fetch the pair: ${new TextDecoder().decode(stderr)}`);
    const [deno, donor] = await Promise.all(
      [DENO, DONOR].map(({ name, file }) => Deno.readFile(`${unpacked}/node_modules/${name}/${file}`)),
    );
    await Deno.mkdir(folder, { recursive: true });
    await keep(pair.deno, deno!, HASHES.deno);
    await keep(pair.denort, donor!.slice(0, RUNTIME_BYTES), HASHES.denort);
  } finally {
    await Deno.remove(unpacked, { recursive: true });
  }
  return pair;
}

if (import.meta.main) {
  const { deno, denort } = await fetchMatchingPair(Deno.args[0] ?? ".");
  console.log(`DENO_BIN=${deno} DENORT_BIN=${denort}`);
}
