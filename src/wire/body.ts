/**
 * Reads a body as text.
 * @module
 */

const BUFFER_BYTES = 16 * 1024;
const LF = 10;
const CR = 13;

/** How a body is read. */
export interface BodyOptions {
  /** The runtime decodes an encoding: such bodies are never read into a buffer of ours, because Node does not end those that lie. */
  encoded: boolean;
  /** Bound of the whole body, decoded. */
  maxBytes: number;
  /** Bound of a line that is held back until it is whole; a longer one comes in pieces. */
  maxLineBytes: number;
}

/** What a stream hands out. */
interface Chunk {
  done: boolean;
  value?: unknown;
}

/** Both kinds of readers; only one that takes bytes is given a view. */
interface Reader {
  read(view?: Uint8Array): Promise<Chunk>;
  cancel(): Promise<void>;
}

/**
 * One body. A byte stream is read into one buffer that goes round, and decoded in whole lines: no character is cut there, so the
 * decoder needs no state. Any other stream is decoded as it comes. Chunks are copied or decoded at once, never kept: in Deno each is a
 * view on a buffer of 64 KiB.
 */
export class Body {
  /** Bytes that may still come; below 0 once the bound is broken. What is within the bound is handed out. */
  left: number;
  readonly #maxLine: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #buffer: ArrayBuffer | undefined;
  #reader: Reader | undefined;
  /** The unfinished line is the first `#length` bytes. */
  #line = new Uint8Array(0);
  #length = 0;
  #begun = false;

  /**
   * Locks the stream.
   *
   * @param stream Of the response; a reply without a body has none.
   * @param options Encoding and bounds.
   */
  constructor(stream: ReadableStream | null, options: BodyOptions) {
    this.left = options.maxBytes;
    this.#maxLine = options.maxLineBytes;
    if (!options.encoded) {
      try {
        this.#reader = stream?.getReader({ mode: "byob" }) as Reader | undefined;
        this.#buffer = new ArrayBuffer(BUFFER_BYTES);
        return;
      } catch {
        // The only way to learn that a stream is none of bytes.
      }
    }
    this.#reader = stream?.getReader();
  }

  /** The next chunk, for {@linkcode Body.take}. A promise of the stream's own: one more for each event would be felt. */
  next(): Promise<Chunk> {
    if (!this.#reader) return Promise.resolve({ done: true });
    if (!this.#buffer) return this.#reader.read();
    return this.#reader.read(new Uint8Array(this.#buffer, 0, Math.min(BUFFER_BYTES, this.left + 1)));
  }

  /**
   * Decodes a chunk.
   *
   * @returns What can be handed on; may be empty.
   * @throws {TypeError} The stream yields neither text nor bytes.
   */
  take(chunk: unknown): string {
    let text: string;
    if (typeof chunk === "string") {
      this.left -= chunk.length;
      text = this.left < 0 ? chunk.slice(0, this.left) : chunk;
    } else {
      let bytes = chunk instanceof Uint8Array ? chunk : asBytes(chunk);
      this.left -= bytes.length;
      if (this.left < 0) bytes = bytes.subarray(0, this.left);
      if (this.#buffer) {
        this.#buffer = bytes.buffer as ArrayBuffer;
        text = this.#lines(bytes);
      } else text = this.#decoder.decode(bytes, { stream: true });
    }
    return this.#text(text);
  }

  /** What was held back, at the end of the body. */
  rest(): string {
    return this.#text(this.#decoder.decode(this.#line.subarray(0, this.#length)));
  }

  /**
   * Reads as much as the bound allows, and gives the rest up. What came before the body breaks or stalls is enough.
   *
   * @param ms How long it is waited for.
   */
  async beginning(ms: number): Promise<string> {
    const timer = setTimeout(() => this.cancel(), ms);
    let text = "";
    try {
      for (let chunk; this.left > 0 && !(chunk = await this.next()).done;) text += this.take(chunk.value);
    } catch {
      // The status of the reply is the error to tell, however its text ends.
    }
    clearTimeout(timer);
    this.cancel();
    return text + this.rest();
  }

  /** Gives the body up: a pending read ends, the connection is closed. */
  cancel(): void {
    // A body that is given up may fail as it likes.
    this.#reader?.cancel().catch(() => {});
  }

  /** Strips one byte order mark from the start of the body: the decoder would do so at the start of every line. */
  #text(text: string): string {
    if (this.#begun || text === "") return text;
    this.#begun = true;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #lines(bytes: Uint8Array): string {
    const { length } = bytes;
    let cut = bytes.lastIndexOf(LF) + 1;
    if (cut < length) cut += bytes.subarray(cut).lastIndexOf(CR) + 1;
    let text = "";
    if (this.#length > 0 && cut > 0) {
      this.#hold(bytes.subarray(0, cut));
      text = this.#decoder.decode(this.#line.subarray(0, this.#length));
      this.#length = 0;
    } else if (cut > 0) text = this.#decoder.decode(cut === length ? bytes : bytes.subarray(0, cut));
    if (cut < length) this.#hold(bytes.subarray(cut));
    if (this.#length > this.#maxLine) {
      text += this.#decoder.decode(this.#line.subarray(0, this.#length), { stream: true });
      this.#length = 0;
    }
    return text;
  }

  #hold(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#line.length) {
      const line = new Uint8Array(Math.max(1024, 2 * length));
      line.set(this.#line.subarray(0, this.#length));
      this.#line = line;
    }
    this.#line.set(bytes, this.#length);
    this.#length = length;
  }
}

function asBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (!ArrayBuffer.isView(chunk)) throw new TypeError("Cannot read the body as it yields neither text nor bytes");
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
