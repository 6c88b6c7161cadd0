/**
 * Writes GGUF files, the model format of llama.cpp: version 3, 32-bit floats, the kinds of metadata that a small model
 * needs.
 *
 * @module
 */

const MAGIC = "GGUF";
const VERSION = 3;
/** Tensor data begins at multiples of it, llama.cpp's default. */
const ALIGNMENT = 32;
const F32 = 0;
const ARRAY = 9;

/** The kinds of metadata by their number in the file. */
const KINDS = { u32: 4, i32: 5, f32: 6, bool: 7, str: 8 } as const;

/** A kind of metadata value. */
export type Kind = keyof typeof KINDS;

type Scalar = number | boolean | string;

/** One line of metadata: its kind and value; a list is an array of the kind. */
export type Metadata = Record<string, [kind: Kind, value: Scalar | readonly Scalar[]]>;

/** A named matrix or vector, `dims[0]` being the length of a row. */
export interface Tensor {
  name: string;
  dims: number[];
  /** Its values, row by row; zeros unless given, which take no room on the disk. */
  data?: Float32Array | undefined;
}

class Buffer {
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(1 << 16);
  length = 0;

  #room(size: number): DataView {
    if (this.length + size > this.#bytes.length) {
      const grown = new Uint8Array(2 * (this.length + size));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    const view = new DataView(this.#bytes.buffer, this.length, size);
    this.length += size;
    return view;
  }

  bytes(value: Uint8Array): void {
    this.#room(value.length);
    this.#bytes.set(value, this.length - value.length);
  }

  u64(value: number): void {
    this.#room(8).setBigUint64(0, BigInt(value), true);
  }

  put(kind: Kind, value: Scalar): void {
    switch (kind) {
      case "u32":
        return this.#room(4).setUint32(0, Number(value), true);
      case "i32":
        return this.#room(4).setInt32(0, Number(value), true);
      case "f32":
        return this.#room(4).setFloat32(0, Number(value), true);
      case "bool":
        return this.#room(1).setUint8(0, Number(value));
      case "str": {
        const text = this.#encoder.encode(String(value));
        this.u64(text.length);
        return this.bytes(text);
      }
    }
  }

  /** The bytes so far, zeros behind them up to a multiple of the alignment. */
  aligned(): Uint8Array {
    this.bytes(new Uint8Array(align(this.length) - this.length));
    return this.#bytes.subarray(0, this.length);
  }
}

function align(size: number): number {
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT;
}

function sizeOf(tensor: Tensor): number {
  return 4 * tensor.dims.reduce((product, dim) => product * dim, 1);
}

/**
 * Writes a model.
 *
 * @param path Where to
 * @param metadata What describes it
 * @param tensors Its weights
 */
export function writeGguf(path: string, metadata: Metadata, tensors: readonly Tensor[]): void {
  const head = new Buffer();
  head.bytes(new TextEncoder().encode(MAGIC));
  head.put("u32", VERSION);
  head.u64(tensors.length);
  head.u64(Object.keys(metadata).length);
  for (const [key, [kind, value]] of Object.entries(metadata)) {
    head.put("str", key);
    if (typeof value === "object") {
      head.put("u32", ARRAY);
      head.put("u32", KINDS[kind]);
      head.u64(value.length);
      for (const element of value) head.put(kind, element);
    } else {
      head.put("u32", KINDS[kind]);
      head.put(kind, value);
    }
  }
  const offsets: number[] = [];
  let end = 0;
  for (const tensor of tensors) {
    head.put("str", tensor.name);
    head.put("u32", tensor.dims.length);
    for (const dim of tensor.dims) head.u64(dim);
    head.put("u32", F32);
    head.u64(end);
    offsets.push(end);
    end += align(sizeOf(tensor));
  }
  const start = head.aligned();
  using file = Deno.openSync(path, { write: true, create: true, truncate: true });
  writeAt(file, 0, start);
  file.truncateSync(start.length + end);
  tensors.forEach(({ data }, i) => {
    if (data) writeAt(file, start.length + offsets[i]!, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  });
}

function writeAt(file: Deno.FsFile, position: number, bytes: Uint8Array): void {
  file.seekSync(position, Deno.SeekMode.Start);
  for (let written = 0; written < bytes.length;) written += file.writeSync(bytes.subarray(written));
}
