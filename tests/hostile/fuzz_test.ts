import { WRITERS } from "../support/writer.ts";
import { checkFuzzed, fuzzed } from "./fuzz.ts";

const REPLIES = 400;

for (const writer of WRITERS) {
  const { name } = writer.dialect;
  Deno.test(`${REPLIES} random and damaged replies of a new seed end well, over ${name}`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    console.log(`      seed ${seed}; deno task fuzz --seed ${seed} --dialect ${name} repeats them`);
    for (let number = 0; number < REPLIES; number++) {
      try {
        await checkFuzzed(writer, fuzzed(seed, number, name));
      } catch (error) {
        throw new Error(`case ${number}`, { cause: error });
      }
    }
  });
}
