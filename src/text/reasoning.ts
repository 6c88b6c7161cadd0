/**
 * Reasoning that a serving template leaked into the answer: rig's clean-up of a whole text, and the splitter for a stream.
 * @module
 */

const TAGS = "<think><thinking><thought><mm:think></think></thinking></thought></mm:think>";
/** A tag at the place that is looked at. */
export const TAG: RegExp = /<\/?(think|thinking|thought|mm:think)>/iy;
/** Length of the longest tag. */
const LONGEST = 11;
/** A line that opens or closes a fence, and its marks. Backticks behind backticks are inline code. */
const FENCE = /(?<![^\n]) {0,3}(```+(?![^`\n]*`)|~~~+)[^\n]*/g;
/** Nobody writes more marks, and what is kept of a line is bounded: to as many, or one more where that keeps an odd number odd. */
const MAX_MARKS = 98;

/**
 * Removes leaked reasoning from a whole text: closed `<think>` blocks go; a closing tag that is left takes
 * all before it along (the template ate the opening one), an opening tag that is left all behind it; then blank space is trimmed.
 * Only lower-case `<think>` counts, and an answer that quotes a tag loses text; a provider, which sees the reply as it comes, does better.
 * Linear in the text.
 *
 * @param text What a model answered.
 * @returns The answer without reasoning, perhaps empty.
 *
 * @example
 * ```ts
 * import { stripReasoning } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(stripReasoning("<think>2 + 2…</think>\n\nFour."), "Four.");
 * assertEquals(stripReasoning("2 + 2…</think>\n\nFour."), "Four.");
 * assertEquals(stripReasoning("Four. <think>Or is it"), "Four.");
 * ```
 */
export function stripReasoning(text: string): string {
  // What has no end goes at once: the search for it must not begin anew at each opening tag.
  const kept = text.replace(/<think>[^]*?(?:<\/think>|$)/g, "");
  return kept.split("</think>").pop()!.split("<think>")[0]!.trim();
}

/**
 * Finds leaked reasoning in text as it streams in.
 * Every delta is handed on in the push it came in, but for at most one tag's length and one character. How the text is cut into
 * deltas never matters. Linear in the text.
 *
 * @param delta What has arrived.
 * @param isNative The message had reasoning in a field of its own: a closing tag without opener is then plain text.
 * @param isFinal Decides what is held back, since other content follows or the message ends: a broken tag is plain, a whole one is a
 * tag. More text may follow; whether it is inside a thought stays as it was.
 */
export type ReasoningSplitter = (delta: string, isNative: boolean, isFinal?: boolean) => void;

/**
 * Makes a splitter that is outside thoughts, at the beginning of a line. What it finds is told in order, while it reads.
 *
 * @param tellText More of the answer.
 * @param tellThinking More of a thought; never blank at its start.
 * @param endThinking The thought told so far is over; if there is none, a closing tag came without opener: the open text, if it is
 * more than blank, was one.
 */
export function createSplitter(
  tellText: (piece: string) => void,
  tellThinking: (piece: string) => void,
  endThinking: () => void,
): ReasoningSplitter {
  /** A tag that is not whole, or that waits for the character behind it. */
  let held = "";
  /** What ends the thought that this is inside of. */
  let closer = "";
  /** What was told last; `""` behind a tag, where blank space is dropped. */
  let last = "\n";
  /** Told as text since the last look for code. */
  let shown = "";
  /** Marks that opened the fence. */
  let fence = "";

  function tell(piece: string): void {
    if (!piece) return;
    last = piece;
    if (closer) return tellThinking(piece);
    shown += piece;
    tellText(piece);
  }

  /** Whether what was told ends inside code (CommonMark 0.31, "Fenced code blocks"). */
  function isCode(): boolean {
    let opened = "", isOdd = false;
    if (fence || /[`~]/.test(shown)) {
      const start = shown.lastIndexOf("\n") + 1;
      shown.replace(FENCE, (line, marks, index) => {
        const kept = marks.slice(0, MAX_MARKS + marks.length % 2);
        if (index >= start) opened = kept;
        else if (!fence) fence = kept;
        else if (line.trim() === marks && marks.startsWith(fence)) fence = "";
        return line;
      });
      isOdd = shown.slice(start).split("`").length % 2 === 0;
    }
    // A line may be long and asked about often: what stands in its place has the same marks.
    shown = opened + "<" + (isOdd && opened[0] !== "`" ? "`" : "");
    return isOdd || fence + opened !== "";
  }

  return function read(delta, isNative, isFinal) {
    let text = held ? held + delta : delta;
    held = "";
    if (!last) text = text.trimStart();
    for (let i = text.indexOf("<"); i >= 0; i = text.indexOf("<", i + 1)) {
      TAG.lastIndex = i;
      const tag = TAG.exec(text);
      if (!tag && (isFinal || text.length - i >= LONGEST)) continue;
      const said = (tag?.[0] ?? text.slice(i)).toLowerCase(), isCloser = said[1] === "/";
      if (!(closer || TAGS).includes(said) || (tag && isCloser && !closer && isNative)) continue;
      tell(text.slice(0, i));
      text = text.slice(i);
      i = 0;
      if (!closer && isCode()) continue;
      const { length } = tag?.[0] ?? text;
      if (!tag || !closer && isQuoted((last.at(-1) ?? ".") + (text[length] ?? ""))) {
        // Between quote marks a tag is plain; at the end of the text there is no second one.
        if (length < text.length) continue;
        if (!isFinal) {
          held = text;
          return;
        }
      }
      if (closer ? last : isCloser) endThinking();
      closer = isCloser ? "" : said.replace("<", "</");
      // Behind a tag the line counts as new.
      last = shown = "";
      text = text.slice(length).trimStart();
      i = -1;
    }
    tell(text);
  };
}

/** A quote mark and, if it is there, its like: straight ones must be the same. */
function isQuoted(around: string): boolean {
  return /^(?:(["'`])\1?|[[\p{QMark}]--["']]{1,2})$/v.test(around);
}
