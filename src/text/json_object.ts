/**
 * The one JSON object in a reply that may hold prose, drafts and leaked reasoning as well.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { stripReasoning } from "./reasoning.ts";

const BLANKS = /[ \n\r\t]*/y;
const SCALAR = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|true|false|null/y;
/** A piece of a string. */
const PIECE = /[^"\\\0-\x1f]+|\\(["\\/bfnrt]|u[\da-fA-F]{4})/y;

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
  /** Go's limit, and so rig's: what nests deeper is no JSON. */
  const MAX_DEPTH = 10_000, SPACE = 32;
  // The last character fits nowhere: every walk ends at it, so that none looks beyond the text, which would be slow.
  const reply = stripReasoning(text) + "\\", dead = reply.length - 1;
  /** By beginning: where the object or array ends, right behind its brace if it is dead or open, 0 if no walk has met it. */
  const ends = new Int32Array(dead);
  /** A stack, never emptied: where the open objects and arrays begin, and how deep their content nests; below them something. */
  const begins = [dead], depths = [0];

  /** @returns Where the match at `at` ends, `dead` if there is none. */
  function skip(pattern: RegExp, at: number): number {
    pattern.lastIndex = at;
    return pattern.test(reply) ? pattern.lastIndex : dead;
  }

  function skipBlanks(at: number): number {
    return reply.charCodeAt(at) > SPACE ? at : skip(BLANKS, at);
  }

  /** @returns Where the string that begins at `at` ends, `dead` if it does not, or none begins there. */
  function skipString(at: number): number {
    if (reply[at] !== '"') return dead;
    let i = at + 1;
    for (let next; (next = skip(PIECE, i)) < dead;) i = next;
    return reply[i] === '"' ? i + 1 : dead;
  }

  /**
   * Walks the JSON grammar. Every object that begins on a walk gets its end noted: where the walk dies all open ones die, as a walk
   * from their own `{` would die there too.
   *
   * Only a `{` inside a string of a dead walk still needs a walk of its own, and no character is walked more than twice: of two walks
   * over one place the later began in a string of the earlier, so there the one is inside a string where the other is not (outside
   * strings a backslash kills), and a third would have to differ from both.
   */
  function walk(at: number): void {
    let i = at, top = 0, isFirst = true;
    do {
      i = skipBlanks(i);
      const begin = begins[top]!, isObject = reply[begin] === "{";
      if (reply[i] === (isObject ? "}" : "]")) {
        const depth = depths[top]! + 1;
        i++;
        if (depth <= MAX_DEPTH) ends[begin] = i;
        depths[--top] = Math.max(depths[top]!, depth);
        isFirst = false;
        continue;
      }
      if (!isFirst) {
        if (reply[i] !== ",") return;
        i = skipBlanks(i + 1);
      }
      if (isObject) {
        i = skipBlanks(skipString(i));
        if (reply[i] !== ":") return;
        i = skipBlanks(i + 1);
      }
      const c = reply[i];
      isFirst = c === "{" || c === "[";
      if (isFirst) {
        begins[++top] = i;
        depths[top] = 0;
        ends[i] = i + 1;
        i++;
      } else i = c === '"' ? skipString(i) : skip(SCALAR, i);
    } while (top > 0);
  }

  let from = 0, to = 1, i = reply.indexOf("{");
  if (i < 0) throw new PawlError("not_json", 'Cannot read the reply as JSON: it holds no "{"');
  for (; i >= 0; i = reply.indexOf("{", ends[i])) {
    if (!ends[i]) walk(i);
    if (ends[i]! - i > to - from) {
      from = i;
      to = ends[i]!;
    }
  }
  if (to === 1) throw new PawlError("invalid_json", "Cannot read the reply as JSON: it holds no valid object");
  return JSON.parse(reply.slice(from, to));
}
