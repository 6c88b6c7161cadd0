/**
 * The one JSON object in a reply that may hold prose, drafts and leaked reasoning as well.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { stripReasoning } from "./reasoning.ts";

/** Go's limit, and so rig's: what nests deeper is no JSON. */
const MAX_DEPTH = 10_000;
const ARRAY = -1;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /["\\/bfnrt]|u[\da-fA-F]{4}/y;

const TAB = 9,
  LF = 10,
  CR = 13,
  SPACE = 32,
  QUOTE = 34,
  COMMA = 44,
  COLON = 58,
  OPEN = 123,
  CLOSE = 125,
  OPEN_ARRAY = 91,
  CLOSE_ARRAY = 93,
  BACKSLASH = 92;

/**
 * Reads the JSON object that a model was asked for, with rig's exact results: reasoning is stripped; then, from left to right, an
 * object is looked for at every `{` that is not inside one found before, and the longest counts, the first of equals.
 * So a reply wins over the sketches before it. Linear in the text, whatever it holds.
 *
 * @param text What a model answered.
 * @returns The object as `JSON.parse` gives it: own properties only, also `__proto__`.
 * @throws {PawlError} `not_json`: there is no `{` at all; `invalid_json`: no object can be read.
 *
 * @example
 * ```ts
 * import { decodeJsonObject } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const reply = 'The shape is {"title": "…"}.</think>Here it is:\n{"title": "Rate limits"}';
 * assertEquals(decodeJsonObject(reply), { title: "Rate limits" });
 * ```
 */
export function decodeJsonObject(text: string): Record<string, unknown> {
  const reply = stripReasoning(text);
  if (!reply.includes("{")) throw new PawlError("not_json", 'Cannot read the reply as JSON: it holds no "{"');
  const walk = new Walk(reply);
  let from = 0, to = 0;
  for (let i = 0; i < reply.length; i++) {
    if (reply.charCodeAt(i) !== OPEN) continue;
    const end = walk.endOf(i);
    if (end < 0) continue;
    if (end - i > to - from) {
      from = i;
      to = end;
    }
    i = end - 1;
  }
  if (to === 0) throw new PawlError("invalid_json", "Cannot read the reply as JSON: no object in it is valid");
  return JSON.parse(reply.slice(from, to));
}

/**
 * Walks the JSON grammar. Every object that begins on a walk gets its end noted: where the walk dies all open ones die, as a walk from
 * their own `{` would die there too.
 *
 * Only a `{` inside a string of a dead walk still needs a walk of its own, and no character is walked more than twice: of two walks
 * over one place the later began in a string of the earlier, so there the one is inside a string where the other is not (outside
 * strings a backslash kills), and a third would have to differ from both.
 */
class Walk {
  readonly #text: string;
  /** By beginning: where the object ends, −1 if it is dead or open, 0 if no walk has met it. */
  readonly #ends: Int32Array;
  /** A stack, never emptied: where the open objects and arrays begin, and how deep their content nests. */
  readonly #begins: number[] = [];
  readonly #depths: number[] = [];

  constructor(text: string) {
    // It fits nowhere: every walk ends at it, so that none looks beyond the text, which would be slow.
    this.#text = text + "\0";
    this.#ends = new Int32Array(text.length);
  }

  /** @returns Where the object that begins at `at` ends, −1 if none does. */
  endOf(at: number): number {
    if (this.#ends[at] === 0) this.#walk(at);
    return this.#ends[at]!;
  }

  #walk(at: number): void {
    const text = this.#text, ends = this.#ends, begins = this.#begins, depths = this.#depths;
    let i = at, top = -1, isObject = false;
    /** The container has just begun, so that it may end here; a value is wanted, in an object with a key before it. */
    let fresh = false, wanted = true;
    do {
      i = skipBlanks(text, i);
      let c = text.charCodeAt(i);
      if (c === (isObject ? CLOSE : CLOSE_ARRAY) && (fresh || !wanted)) {
        const depth = depths[top]! + 1;
        i++;
        if (isObject && depth <= MAX_DEPTH) ends[begins[top]!] = i;
        if (--top >= 0) {
          isObject = begins[top]! >= 0;
          if (depths[top]! < depth) depths[top] = depth;
        }
        fresh = wanted = false;
      } else if (!wanted) {
        if (c !== COMMA) return;
        i++;
        wanted = true;
      } else {
        if (isObject) {
          if (c !== QUOTE) return;
          i = skipBlanks(text, skipString(text, i));
          if (text.charCodeAt(i) !== COLON) return;
          i = skipBlanks(text, i + 1);
          c = text.charCodeAt(i);
        }
        if (c === OPEN || c === OPEN_ARRAY) {
          fresh = true;
          isObject = c === OPEN;
          if (isObject) ends[i] = -1;
          begins[++top] = isObject ? i : ARRAY;
          depths[top] = 0;
          i++;
        } else {
          const end = c === QUOTE ? skipString(text, i) : skip(SCALAR, text, i);
          if (end <= i) return;
          i = end;
          fresh = wanted = false;
        }
      }
    } while (top >= 0);
  }
}

function skipBlanks(text: string, at: number): number {
  for (;; at++) {
    const c = text.charCodeAt(at);
    if (c !== SPACE && c !== LF && c !== CR && c !== TAB) return at;
  }
}

/** @returns Where the string that begins at `at` ends; the end of the text, where nothing fits, if it does not. */
function skipString(text: string, at: number): number {
  for (let i = at + 1;; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) return i + 1;
    if (c < SPACE || (c === BACKSLASH && (i = skip(ESCAPE, text, i + 1) - 1) < 0)) return text.length - 1;
  }
}

/** @returns Where the match at `at` ends, 0 if there is none. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}
