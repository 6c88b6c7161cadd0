/**
 * UTF-8 that comes in pieces.
 * @module
 */

const NONE = new Uint8Array();

/**
 * Makes the decoder of one stream: text passes, a byte order mark at the start is dropped, and a character that is cut is held back.
 * A `TextDecoder` can do all that, but keeping a state makes it several times slower.
 */
export function createDecode(): (piece: Uint8Array | string) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let held = NONE;
  let begun = false;

  function decode(piece: Uint8Array): string {
    let bytes = piece;
    if (held.length > 0) {
      bytes = new Uint8Array(held.length + piece.length);
      bytes.set(held);
      bytes.set(piece, held.length);
    }
    const { length } = bytes;
    let cut = 0;
    if (bytes[length - 1]! > 127) {
      // A character of which only n bytes are here: from C0, E0 and F0 on, the first wants 1, 2 and 3 more.
      for (let n = 3; n > 0; n--) if (bytes[length - n]! >= 256 - (128 >> n)) cut = n;
    }
    const end = length - cut;
    held = cut > 0 ? bytes.slice(end) : NONE;
    return decoder.decode(cut > 0 ? bytes.subarray(0, end) : bytes);
  }

  return (piece) => {
    const text = typeof piece === "string" ? piece : decode(piece);
    if (begun || text === "") return text;
    begun = true;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  };
}
