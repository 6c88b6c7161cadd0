/**
 * Reads a body as text.
 * @module
 */
import { createDecode } from "./utf8.ts";

const BUFFER_BYTES = 16 * 1024;

/** What a stream hands out. */
export interface Chunk {
  done: boolean;
  value?: unknown;
}

/** Both kinds of readers; only one that takes bytes is given a view. */
interface Reader {
  read(view?: Uint8Array): Promise<Chunk>;
  cancel(): Promise<void>;
}

/** One body as text. */
export interface Body {
  /** Bytes that may still come; not 0 or more once the bound is broken. What is within the bound is handed out. */
  left: number;
  /** The next chunk, for {@linkcode Body.take}. A promise of the stream's own: one more for each event would be felt. */
  next(): Promise<Chunk>;
  /** Decodes a chunk. One that is neither text nor bytes breaks the bound, for its size is no number, or throws a `TypeError`. */
  take(chunk: unknown): string;
  /** Gives the body up: a pending read ends, the connection is closed. */
  cancel(): void;
}

/**
 * Locks the body of a response. A byte stream is read into one buffer that goes round, any other as it comes. Chunks are decoded at
 * once, never kept: in Deno each is a view on a buffer of 64 KiB.
 *
 * @param response One without a body is read as one whose body is empty.
 * @param maxBytes Bound of the whole body, decoded.
 * @param encoded The runtime decodes it: such bodies are never read into a buffer of ours, because Node does not end those that lie.
 */
export function createBody({ body }: Response, maxBytes: number, encoded: boolean): Body {
  const stream = body ?? new Blob().stream();
  const decode = createDecode();
  let reader: Reader | undefined;
  let buffer: ArrayBuffer | undefined;
  try {
    if (!encoded) {
      reader = stream.getReader({ mode: "byob" }) as Reader;
      buffer = new ArrayBuffer(BUFFER_BYTES);
    }
  } catch {
    // The only way to learn that a stream is none of bytes.
  }
  const source: Reader = reader ?? stream.getReader();
  const self: Body = {
    left: maxBytes,
    next: () => source.read(buffer && new Uint8Array(buffer)),
    take(chunk) {
      let piece = chunk as Uint8Array<ArrayBuffer>;
      if (buffer) buffer = piece.buffer;
      self.left -= piece.length;
      if (!(self.left >= 0)) piece = piece.slice(0, self.left);
      return decode(piece);
    },
    // A body that is given up may fail as it likes.
    cancel: () => void source.cancel().catch(() => {}),
  };
  return self;
}
