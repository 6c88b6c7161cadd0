/**
 * `deno task fuzz`: random and damaged replies in both dialects, for as long as one likes.
 * @module
 */
import { WRITERS } from "../tests/support/writer.ts";
import { base64, checkFuzzed, fuzzed } from "../tests/hostile/fuzz.ts";

const HELP = `deno task fuzz [OPTIONS]

  --minutes N       for each dialect; default 1
  --seed N          default: a new one, printed
  --dialect NAME    openai_chat or anthropic_messages; default: both
  --case N          only this reply of the seed
`;

/** The options, as the words behind the script's name; returns the exit status. */
export async function fuzz(args: readonly string[]): Promise<number> {
  const values = new Map<string, string>();
  for (let i = 0; i < args.length; i += 2) {
    const [name = "", value] = args.slice(i, i + 2);
    if (!["--minutes", "--seed", "--dialect", "--case"].includes(name) || value === undefined) {
      console.error(HELP);
      return name === "--help" ? 0 : 2;
    }
    values.set(name, value);
  }
  const seed = Number(values.get("--seed") ?? Math.floor(Math.random() * 2 ** 32)) >>> 0;
  const minutes = Number(values.get("--minutes") ?? 1);
  const only = values.has("--case") ? Number(values.get("--case")) : undefined;
  for (const writer of WRITERS.filter(({ dialect: { name } }) => name.includes(values.get("--dialect") ?? ""))) {
    const { name } = writer.dialect;
    const began = performance.now(), kinds: Record<string, number> = {};
    let number = only ?? 0, reported = began;
    for (; performance.now() - began < minutes * 60_000; number++) {
      const reply = fuzzed(seed, number, name);
      kinds[reply.kind] = (kinds[reply.kind] ?? 0) + 1;
      try {
        await checkFuzzed(writer, reply);
      } catch (error) {
        console.error(`\n${name}: seed ${seed}, case ${number} (${reply.kind}): ${base64(reply.bytes)}\n`, error);
        return 1;
      }
      if (only !== undefined) break;
      if (performance.now() - reported > 30_000) {
        reported = performance.now();
        console.log(`${name}: ${number + 1} replies`);
      }
    }
    console.log(`${name}: seed ${seed}, ${number} replies, none wrong: ${JSON.stringify(kinds)}`);
  }
  return 0;
}

if (import.meta.main) Deno.exit(await fuzz(Deno.args));
