/**
 * Files that the command line writes.
 * @module
 */
import { quote } from "../model/error.ts";
import { CliError } from "./exit.ts";
import { fileError } from "./input.ts";
import { ioReason } from "./io_reason.ts";

const ENCODER = new TextEncoder();

/**
 * A file that is opened before any work is done, so that a wrong path costs nothing, and stays as it is until the first text is written:
 * one that was not there is gone again if none was.
 */
export class OutputFile {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #isNew: boolean;
  #isBegun = false;
  #isClosed = false;

  /** Use {@linkcode OutputFile.open}. */
  constructor(path: string, file: Deno.FsFile, isNew: boolean) {
    this.#path = path;
    this.#file = file;
    this.#isNew = isNew;
  }

  /**
   * Opens it. Not synchronously: a FIFO waits for its reader, and a signal would wait with it.
   *
   * @throws {CliError} `usage` or `permission`: it cannot be written.
   */
  static async open(path: string): Promise<OutputFile> {
    try {
      return new OutputFile(path, await Deno.open(path, { write: true, createNew: true }), true);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw fileError("write", path, error);
    }
    try {
      return new OutputFile(path, await Deno.open(path, { write: true, create: true }), false);
    } catch (error) {
      throw fileError("write", path, error);
    }
  }

  /**
   * Writes a text behind those written before; the first one replaces what the file held.
   *
   * @throws {CliError} `output`: for example the disk is full.
   */
  write(text: string): void {
    try {
      if (!this.#isBegun) this.#empty();
      const bytes = ENCODER.encode(text);
      let at = 0;
      do {
        at += this.#file.writeSync(bytes.subarray(at));
        // Not before: a new file that nothing could be written to goes again.
        this.#isBegun = true;
      } while (at < bytes.length);
    } catch (error) {
      throw new CliError("output", `Cannot write ${quote(this.#path)}: ${ioReason(error)}`);
    }
  }

  #empty(): void {
    try {
      this.#file.truncateSync();
    } catch (error) {
      // EINVAL: a device or a pipe has no length. Asking what it is would take a permission to read it.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Closes the file; idempotent. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#file.close();
    if (!this.#isNew || this.#isBegun) return;
    try {
      Deno.removeSync(this.#path);
    } catch (error) {
      // Then somebody else has taken it away.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/**
 * Writes a whole file.
 *
 * @param signal Nothing is written once it is aborted, also where opening took longer.
 */
export async function writeText(path: string, text: string, signal: AbortSignal): Promise<void> {
  using file = await OutputFile.open(path);
  signal.throwIfAborted();
  file.write(text);
}
