/**
 * The tool `search_files`: lines that hold a text.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { intOf, textOf } from "./input.ts";
import { globTest, LinePattern } from "./line_pattern.ts";
import { ioReason } from "../io_reason.ts";
import type { Fence } from "./paths.ts";
import { walk } from "./walk.ts";

const MAX_MATCHES = 500;
const MAX_LINE = 300;
const MAX_CHARS = 48 * 1024;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_MILLISECONDS = 20_000;

/**
 * Makes `search_files`: literal unless `regex` is set, and then in linear time; at most 500 lines a call, cut at 300 characters, files up
 * to 4 MiB, 20 seconds.
 *
 * @param fence The granted directories.
 */
export function searchFilesTool(fence: Fence): Tool {
  return {
    name: "search_files",
    description: `Finds lines in text files; answers PATH:LINE: TEXT. Without a path it searches: ${fence.granted}.`,
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", description: "Text to find, as it stands there" },
        regex: { type: "boolean", description: "The pattern is a regular expression; default false" },
        ignore_case: { type: "boolean", description: "Default false" },
        path: { type: "string", description: "Directory or file to search" },
        files: { type: "string", description: 'Only files that fit this pattern, such as "*.ts" or "src/**/*.md"' },
        offset: { type: "integer", minimum: 0, description: "Leave out so many matches; default 0" },
        limit: { type: "integer", minimum: 1, maximum: MAX_MATCHES, description: "Number of matches; default 100" },
      },
      required: ["pattern"],
    },
    pure: true,
    async run({ pattern, regex, ignore_case, path, files, offset, limit }, { signal }) {
      const found = lineTest(textOf(pattern, "pattern"), regex === true, ignore_case === true);
      const fits = files === undefined || files === "" ? undefined : globTest(textOf(files, "files"));
      const first = intOf(offset, 0, 0, Number.MAX_SAFE_INTEGER);
      const last = first + intOf(limit, 100, 1, MAX_MATCHES);
      const deadline = performance.now() + MAX_MILLISECONDS;
      const lines: string[] = [];
      const left: string[] = [];
      let count = 0;
      let chars = 0;
      for await (const { at, shown } of filesOf(fence, path, signal)) {
        if (fits && !fits(shown)) continue;
        const text = await textOfFile(at).catch((error: unknown) => void left.push(`${shown}: ${ioReason(error)}`));
        if (!text) continue;
        let number = 0;
        for (const line of text.split("\n")) {
          number++;
          if (!found(line) || count++ < first) continue;
          if (count > last || chars > MAX_CHARS) {
            return [...lines, `[there are more: go on with offset ${count - 1}]`].join("\n");
          }
          const cut = line.trimEnd();
          lines.push(
            `${shown}:${number}: ${cut.length > MAX_LINE ? cut.slice(0, MAX_LINE).toWellFormed() + " […]" : cut}`,
          );
          chars += lines.at(-1)!.length;
        }
        if (performance.now() > deadline) {
          lines.push("[stopped after 20 seconds: search a directory below, or fewer files]");
          break;
        }
      }
      if (left.length) lines.push(`[not searched: ${left.slice(0, 5).join("; ")}${left.length > 5 ? "; …" : ""}]`);
      return lines.join("\n") || (first && count ? `(there are ${count} matches)` : "(no matches)");
    },
  };
}

function lineTest(pattern: string, regex: boolean, ignoreCase: boolean): (line: string) => boolean {
  if (pattern === "" || /[\r\n]/.test(pattern)) {
    throw new Error("Cannot search: the pattern is empty or more than one line");
  }
  if (regex) {
    const compiled = new LinePattern(pattern, { ignoreCase });
    return (line) => compiled.test(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
  if (!ignoreCase) return (line) => line.includes(pattern);
  const lower = pattern.toLowerCase();
  return (line) => line.toLowerCase().includes(lower);
}

async function* filesOf(
  fence: Fence,
  path: unknown,
  signal: AbortSignal,
): AsyncGenerator<{ at: string; shown: string }> {
  if (path !== undefined && path !== "") {
    const place = await fence.place(textOf(path, "path"));
    if (!place.isDirectory) return yield place;
    for await (const entry of walk(place, 64, signal)) if (entry.kind === "file") yield entry;
    return;
  }
  for (const root of fence.roots) {
    for await (const entry of walk(root, 64, signal)) if (entry.kind === "file") yield entry;
  }
}

/** The text of a file, or nothing if it is none. */
async function textOfFile(at: string): Promise<string | undefined> {
  const { size } = await Deno.stat(at);
  if (size > MAX_FILE_BYTES) throw new Error("larger than 4 MiB");
  const bytes = await Deno.readFile(at);
  return bytes.subarray(0, 8192).includes(0) ? undefined : new TextDecoder().decode(bytes);
}
