/**
 * The directories that a file tool was granted, and nothing outside of them. Deno's permission is the outer fence; it looks at the
 * written path only and follows links wherever they lead, so this one looks at where a path really ends.
 * Hard links are not covered: a second name of a file cannot be told from the first.
 * @module
 */
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { ioReason } from "../io_reason.ts";

/** A place inside the fence. */
export interface Place {
  /** For opening: below the granted directory as it was written, without a link between. */
  at: string;
  /** For people and models: relative to the working directory if the grant is. */
  shown: string;
  /** Relative to the granted directory. */
  rest: string;
}

/** A granted directory. */
export interface Root extends Place {
  /** Without links. */
  real: string;
}

/** Writing there would run code or change instructions later: hooks of git, and skills, sessions and settings of pawl. */
const GUARDED = /^(\.git|\.pawl)$/i;

/** The granted directories of one tool. */
export class Fence {
  readonly #roots: readonly Root[];

  /** Use {@linkcode Fence.open}. */
  constructor(roots: readonly Root[]) {
    this.#roots = roots;
  }

  /**
   * @param directories As the user granted them.
   * @throws {TypeError} One of them is no directory.
   */
  static async open(directories: readonly string[]): Promise<Fence> {
    return new Fence(
      await Promise.all(directories.map(async (shown) => {
        try {
          if ((await Deno.stat(shown)).isDirectory) {
            return { shown, at: resolve(shown), rest: "", real: await Deno.realPath(shown) };
          }
        } catch (error) {
          throw new TypeError(`Cannot grant the directory "${shown}": ${ioReason(error)}`);
        }
        throw new TypeError(`Cannot grant the directory "${shown}": it is no directory`);
      })),
    );
  }

  /** The granted directories, as text: in quotes, since a name may be a full stop. */
  get granted(): string {
    return this.#roots.map((root) => `"${root.shown}"`).join(", ");
  }

  /** The granted directories, as places. */
  get roots(): readonly Place[] {
    return this.#roots;
  }

  /**
   * @param path What the model wrote.
   * @param kind What must be there; anything but regular files and directories is refused, since reading a FIFO never ends.
   * @throws {Error} It is outside, or not there, or something else.
   */
  async existing(path: string, kind: "file" | "directory"): Promise<Place> {
    const place = await this.place(path);
    if (place.isDirectory === (kind === "directory")) return place;
    throw new Error(`Cannot use "${path}": it is a ${place.isDirectory ? "directory" : "file"}`);
  }

  /** As {@linkcode existing}, for either of the two. */
  async place(path: string): Promise<Place & { isDirectory: boolean }> {
    const place = await this.#resolve(path);
    const { isFile, isDirectory } = await Deno.stat(place.at);
    if (!isFile && !isDirectory) throw new Error(`Cannot use "${path}": it is no regular file`);
    return { ...place, isDirectory };
  }

  /**
   * A file that may be written, there or not; its directories need not exist yet.
   *
   * @throws {Error} It is outside, guarded, a directory, or a link to nothing.
   */
  async writable(path: string): Promise<Place & { exists: boolean }> {
    const missing: string[] = [];
    for (let head = resolve(this.#checked(path));; head = dirname(head)) {
      try {
        const base = await this.#resolve(head, path);
        const info = await Deno.stat(base.at);
        if (missing.length ? !info.isDirectory : !info.isFile) {
          throw new Error(
            `Cannot write "${path}": ${
              info.isDirectory ? "it is a directory" : "a part of it is no directory or no regular file"
            }`,
          );
        }
        const [at, shown, rest] = [base.at, base.shown, base.rest].map((part) => join(part, ...missing)) as [
          string,
          string,
          string,
        ];
        const guarded = rest.split(sep).find((part) => GUARDED.test(part));
        if (guarded) throw new Error(`Cannot write "${path}": nothing below ${guarded} may be changed`);
        return { at, shown, rest, exists: missing.length === 0 };
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        if (await Deno.lstat(head).then(() => true, () => false)) {
          throw new Error(`Cannot write "${path}": it is a link to nothing`);
        }
        missing.unshift(basename(head));
      }
    }
  }

  #checked(path: string): string {
    if (typeof path !== "string" || path === "" || path.includes("\0")) {
      throw new Error("Cannot use the path: it is empty or no text");
    }
    return path;
  }

  #outside(path: string): Error {
    return new Error(`Cannot use "${path}": it is outside of the granted directories (${this.granted})`);
  }

  async #resolve(path: string, written = path): Promise<Place> {
    const at = resolve(this.#checked(path));
    // Decided on the text first, so that nobody can ask what exists elsewhere.
    if (!this.#roots.some((root) => isWithin(root.at, at) || isWithin(root.real, at))) throw this.#outside(written);
    let real: string;
    try {
      real = await Deno.realPath(at);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || (error as { code?: string }).code === "ENOTDIR") {
        throw new Missing(written);
      }
      if (error instanceof Deno.errors.NotCapable) throw this.#outside(written);
      throw new Error(`Cannot use "${written}": ${ioReason(error)}`);
    }
    const root = this.#roots.find((root) => isWithin(root.real, real));
    if (!root) throw this.#outside(written);
    const rest = relative(root.real, real);
    return { at: join(root.at, rest), shown: join(root.shown, rest), rest };
  }
}

class Missing extends Error {
  constructor(path: string) {
    super(`Cannot use "${path}": there is no such file or directory`);
  }
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
