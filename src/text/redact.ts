/**
 * Takes secrets out of text: the configured keys in every spelling that an endpoint was seen to echo, and whatever looks like a key.
 * @module
 */

/** A shorter secret is a placeholder; as many characters of a longer one in a row give it away. */
const WINDOW = 8;
const MARK = "[redacted]";
/** `Bearer …` and `sk-…`. Without a digit it is prose or a class name (`sk-fading-circle`), unless it is one long word. */
const SHAPES = /((?<![\w-])sk-|\bbearer\s+)(?=[\w.~+/-]*\d|[\w.]{20})[\w.~+/-]{10,}=*/gi;
/** Tells the characters of a key apart, and eight of them still are a safe integer. */
const BASE = 97;

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
  /** Gathered when it is first needed: few replies quote an endpoint, and it takes longer than a request. */
  let known: Set<number> | undefined;

  function gather(): Set<number> {
    const windows = new Set<number>();
    for (const spelling of secrets.filter(({ length }) => length >= WINDOW).flatMap(spellings)) {
      scan(spelling, (window) => windows.add(window));
    }
    return windows;
  }

  return function (text) {
    const windows = known ??= gather();
    let covered = "", done = 0;
    function cover(window: number, begin: number, end: number): void {
      if (!windows.has(window)) return;
      if (begin > done || !covered) covered += text.slice(done, begin) + MARK;
      done = end;
    }
    if (windows.size > 0) scan(text, cover);
    return (covered + text.slice(done)).replace(SHAPES, `$1${MARK}`);
  };
}

function spellings(secret: string): string[] {
  const bytes = String.fromCharCode(...new TextEncoder().encode(secret));
  // Characters that also hold bits of what stands before the secret are cut off.
  return [secret, bytes, btoa(bytes), btoa("0" + bytes).slice(2), btoa("00" + bytes).slice(3)];
}

/**
 * Reads a text once, the way that spellings compare: escapes decoded, blanks left out, base64url as base64.
 *
 * @param see Is given every eight characters in a row as one number, and where they begin and end. Two that differ have the same
 * number only where a character is none of a key.
 */
function scan(text: string, see: (window: number, begin: number, end: number) => void): void {
  const begins: number[] = [];
  let window = 0;
  for (let i = 0, end = 0; i < text.length; i = end) {
    let c = text.charCodeAt(i);
    end = i + 1;
    if (c === PERCENT) {
      const code = text.slice(end, i + 3);
      if (/^[\da-f]{2}$/i.test(code)) {
        c = parseInt(code, 16);
        end = i + 3;
      }
    }
    if (c <= SPACE) continue;
    if (c === MINUS) c = PLUS;
    if (c === UNDERSCORE) c = SLASH;
    window = window % BASE ** 7 * BASE + c % BASE;
    if (begins.push(i) >= WINDOW) see(window, begins.shift()!, end);
  }
}
