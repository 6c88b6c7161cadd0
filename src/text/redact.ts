/**
 * Takes secrets out of text: the configured keys in every spelling that an endpoint was seen to echo, and whatever looks like a key.
 * @module
 */

/** A shorter secret is a placeholder; as many characters of a longer one in a row give it away. */
const WINDOW = 8;
const MARK = "[redacted]";
const ESCAPE = /%[\da-f]{2}/iy;
/**
 * `Bearer …` and `sk-…`. Where every letter is small it is prose or a class name ("Bearer authentication", `sk-fading-circle`), unless
 * it is long.
 */
const SHAPES =
  /\b((?:[Bb]earer|BEARER)\s+)(?=[\w.~+/-]*[A-Z\d]|[\w.~+/-]{20})[\w.~+/-]{8,}=*|(?<![\w-])sk-(?=[\w-]*[A-Z\d]|[a-z]{20})[\w-]{10,}/g;

const SPACE = 32, PERCENT = 37, PLUS = 43, MINUS = 45, SLASH = 47, UNDERSCORE = 95;

/**
 * Makes a function that writes `[redacted]` over secrets (quirk H-01, rule R-45): each one whole, and any eight or more characters of
 * it in a row; as it is, in base64 or base64url at any of the three alignments, percent-encoded in whole or in part, and spelled with
 * blanks in between. Also over `Bearer …` and `sk-…`, whosever they are.
 * Linear in the text, with one look at each character.
 *
 * @param secrets Keys and header values. One of under eight characters is a placeholder and stays.
 * @returns The redacting function; a text with nothing to redact comes back as it is.
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const windows = new Windows();
  for (const secret of secrets) {
    if (secret.length >= WINDOW) { for (const spelling of spellings(secret)) windows.scan(spelling, true); }
  }
  return function (text) {
    const ranges = windows.scan(text, false);
    let covered = "", done = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      covered += text.slice(done, ranges[i]) + MARK;
      done = ranges[i + 1]!;
    }
    return (covered + text.slice(done)).replace(SHAPES, `$1${MARK}`);
  };
}

function spellings(secret: string): string[] {
  const bytes = Array.from(new TextEncoder().encode(secret), (byte) => String.fromCharCode(byte)).join("");
  // Characters that also hold bits of what stands before the secret are cut off.
  return [secret, bytes, btoa(bytes), btoa("0" + bytes).slice(2), btoa("00" + bytes).slice(3)];
}

/** Every eight characters in a row of the secrets, the way they compare: escapes decoded, blanks left out, base64url as base64. */
class Windows {
  readonly #known = new Set<string>();
  /** By a hash of 16 bits, whether a window may be known. */
  readonly #filter = new Uint8Array(1 << 16);

  /**
   * Reads a text once.
   *
   * @param learn Whether its windows become known ones.
   * @returns Otherwise: where known windows lie, as beginnings and ends in turn.
   */
  scan(text: string, learn: boolean): number[] {
    const filter = this.#filter, ranges: number[] = [];
    if (!learn && this.#known.size === 0) return ranges;
    const begins = new Int32Array(WINDOW), ring = new Uint16Array(WINDOW);
    let count = 0, hash = 0;
    for (let i = 0, end = 0; i < text.length; i = end) {
      let c = text.charCodeAt(i);
      end = i + 1;
      if (c === PERCENT) {
        ESCAPE.lastIndex = i;
        if (ESCAPE.test(text)) {
          end = i + 3;
          c = parseInt(text.slice(i + 1, end), 16);
        }
      }
      if (c <= SPACE) continue;
      if (c === MINUS) c = PLUS;
      else if (c === UNDERSCORE) c = SLASH;
      begins[count % WINDOW] = i;
      ring[count % WINDOW] = c;
      count++;
      // Four bits a character: the ninth from the end has left the 32.
      hash = hash << 4 ^ c;
      const slot = (hash ^ hash >>> 16) & 0xffff;
      if (count < WINDOW || (!learn && filter[slot] === 0)) continue;
      let window = "";
      for (let k = count; k < count + WINDOW; k++) window += String.fromCharCode(ring[k % WINDOW]!);
      if (learn) {
        filter[slot] = 1;
        this.#known.add(window);
      } else if (this.#known.has(window)) {
        const begin = begins[count % WINDOW]!, last = ranges.length - 1;
        if (last > 0 && begin <= ranges[last]!) ranges[last] = end;
        else ranges.push(begin, end);
      }
    }
    return ranges;
  }
}
