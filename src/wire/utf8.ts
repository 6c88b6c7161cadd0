/**
 * UTF-8 that comes in pieces.
 * @module
 */

/**
 * Makes the decoder of one stream: text passes, a byte order mark at the start is dropped, and characters may be cut; the beginning of
 * one is kept until the next piece.
 */
export function createDecode(): (piece: Uint8Array | string) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let begun = false;
  return (piece) => {
    let text = piece as string;
    if (typeof piece !== "string") {
      // What ends in ASCII cannot end inside a character, and decoding without keeping a state is much faster.
      text = piece[piece.length - 1]! < 128 ? decoder.decode(piece) : decoder.decode(piece, { stream: true });
    }
    if (begun || text === "") return text;
    begun = true;
    // Left to itself, the decoder would drop one from the start of every piece.
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  };
}
