/**
 * `deno task readme`: runs every command of the README and writes what it prints into the transcripts and the table of permissions. A test
 * says when that was forgotten.
 *
 * @module
 */
import { playReadme, renderReadme, ROOT } from "../tests/support/readme.ts";

if (import.meta.main) {
  const path = `${ROOT}README.md`;
  const before = await Deno.readTextFile(path);
  const { played } = await playReadme(before);
  await Deno.writeTextFile(path, await renderReadme(before, played));
}
