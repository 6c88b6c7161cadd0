/**
 * UTF-8 that comes in pieces.
 * @module
 */

/** Decodes the next piece; text passes. Without a piece: what a cut character at the end leaves. */
export type Decode = (piece?: Uint8Array | string) => string;

/**
 * Makes a decoder of one stream. It drops the byte order mark at the start.
 */
export function createDecode(): Decode {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let begun = false;
  return (piece) => {
    let text = piece as string;
    if (typeof piece !== "string") {
      // What ends in ASCII cannot end inside a character, and decoding without keeping a state is much faster.
      text = piece && !(piece[piece.length - 1]! < 0x80)
        ? decoder.decode(piece, { stream: true })
        : decoder.decode(piece);
    }
    if (begun || text === "") return text;
    begun = true;
    // Left to itself, the decoder would drop one from the start of every piece.
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  };
}
