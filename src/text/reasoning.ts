/**
 * Reasoning that a serving template leaked into the answer: rig's clean-up of a whole text, and the splitter for a stream.
 * @module
 */

const TAGS = "<think><thinking><thought><mm:think></think></thinking></thought></mm:think>";
/** A tag at the place that is looked at. */
export const TAG: RegExp = /<(\/?)(think|thinking|thought|mm:think)>/iy;
/** Length of the longest tag. */
const LONGEST = 11;
/** A quote mark and, if it is there, its like: straight ones must be the same. */
const QUOTED = /^(?:(["'`])\1?|[[\p{QMark}]--["']]{1,2})$/v;
/** Of a line: the marks that open or close a fence. Backticks behind backticks are inline code. */
const FENCE = /^ {0,3}(```+(?=[^`]*$)|~~~+)/;
/** Nobody opens a fence on a longer line, and what is kept of a line is bounded. */
const MAX_HEAD = 1024;

const LF = 10, SPACE = 32, LESS = 60, TICK = 96, TILDE = 126;

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

/** What a {@linkcode ReasoningSplitter} finds, in order. */
export interface SplitSink {
  /** More of the answer. */
  text(piece: string): void;
  /** More of a thought; never blank at its start. */
  thinking(piece: string): void;
  /** The thought told so far is over. */
  endThinking(): void;
  /** A closing tag without opener: the open text, if it is more than blank, was a thought that is over now. */
  retract(): boolean | void;
}

/**
 * Finds leaked reasoning in text as it streams in.
 * Every delta is handed on in the push it came in, but for at most one tag's length and one character. How the text is cut into
 * deltas never matters. Linear in the text.
 */
export interface ReasoningSplitter {
  /** The message had reasoning in a field of its own: a closing tag without opener is then plain text. */
  native: boolean;
  /** Reads on. */
  push(delta: string): void;
  /**
   * Decides what is held back, since other content follows or the message ends: a broken tag is plain, a whole one is a tag.
   * More text may follow; whether it is inside a thought stays as it was.
   */
  flush(): void;
}

/**
 * Makes a splitter that is outside thoughts, at the beginning of a line.
 *
 * @param sink Told what is found, during `push` and `flush`.
 */
export function createSplitter(sink: SplitSink): ReasoningSplitter {
  /** A tag that is not whole, or that waits for the character behind it. */
  let held = "";
  /** What ends the thought that this is inside of. */
  let closer = "";
  /** What was told last; `""` behind a tag, where blank space is dropped. */
  let last = "\n";

  /** Marks that opened the fence. */
  let fence = "";
  /** It was opened on this line. */
  let opening = false;
  /** The line, as long as it may be that of a fence. */
  let head = "";
  /** The line holds more than that. */
  let plain = false;
  /** An odd number of backticks so far on this line. */
  let odd = false;

  const splitter = {
    native: false,
    push: (delta: string) => read(delta, false),
    flush: () => read("", true),
  };
  return splitter;

  /** Tells what is decided: with `final` all of it. */
  function read(delta: string, final: boolean): void {
    let text = held ? held + delta : delta;
    held = "";
    if (!last) text = text.trimStart();
    for (let i = 0; i < text.length; i++) {
      const { length } = text;
      let c = text.charCodeAt(i);
      if (closer || plain) {
        while (c !== LESS && c !== LF && c !== TICK && ++i < length) c = text.charCodeAt(i);
        if (i === length) break;
      }
      if (!closer) follow(c);
      if (c !== LESS || fence || odd) continue;
      TAG.lastIndex = i;
      const tag = TAG.exec(text), slash = tag?.[1], behind = TAG.lastIndex;
      if (!tag) {
        if (final || length - i >= LONGEST) continue;
        if (!(closer || TAGS).includes(text.slice(i).toLowerCase())) continue;
        held = text.slice(i);
      } else if (closer) {
        if (tag[0].toLowerCase() !== closer) continue;
      } else if (slash && splitter.native) continue;
      else if (QUOTED.test((text[i - 1] ?? last.at(-1) ?? ".") + (text[behind] ?? ""))) {
        if (behind < length) continue;
        // At the end of the text there is no second mark.
        if (!final) held = tag[0];
      }
      say(text.slice(0, i));
      if (held) return;
      if (closer) {
        if (last) sink.endThinking();
      } else if (slash) sink.retract();
      closer = slash ? "" : `</${tag![2]!.toLowerCase()}>`;
      last = "";
      // Behind a tag the line counts as new.
      follow(LF);
      text = text.slice(behind).trimStart();
      i = -1;
    }
    say(text);
  }

  function say(piece: string): void {
    if (!piece) return;
    last = piece;
    if (closer) sink.thinking(piece);
    else sink.text(piece);
  }

  /** Keeps the state of line and fence (CommonMark 0.31, "Fenced code blocks"). */
  function follow(c: number): void {
    if (c === TICK) {
      odd = !odd;
      if (opening && fence[0] === "`") fence = "";
    }
    if (!plain) {
      if ((c <= SPACE && c !== LF || c === TICK || c === TILDE) && head.length < MAX_HEAD) {
        head += String.fromCharCode(c);
        return;
      }
      plain = true;
      const found = head && FENCE.exec(head);
      if (found) {
        const marks = found[1]!;
        if (!fence) {
          fence = marks;
          opening = true;
        } else if (c === LF && marks === head.trim() && marks.startsWith(fence)) fence = "";
      }
    }
    if (c === LF) {
      head = "";
      opening = plain = odd = false;
    }
  }
}
