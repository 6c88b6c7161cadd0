/**
 * Reasoning that a serving template leaked into the answer: rig's clean-up of a whole text, and the splitter for a stream.
 * @module
 */

const CLOSERS = "</think></thinking></thought></mm:think>";
const TAGS = CLOSERS + CLOSERS.replaceAll("/", "");
/** A tag at the place that is looked at. */
export const TAG: RegExp = /<(\/?)(think|thinking|thought|mm:think)>/iy;
/** Length of the longest tag. */
const LONGEST = 11;
/** A quote mark and, if it is there, its like: straight ones must be the same. */
const QUOTED = /^(?:(["'`])\1?|(?:(?!["'])\p{QMark}){1,2})$/u;

const TAB = 9, LF = 10, CR = 13, SPACE = 32, LESS = 60, TICK = 96, TILDE = 126;
/** What a line is so far: blanks and one run of marks, which may open or close a fence; these and blanks behind them; more. */
const HEAD = 0, TAIL = 1, PLAIN = 2;

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
export class ReasoningSplitter {
  readonly #sink: SplitSink;
  /** The message had reasoning in a field of its own: a closing tag without opener is then plain text. */
  native = false;

  /** A tag that is not whole, or that waits for the character behind it. */
  #held = "";
  /** Name of the tag whose thought this is inside of. */
  #name = "";
  /** The thought has told something. */
  #told = false;
  /** Blank space is dropped until something else comes. */
  #dropping = false;
  /** The character before, outside thoughts. */
  #last = "";

  /** Mark of the open fence, 0 outside. */
  #fence = 0;
  /** Of the open fence; 0 on the line that opens it. */
  #length = 0;
  #line = HEAD;
  #blanks = 0;
  #mark = 0;
  #run = 0;
  /** An odd number of backticks so far on this line. */
  #odd = false;

  /**
   * Starts outside thoughts, at the beginning of a line.
   *
   * @param sink Told what is found, during `push` and `flush`.
   */
  constructor(sink: SplitSink) {
    this.#sink = sink;
  }

  /** Outside thoughts, with nothing held back. */
  get idle(): boolean {
    return this.#name + this.#held === "";
  }

  /**
   * Reads on.
   *
   * @param delta More text of the message.
   */
  push(delta: string): void {
    this.#scan(delta, false);
  }

  /**
   * Decides what is held back, since other content follows or the message ends: a broken tag is plain, a whole one is a tag.
   * More text may follow; whether it is inside a thought stays as it was.
   */
  flush(): void {
    this.#scan("", true);
  }

  #scan(delta: string, final: boolean): void {
    const text = this.#held + delta, { length } = text;
    this.#held = "";
    let from = 0, i = 0;
    for (; i < length; i++) {
      if (this.#dropping) {
        from = i = length - text.slice(i).trimStart().length;
        if (i === length) return;
        this.#dropping = false;
      }
      const name = this.#name;
      let c = text.charCodeAt(i);
      if (name || this.#line === PLAIN) {
        while (c !== LESS && c !== LF && c !== TICK && ++i < length) c = text.charCodeAt(i);
        if (i === length) break;
      }
      if (c === LESS && (name || (this.#fence === 0 && !this.#odd))) {
        TAG.lastIndex = i;
        const tag = TAG.exec(text), end = TAG.lastIndex;
        let acts = false;
        let waits = !tag && !final && length - i < LONGEST &&
          (name ? CLOSERS : TAGS).includes(text.slice(i).toLowerCase());
        if (tag && name) acts = tag[1] !== "" && tag[2]!.toLowerCase() === name;
        else if (tag && !(tag[1] && this.native)) {
          const before = i > from ? text[i - 1]! : this.#last;
          acts = before === "" || !QUOTED.test(before + (text[end] ?? (final ? "." : "")));
          waits = !acts && end === length;
        }
        if (waits) {
          this.#held = text.slice(i);
          break;
        }
        if (acts) {
          this.#say(text.slice(from, i));
          this.#turn(tag!);
          from = end;
          i = end - 1;
          continue;
        }
      }
      if (!name) this.#follow(c);
    }
    this.#say(text.slice(from, i));
  }

  #say(piece: string): void {
    if (piece === "") return;
    if (this.#name) {
      this.#told = true;
      this.#sink.thinking(piece);
    } else {
      this.#last = piece[piece.length - 1]!;
      this.#sink.text(piece);
    }
  }

  /** Goes on behind a tag: blank space is dropped, and the line counts as new. */
  #turn([, slash, name]: RegExpExecArray): void {
    if (this.#name) {
      if (this.#told) this.#sink.endThinking();
    } else if (slash) this.#sink.retract();
    this.#name = slash ? "" : name!.toLowerCase();
    this.#told = false;
    this.#dropping = true;
    this.#last = "";
    this.#follow(LF);
  }

  /** Keeps the state of line and fence (CommonMark 0.31, "Fenced code blocks"). */
  #follow(c: number): void {
    if (c === LF) {
      if (this.#fence !== 0 && this.#length === 0) this.#length = this.#run;
      else if (this.#line !== PLAIN && this.#mark === this.#fence && this.#run >= this.#length) {
        this.#fence = this.#length = 0;
      }
      this.#line = HEAD;
      this.#odd = false;
      this.#blanks = this.#mark = this.#run = 0;
      return;
    }
    if (c === TICK) this.#odd = !this.#odd;
    if (this.#line === HEAD) {
      if (c === SPACE && this.#mark === 0 && this.#blanks++ < 3) return;
      if (c === this.#mark || ((c === TICK || c === TILDE) && this.#mark === 0)) {
        this.#mark = c;
        if (++this.#run === 3 && this.#fence === 0) this.#fence = c;
        return;
      }
      this.#line = TAIL;
    }
    if (c !== SPACE && c !== TAB && c !== CR) this.#line = PLAIN;
    // Backticks behind backticks: the line was inline code, not the start of a fence.
    if (c === TICK && this.#fence === TICK && this.#length === 0) this.#fence = 0;
  }
}
