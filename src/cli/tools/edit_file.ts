/**
 * The tool `edit_file`: one exact replacement.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { writeAtomic } from "./atomic_write.ts";
import { textOf } from "./input.ts";
import { ioReason } from "../io_reason.ts";
import type { Fence } from "./paths.ts";

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Makes `edit_file`: replaces a text that stands in the file exactly once. Line ends and a byte order mark stay as they are.
 *
 * @param fence The granted directories.
 */
export function editFileTool(fence: Fence): Tool {
  return {
    name: "edit_file",
    description:
      `Replaces one piece of text in a file. old_text must stand there exactly once, blanks and line ends included. Writable: ${fence.granted}.`,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Path of the file" },
        old_text: { type: "string", description: "The text to replace, with enough lines around it to be unique" },
        new_text: { type: "string", description: "What to put there" },
      },
      required: ["path", "old_text", "new_text"],
    },
    async run({ path, old_text, new_text }) {
      const [oldText, newText] = [textOf(old_text, "old_text"), textOf(new_text, "new_text")];
      if (oldText === "") throw new Error("Cannot edit: old_text is empty; use write_file for a new file");
      if (oldText === newText) throw new Error("Cannot edit: old_text and new_text are the same");
      const { at, shown, exists } = await fence.writable(textOf(path, "path"));
      if (!exists) throw new Error(`Cannot edit "${shown}": there is no such file`);
      const before = await Deno.stat(at);
      if (before.size > MAX_FILE_BYTES) throw new Error(`Cannot edit "${shown}": it is larger than 4 MiB`);
      const text = await utf8Of(at, shown);
      const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text); // models cannot see which line ends a file has
      const [from, to] = isCrlf ? [withCarriageReturns(oldText), withCarriageReturns(newText)] : [oldText, newText];
      const place = text.indexOf(from);
      if (place < 0) throw new Error(`Cannot edit "${shown}": old_text is not in it${hint(text, oldText)}`);
      const lines = [...linesOf(text, from)];
      if (lines.length > 1) {
        throw new Error(
          `Cannot edit "${shown}": old_text is in it ${lines.length} times, in lines ${
            lines.slice(0, 10).join(", ")
          }; give more of the lines around it`,
        );
      }
      const after = await Deno.stat(at);
      if (after.size !== before.size || after.mtime?.getTime() !== before.mtime?.getTime()) {
        throw new Error(`Cannot edit "${shown}": it changed meanwhile; read it again`);
      }
      await writeAtomic(
        at,
        new TextEncoder().encode(text.slice(0, place) + to + text.slice(place + from.length)),
        shown,
      );
      return `Edited ${shown}, line ${lines[0]}`;
    },
  };
}

async function utf8Of(at: string, shown: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Deno.readFile(at));
  } catch (error) {
    // What is no UTF-8 would come back changed everywhere, not only where it was edited.
    throw new Error(`Cannot edit "${shown}": ${error instanceof TypeError ? "it is no UTF-8 text" : ioReason(error)}`);
  }
}

function withCarriageReturns(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

/** The line of each place where `part` stands, overlapping ones included: those are ambiguous too. */
function* linesOf(text: string, part: string): Generator<number> {
  let line = 1;
  let from = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    for (let feed = text.indexOf("\n", from); feed >= 0 && feed < at; feed = text.indexOf("\n", feed + 1)) line++;
    from = at;
    yield line;
  }
}

/** Where it would stand if blanks did not count: what models get wrong most often. */
function hint(text: string, oldText: string): string {
  const wanted = oldText.split("\n").map((line) => line.trim()).find((line) => line !== "");
  const line = wanted === undefined ? -1 : text.split("\n").findIndex((line) => line.trim() === wanted);
  return line < 0
    ? "; read the file first"
    : `; line ${line + 1} differs from it only in blanks, or the lines behind it do not fit`;
}
