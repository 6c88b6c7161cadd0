/**
 * Replaces a file in one step: whoever reads it sees the old text or the new one, and a full disk leaves the old one.
 * @module
 */
import { basename, dirname, join } from "node:path";
import { ioReason } from "../io_reason.ts";

/**
 * Writes beside the file, then renames. The permission bits of an existing file are kept; other hard links to it keep the old text.
 *
 * @param at The file; its directory exists.
 * @param bytes The new content.
 * @param shown The path for error texts.
 * @throws {Error} It cannot be written, or the file forbids it; nothing has changed then.
 */
export async function writeAtomic(at: string, bytes: Uint8Array, shown: string): Promise<void> {
  const temporary = join(dirname(at), `.${basename(at).slice(0, 60)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  try {
    const mode = await modeOf(at);
    try {
      const file = await Deno.open(temporary, {
        write: true,
        createNew: true,
        ...mode !== undefined && { mode: 0o600 },
      });
      try {
        for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
        await file.sync();
      } finally {
        file.close();
      }
      if (mode !== undefined) await Deno.chmod(temporary, mode);
      await Deno.rename(temporary, at);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {}); // it may not exist; the first error is the one to tell
      throw error;
    }
  } catch (error) {
    throw new Error(`Cannot write "${shown}": ${ioReason(error)}`);
  }
}

/** Permission bits of a file that is there and may be written: a rename alone would replace a read-only file too. */
async function modeOf(at: string): Promise<number | undefined> {
  try {
    (await Deno.open(at, { write: true })).close();
    return ((await Deno.stat(at)).mode ?? 0o600) & 0o7777;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
