/**
 * Walks a directory in order. Links are not followed; `.git` and `node_modules` are left out.
 * @module
 */
import { join } from "node:path";
import type { Place } from "./paths.ts";

const SKIPPED = new Set([".git", "node_modules"]);

/** Something found on a walk. */
export interface WalkEntry {
  /** For opening. */
  at: string;
  /** For people and models. */
  shown: string;
  kind: "file" | "directory" | "link" | "other";
  /** 1 for what lies directly in the directory. */
  depth: number;
}

/**
 * @param place Where to begin.
 * @param depth How many directories deep.
 * @param signal Ends the walk.
 */
export async function* walk(place: Place, depth: number, signal: AbortSignal): AsyncGenerator<WalkEntry> {
  // A stack of our own: a tree as deep as the file system allows must not use up the one of the runtime.
  const pending: WalkEntry[] = [{ ...place, kind: "directory", depth: 0 }];
  for (let entry = pending.pop(); entry; entry = pending.pop()) {
    signal.throwIfAborted();
    if (entry.depth > 0) yield entry;
    if (entry.kind !== "directory" || entry.depth >= depth) continue;
    const inside: WalkEntry[] = [];
    for await (const { name, isFile, isDirectory, isSymlink } of Deno.readDir(entry.at)) {
      if (isDirectory && SKIPPED.has(name)) continue;
      const kind = isFile ? "file" : isDirectory ? "directory" : isSymlink ? "link" : "other";
      // A name with a line feed would pass for two.
      const shown = join(entry.shown, name.replace(/[\x00-\x1f\x7f]/g, "?"));
      inside.push({ at: join(entry.at, name), shown, kind, depth: entry.depth + 1 });
    }
    pending.push(...inside.sort((a, b) => a.shown < b.shown ? 1 : -1));
  }
}
