/**
 * The tool `read_file`: lines of a text file.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { intOf, textOf } from "./input.ts";
import { ioReason } from "../io_reason.ts";
import type { Fence } from "./paths.ts";

const MAX_LINES = 2000;
const MAX_LINE = 2000;
const MAX_CHARS = 48 * 1024;

/** Lines of a file, and where they stand. */
interface Excerpt {
  lines: string[];
  /** Lines of the file that have been seen. */
  seen: number;
  more: boolean;
}

/**
 * Makes `read_file`: at most 2000 lines and 48 Ki characters of a regular file; lines are cut at 2000 characters.
 *
 * @param fence The granted directories.
 */
export function readFileTool(fence: Fence): Tool {
  return {
    name: "read_file",
    description: `Reads a text file. Paths are relative to the working directory; readable: ${fence.granted}.`,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Path of the file" },
        offset: { type: "integer", minimum: 1, description: "First line to read; default 1" },
        limit: { type: "integer", minimum: 1, maximum: MAX_LINES, description: "Number of lines; default 500" },
        numbers: { type: "boolean", description: "Put its number before each line; default false" },
      },
      required: ["path"],
    },
    pure: true,
    async run({ path, offset, limit, numbers }, { signal }) {
      const first = intOf(offset, 1, 1, Number.MAX_SAFE_INTEGER);
      const { at, shown } = await fence.existing(textOf(path, "path"), "file");
      const { lines, seen, more } = await excerpt(at, shown, first, intOf(limit, 500, 1, MAX_LINES), signal);
      if (seen === 0) return "(empty file)";
      if (lines.length === 0) return `(the file has ${seen} lines)`;
      const last = first + lines.length - 1;
      if (numbers === true) lines.forEach((line, i) => lines[i] = `${first + i}: ${line}`);
      if (more) lines.push(`[lines ${first} to ${last}; the file goes on: read it with offset ${last + 1}]`);
      return lines.join("\n");
    },
  };
}

async function excerpt(at: string, shown: string, first: number, limit: number, signal: AbortSignal): Promise<Excerpt> {
  const found: Excerpt = { lines: [], seen: 0, more: false };
  const decoder = new TextDecoder();
  let line = "";
  let cut = false;
  let begun = false;
  let chars = 0;

  /** `false` when nothing more is wanted. */
  function endLine(): boolean {
    found.seen++;
    if (found.seen >= first) {
      const text = (line.endsWith("\r") ? line.slice(0, -1) : line).toWellFormed() + (cut ? " […]" : "");
      chars += text.length;
      found.more = found.lines.length >= limit || found.lines.length > 0 && chars > MAX_CHARS;
      if (found.more) return false;
      found.lines.push(text);
    }
    line = "";
    cut = begun = false;
    return true;
  }

  /** `false` when nothing more is wanted. The line under way stays bounded, however long it is. */
  function take(text: string): boolean {
    let from = 0;
    for (let end = text.indexOf("\n");; end = text.indexOf("\n", from)) {
      const to = end < 0 ? text.length : end;
      if (found.seen + 1 >= first) {
        const room = MAX_LINE - line.length;
        line += text.slice(from, Math.min(to, from + room));
        cut ||= to - from > room;
      }
      begun ||= to > from;
      if (end < 0) return true;
      if (!endLine()) return false;
      from = end + 1;
    }
  }

  const file = await Deno.open(at).catch((error: unknown) => {
    throw new Error(`Cannot read "${shown}": ${ioReason(error)}`);
  });
  for await (const chunk of file.readable) {
    signal.throwIfAborted();
    if (chunk.includes(0)) throw new Error(`Cannot read "${shown}": it is no text`);
    if (!take(decoder.decode(chunk, { stream: true }))) return found;
  }
  if (take(decoder.decode()) && begun) endLine();
  return found;
}
