/**
 * What is said to the model: words, files, standard input, attachments.
 * @module
 */
import { quote } from "../model/error.ts";
import type { ImageBlock, TextBlock } from "../model/message.ts";
import { CliError, usage } from "./exit.ts";
import { ioReason } from "./io_reason.ts";
import { permissionFlags, shellQuote } from "./permissions.ts";
import type { Terminal } from "./terminal.ts";

/** More of one file, or of standard input, is a mistake and no prompt. */
export const MAX_INPUT_BYTES = 20 * 1024 * 1024;
const STDIN_PATIENCE_MS = 2000;

/** The error for a file that the user named. */
export function fileError(verb: "read" | "write", path: string, error: unknown): CliError {
  const subject = `Cannot ${verb} ${quote(path)}`;
  if (!(error instanceof Deno.errors.NotCapable)) return usage(`${subject}: ${ioReason(error)}`);
  const flag = permissionFlags({ [verb]: [path] }).map(shellQuote).join("");
  return new CliError("permission", `${subject}: it needs ${flag}`, { exit: 9 });
}

/** Reads a file that the user named. */
async function readBytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    using file = await Deno.open(path);
    return await collect((buffer) => file.read(buffer), quote(path));
  } catch (error) {
    throw error instanceof CliError ? error : fileError("read", path, error);
  }
}

/** Reads a text file that the user named; a byte-order mark is dropped. */
export async function readText(path: string): Promise<string> {
  return decode(await readBytes(path), quote(path));
}

/** The value of a flag that takes a text, or a file as `@FILE`; `@@x` is the text `@x`. */
export async function textOrFile(value: string): Promise<string> {
  if (!value.startsWith("@") || value === "@") return value;
  return value.startsWith("@@") ? value.slice(1) : await readText(value.slice(1));
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // A TypeError without a position; what matters is which input it was.
    throw usage(`Cannot use ${what} as it is no UTF-8 text`);
  }
}

/** The error for an input that is larger than {@linkcode MAX_INPUT_BYTES}. */
export function tooLarge(what: string): CliError {
  return usage(`Cannot read ${what}: it is larger than ${MAX_INPUT_BYTES} bytes`);
}

/** Reads to the end. Not through a stream: the first one costs a start 5 ms. */
async function collect(
  read: (buffer: Uint8Array) => Promise<number | null>,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(64 * 1024);
  let size = 0;
  for (let count; (count = await read(bytes.subarray(size))) !== null;) {
    size += count;
    if (size > MAX_INPUT_BYTES) throw tooLarge(what);
    if (size === bytes.length) {
      const larger = new Uint8Array(2 * size);
      larger.set(bytes);
      bytes = larger;
    }
  }
  return bytes.subarray(0, size);
}

/**
 * All of standard input; after a while without data one line says that it is waited for.
 *
 * @param signal Ends the waiting.
 * @throws `signal.reason`
 */
export async function readStdin(terminal: Terminal, signal: AbortSignal): Promise<string> {
  const stopped = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  // As good as a timer, which would cost a start 6 ms.
  const late = AbortSignal.timeout(STDIN_PATIENCE_MS);
  function tell(): void {
    terminal.note(`waiting for standard input; ${Deno.stdin.isTerminal() ? "Ctrl-D ends it" : "</dev/null is none"}`);
  }
  late.addEventListener("abort", tell);
  try {
    const bytes = await collect(async (buffer) => {
      const count = await Promise.race([readSome(buffer), stopped]);
      late.removeEventListener("abort", tell);
      return count;
    }, "standard input");
    return decode(bytes, "standard input");
  } finally {
    late.removeEventListener("abort", tell);
  }
}

async function readSome(buffer: Uint8Array): Promise<number | null> {
  try {
    return await Deno.stdin.read(buffer);
  } catch (error) {
    throw usage(`Cannot read standard input: ${ioReason(error)}`);
  }
}

/** A text in a fence that is longer than any in it. */
export function fence(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}\n${text}${text.endsWith("\n") ? "" : "\n"}${mark}`;
}

function fencedFile(path: string, text: string): string {
  return `${path}:\n${fence(text)}`;
}

/** Files that the words of a prompt name as `@PATH`. */
export function promptFiles(words: readonly string[]): string[] {
  return words.filter((word) => /^@[^@]/s.test(word)).map((word) => word.slice(1));
}

/**
 * Puts a prompt together: words join with a blank, `@PATH` is a file in a fence, `@@x` the word `@x`, and standard input goes to the end,
 * in a fence if there are words.
 *
 * @param words What stands on the command line.
 * @param stdin Reads standard input; absent: it is a terminal, and read only where `-` asks for it.
 * @returns Empty if there is nothing to say.
 */
export async function assemblePrompt(
  words: readonly string[],
  read: { text(path: string): Promise<string>; stdin?(): Promise<string> },
): Promise<string> {
  const paragraphs: string[] = [];
  let line: string[] = [];
  function endLine(): void {
    if (line.length > 0) paragraphs.push(line.join(" "));
    line = [];
  }
  for (const word of words) {
    if (word === "-") continue;
    if (/^@[^@]/s.test(word)) {
      endLine();
      paragraphs.push(fencedFile(word.slice(1), await read.text(word.slice(1))));
    } else {
      line.push(word.startsWith("@@") ? word.slice(1) : word);
    }
  }
  endLine();
  const piped = await read.stdin?.() ?? "";
  if (piped.trim() !== "") paragraphs.push(paragraphs.length === 0 ? piped : fence(piped));
  return paragraphs.join("\n\n");
}

const IMAGES: readonly [string, RegExp][] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
];

/** Reads an attachment: an image by its first bytes, anything else must be text. */
async function readAttachment(path: string): Promise<ImageBlock | TextBlock> {
  const bytes = await readBytes(path);
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const mediaType = IMAGES.find(([, magic]) => magic.test(head))?.[0];
  if (mediaType !== undefined) return { type: "image", mediaType, data: bytes.toBase64() };
  try {
    return { type: "text", text: fencedFile(path, decode(bytes, quote(path))) };
  } catch {
    throw usage(`Cannot attach ${quote(path)} as it is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image`);
  }
}

/** A message with its attachments: plain text if there are none. */
export async function withAttachments(
  text: string,
  paths: readonly string[],
): Promise<string | (TextBlock | ImageBlock)[]> {
  if (paths.length === 0) return text;
  const blocks = await Promise.all(paths.map(readAttachment));
  return text === "" ? blocks : [...blocks, { type: "text", text }];
}

/**
 * The inside of the first fenced block of a Markdown text.
 *
 * @returns `undefined` if there is none; a block that is not closed goes to the end.
 */
export function firstFence(text: string): string | undefined {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^ {0,3}(`{3,}[^`]*|~{3,}.*)$/.test(line));
  if (start < 0) return undefined;
  const [mark] = /[`~]+/.exec(lines[start]!)!;
  const close = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}\\s*$`);
  const length = lines.slice(start + 1).findIndex((line) => close.test(line));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join("\n");
}
