/**
 * The tool `write_file`: a whole file.
 * @module
 */
import { dirname } from "node:path";
import type { Tool } from "../../model/tool.ts";
import { writeAtomic } from "./atomic_write.ts";
import { textOf } from "./input.ts";
import type { Fence } from "./paths.ts";

/**
 * Makes `write_file`: replaces a file in one step, or makes it and the directories above it.
 *
 * @param fence The granted directories.
 */
export function writeFileTool(fence: Fence): Tool {
  return {
    name: "write_file",
    description:
      `Writes a whole file; what was there is replaced. To change a part, use edit_file if you have it. Writable: ${fence.granted}.`,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Path of the file" },
        content: { type: "string", description: "All of its text" },
      },
      required: ["path", "content"],
    },
    async run({ path, content }) {
      const bytes = new TextEncoder().encode(textOf(content, "content"));
      const { at, shown, exists } = await fence.writable(textOf(path, "path"));
      if (!exists) await Deno.mkdir(dirname(at), { recursive: true });
      await writeAtomic(at, bytes, shown);
      return `${exists ? "Replaced" : "Made"} ${shown} (${bytes.length} bytes)`;
    },
  };
}
