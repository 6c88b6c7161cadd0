/**
 * `deno task size`: what each entry file of tests/size weighs, minified and gzipped.
 *
 * @module
 */
import { activeMapFlags } from "./deps.ts";

const ROOT = `${import.meta.dirname}/..`;

/**
 * Bundles an entry file as `deno bundle --minify` does.
 *
 * @param entry Its path within the project
 * @param flags More flags, `--platform` say
 * @returns The bundle
 */
export async function bundle(entry: string, flags: string[] = []): Promise<Uint8Array<ArrayBuffer>> {
  const args = ["bundle", "--quiet", "--minify", ...activeMapFlags(), ...flags, entry];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
  if (!success) throw new Error(`Cannot bundle "${entry}": ${new TextDecoder().decode(stderr)}`);
  return stdout;
}

/**
 * Bytes of a file once gzipped, as servers send it.
 *
 * @param bytes The file
 * @returns Its gzipped size in bytes
 */
export async function gzipSize(bytes: Uint8Array<ArrayBuffer>): Promise<number> {
  const gzipped = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(gzipped).arrayBuffer()).byteLength;
}

if (import.meta.main) {
  for (const { name } of [...Deno.readDirSync(`${ROOT}/tests/size`)].sort((a, b) => a.name.localeCompare(b.name))) {
    const bytes = await bundle(`tests/size/${name}`);
    console.log(`${name.padEnd(20)} ${String(bytes.length).padStart(7)} bytes, ${await gzipSize(bytes)} gzipped`);
  }
}
