/**
 * The one JSON object in a reply that may hold prose, drafts and leaked reasoning as well.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { stripReasoning } from "./reasoning.ts";

/** Go's limit, and so rig's: what nests deeper is no JSON. */
const MAX_DEPTH = 10_000;
const ARRAY = -1;
const SPACE = 32;
const BLANKS = /[ \n\r\t]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** A piece of a string. */
const PIECE = /[^"\\\0-\x1f]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/**
 * Reads the JSON object that a model was asked for: reasoning is stripped; then, from left to right, an
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
  // The last character fits nowhere: every walk ends at it, so that none looks beyond the text, which would be slow.
  const reply = stripReasoning(text) + "\0";
  /** By beginning: where the object ends, −1 if it is dead or open, 0 if no walk has met it. */
  const ends = new Int32Array(reply.length);
  /** A stack, never emptied: where the open objects and arrays begin, and how deep their content nests; below them something. */
  const begins = [ARRAY], depths = [0];

  /**
   * Walks the JSON grammar. Every object that begins on a walk gets its end noted: where the walk dies all open ones die, as a walk
   * from their own `{` would die there too.
   *
   * Only a `{` inside a string of a dead walk still needs a walk of its own, and no character is walked more than twice: of two walks
   * over one place the later began in a string of the earlier, so there the one is inside a string where the other is not (outside
   * strings a backslash kills), and a third would have to differ from both.
   */
  function walk(at: number): void {
    let i = at, top = 0;
    /** The container has just begun, so that it may end here; a value is wanted, in an object with a key before it. */
    let fresh = false, wanted = true;
    do {
      i = skipBlanks(reply, i);
      const isObject = begins[top]! >= 0;
      if (reply[i] === (isObject ? "}" : "]") && (fresh || !wanted)) {
        const depth = depths[top]! + 1;
        i++;
        if (isObject && depth <= MAX_DEPTH) ends[begins[top]!] = i;
        depths[--top] = Math.max(depths[top]!, depth);
        fresh = wanted = false;
      } else if (!wanted) {
        if (reply[i] !== ",") return;
        i++;
        wanted = true;
      } else {
        if (isObject) {
          if (reply[i] !== '"') return;
          i = skipBlanks(reply, skipString(reply, i));
          if (reply[i] !== ":") return;
          i = skipBlanks(reply, i + 1);
        }
        const c = reply[i];
        fresh = c === "{" || c === "[";
        if (fresh) {
          if (c === "{") ends[i] = -1;
          begins[++top] = c === "{" ? i : ARRAY;
          depths[top] = 0;
          i++;
        } else {
          i = c === '"' ? skipString(reply, i) : skip(SCALAR, reply, i);
          if (i === 0) return;
          wanted = false;
        }
      }
    } while (top > 0);
  }

  let from = 0, to = 0, i = reply.indexOf("{");
  if (i < 0) throw new PawlError("not_json", 'Cannot read the reply as JSON: it holds no "{"');
  for (let end = 0; i >= 0; i = reply.indexOf("{", Math.max(end, i + 1))) {
    if (ends[i] === 0) walk(i);
    end = ends[i]!;
    if (end - i > to - from) {
      from = i;
      to = end;
    }
  }
  if (to === 0) throw new PawlError("invalid_json", "Cannot read the reply as JSON: no object in it is valid");
  return JSON.parse(reply.slice(from, to));
}

function skipBlanks(text: string, at: number): number {
  return text.charCodeAt(at) > SPACE ? at : skip(BLANKS, text, at);
}

/** @returns Where the string that begins at `at` ends; the end of the text, where nothing fits, if it does not. */
function skipString(text: string, at: number): number {
  let i = at + 1;
  for (let next; (next = skip(PIECE, text, i)) > 0;) i = next;
  return text[i] === '"' ? i + 1 : text.length - 1;
}

/** @returns Where the match at `at` ends, 0 if there is none. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}
