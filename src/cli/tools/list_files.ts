/**
 * The tool `list_files`: what a directory holds.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { intOf, textOf } from "./input.ts";
import { globTest } from "./line_pattern.ts";
import type { Fence } from "./paths.ts";
import { walk } from "./walk.ts";

const MAX_ENTRIES = 1000;
const MARKS = { file: "", directory: "/", link: "@", other: "|" };

/**
 * Makes `list_files`: at most 1000 entries, directories marked `/` and links `@`.
 *
 * @param fence The granted directories.
 */
export function listFilesTool(fence: Fence): Tool {
  return {
    name: "list_files",
    description: `Lists files and directories. Directories end in "/". Without a path it lists: ${fence.granted}.`,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Directory to list" },
        depth: { type: "integer", minimum: 1, maximum: 20, description: "How many levels; default 3" },
        files: { type: "string", description: 'Only files that fit this pattern, such as "*.ts" or "src/**/*.md"' },
      },
    },
    pure: true,
    async run({ path, depth, files }, { signal }) {
      const places = path === undefined || path === ""
        ? fence.roots
        : [await fence.existing(textOf(path, "path"), "directory")];
      const fits = files === undefined || files === "" ? undefined : globTest(textOf(files, "files"));
      const levels = intOf(depth, fits ? 20 : 3, 1, 20);
      const lines: string[] = [];
      for (const place of places) {
        for await (const { shown, kind } of walk(place, levels, signal)) {
          if (fits && (kind !== "file" || !fits(shown))) continue;
          if (lines.length === MAX_ENTRIES) {
            return [...lines, "[there are more: list a directory below, or fewer levels]"].join("\n");
          }
          lines.push(shown + MARKS[kind]);
        }
      }
      return lines.join("\n") || "(no files)";
    },
  };
}
