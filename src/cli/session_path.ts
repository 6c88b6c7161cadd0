/**
 * Where sessions lie, and how their files are opened and read.
 * @module
 */
import { dirname, join } from "node:path";
import { PawlError } from "../model/error.ts";
import { CliError } from "./exit.ts";
import { ioReason } from "./io_reason.ts";
import { permissionFlags, shellQuote } from "./permissions.ts";

const DIRECTORY = join(".pawl", "sessions");
const MAX_NAME = 100;
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Where a session lies: a NAME is `./.pawl/sessions/NAME.jsonl`; what holds a slash or ends in `.jsonl` is a file.
 *
 * @throws {TypeError} The name is malformed.
 */
export function sessionPath(nameOrFile: string): string {
  if (/[\\/]|\.jsonl$/.test(nameOrFile)) return nameOrFile;
  const isWhole = /^[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}._-]*$/u.test(nameOrFile);
  if (!isWhole || Array.from(nameOrFile).length > MAX_NAME) {
    const why = isWhole
      ? `it is longer than ${MAX_NAME} characters`
      : 'use letters, digits, ".", "_" and "-", or a path';
    throw new TypeError(`Cannot use the session name ${JSON.stringify(nameOrFile.slice(0, MAX_NAME))}: ${why}`);
  }
  return join(DIRECTORY, `${nameOrFile}.jsonl`);
}

/**
 * The permissions that a session takes.
 *
 * @param path From {@linkcode sessionPath}; absent: the newest session.
 * @param options `fork`: a new file is made beside it.
 */
export function sessionNeeds(path?: string, options: { fork?: boolean } = {}): { read: string[]; write: string[] } {
  const own = path === undefined || dirname(path) === DIRECTORY ? DIRECTORY : options.fork ? dirname(path) : path;
  return { read: [own], write: [own] };
}

/** Path of the session in `./.pawl/sessions` that was written last, if there is one. */
export function latestSession(): string | undefined {
  let latest: { path: string; time: number } | undefined;
  try {
    for (const { name, isFile } of Deno.readDirSync(DIRECTORY)) {
      if (!isFile || !name.endsWith(".jsonl")) continue;
      const path = join(DIRECTORY, name);
      const time = Deno.statSync(path).mtime?.getTime() ?? 0;
      if (!latest || time > latest.time) latest = { path, time };
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw cannotUse(DIRECTORY, error);
  }
  return latest?.path;
}

/**
 * A device or a FIFO would be read for ever, and a file that is no session must not even be opened for writing.
 *
 * @returns Whether there is one.
 */
export function checkRegular(path: string, mustExist: boolean): boolean {
  try {
    // The directory may have come with somebody else's repository: a link in it could lead anywhere.
    if (dirname(path) === DIRECTORY && Deno.lstatSync(path).isSymlink) {
      throw new PawlError("invalid_session", `Cannot use the session "${path}": it is a link`);
    }
    if (!Deno.statSync(path).isFile) {
      throw new PawlError("invalid_session", `Cannot use the session "${path}": it is no regular file`);
    }
    return true;
  } catch (error) {
    if (error instanceof PawlError || !(error instanceof Deno.errors.NotFound)) throw cannotUse(path, error);
    if (mustExist) throw new PawlError("invalid_session", `Cannot go on with the session "${path}": there is none`);
    return false;
  }
}

/** Opens a file, and makes the directory of named sessions. */
export function openFile(path: string, options: Deno.OpenOptions): Deno.FsFile {
  try {
    if (options.write && dirname(path) === DIRECTORY) Deno.mkdirSync(DIRECTORY, { recursive: true, mode: 0o700 });
    return Deno.openSync(path, options);
  } catch (error) {
    if (isTaken(error)) throw error;
    const isAlone = options.write && error instanceof Deno.errors.NotFound;
    throw cannotUse(path, isAlone ? new Error("its directory is missing") : error);
  }
}

/** Tells whether a file could not be made as it is there already. */
export function isTaken(error: unknown): boolean {
  return error instanceof Deno.errors.AlreadyExists;
}

/** The whole file, through the handle that is locked. */
export function readAll(file: Deno.FsFile, path: string): Uint8Array {
  const size = file.seekSync(0, Deno.SeekMode.End);
  if (size > MAX_BYTES) {
    throw new PawlError("invalid_session", `Cannot read the session "${path}": it is larger than ${MAX_BYTES} bytes`);
  }
  file.seekSync(0, Deno.SeekMode.Start);
  const bytes = new Uint8Array(size);
  let done = 0;
  while (done < size) {
    const count = file.readSync(bytes.subarray(done));
    if (count === null) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

/** What to throw for a failure of the file system: one line that names the session. */
export function cannotUse(path: string, error: unknown, what: "use" | "write" = "use"): Error {
  if (error instanceof PawlError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const flags = permissionFlags(sessionNeeds(path)).map(shellQuote).join(" ");
    return new PawlError("permission", `Cannot ${what} the session "${path}": it needs ${flags}`);
  }
  const message = `Cannot ${what} the session "${path}": ${ioReason(error)}`;
  return what === "use" ? new PawlError("invalid_session", message) : new CliError("output", message);
}
