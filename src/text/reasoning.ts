/**
 * Reasoning that a serving template leaked into the answer: rig's clean-up of a whole text, and the splitter for a stream.
 * @module
 */

const NAMES = ["think", "thinking", "thought", "mm:think"];
const TAG = new RegExp(`<(/?)(${NAMES.join("|")})>`, "iy");
const TAGS = NAMES.flatMap((name) => [`<${name}>`, closerOf(name)]);
const CLOSERS = new Map(NAMES.map((name) => [name, new RegExp(closerOf(name), "ig")]));
/** Length of the longest tag. */
const LONGEST = 11;
/** Opening and closing quote marks, in pairs. */
const QUOTES = "\"\"''``“”‘’«»„“„”‚‘‚’»«‹››‹””’’「」『』＂＂＇＇";
const BLANKS = /\s*/y;

const TAB = 9, LF = 10, CR = 13, SPACE = 32, LESS = 60, TICK = 96, TILDE = 126;

function closerOf(name: string): string {
  return `</${name}>`;
}

/**
 * Removes leaked reasoning from a whole text, with rig's exact results: closed `<think>` blocks go; a closing tag that is left takes
 * all before it along (the template ate the opening one), an opening tag that is left all behind it; then blank space is trimmed.
 * Only lower-case `<think>` counts, and an answer that quotes a tag loses text: rig's trade-off, kept.
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
  const opener = "<think>", closer = "</think>";
  let kept = "", at = 0;
  for (let open; (open = text.indexOf(opener, at)) >= 0;) {
    const close = text.indexOf(closer, open);
    if (close < 0) break;
    kept += text.slice(at, open);
    at = close + closer.length;
  }
  kept = (kept + text.slice(at)).trim();
  const close = kept.lastIndexOf(closer);
  if (close >= 0) kept = kept.slice(close + closer.length).trim();
  const open = kept.indexOf(opener);
  return open < 0 ? kept : kept.slice(0, open).trim();
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
 * Finds leaked reasoning in text as it streams in (design §3, "Leaked reasoning").
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
  #fenceLength = 0;
  /** This line opened the fence. */
  #opening = false;
  /** So far this line is only blanks and one run of marks: it may open or close a fence. */
  #head = true;
  #blanks = 0;
  #mark = 0;
  #run = 0;
  /** This line closes the fence if nothing but blanks follows. */
  #closing = false;
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
    return this.#name === "" && this.#held === "";
  }

  /**
   * Reads on.
   *
   * @param delta More text of the message.
   */
  push(delta: string): void {
    if (this.#held !== "") {
      delta = this.#held + delta;
      this.#held = "";
    }
    this.#scan(delta, false);
  }

  /**
   * Decides what is held back, since other content follows or the message ends: a broken tag is plain, a whole one is a tag.
   * More text may follow; whether it is inside a thought stays as it was.
   */
  flush(): void {
    const held = this.#held;
    this.#held = "";
    this.#scan(held, true);
  }

  #scan(text: string, final: boolean): void {
    for (let i = 0; i < text.length;) {
      if (this.#dropping) {
        BLANKS.lastIndex = i;
        BLANKS.test(text);
        i = BLANKS.lastIndex;
        if (i === text.length) return;
        this.#dropping = false;
      }
      i = this.#name === "" ? this.#outside(text, i, final) : this.#inside(text, i, final);
    }
  }

  /** @returns Where the next state begins. */
  #inside(text: string, from: number, final: boolean): number {
    const closer = CLOSERS.get(this.#name)!;
    closer.lastIndex = from;
    const found = closer.exec(text);
    if (found) {
      this.#think(text.slice(from, found.index));
      if (this.#told) this.#sink.endThinking();
      this.#name = "";
      this.#fresh();
      return closer.lastIndex;
    }
    let end = text.length;
    if (!final) {
      const last = text.lastIndexOf("<");
      if (last >= from && mayBecome([closerOf(this.#name)], text, last)) {
        this.#held = text.slice(last);
        end = last;
      }
    }
    this.#think(text.slice(from, end));
    return text.length;
  }

  #think(piece: string): void {
    if (piece === "") return;
    this.#told = true;
    this.#sink.thinking(piece);
  }

  /** @returns Where the next state begins. */
  #outside(text: string, from: number, final: boolean): number {
    const length = text.length;
    let i = from;
    for (; i < length; i++) {
      let c = text.charCodeAt(i);
      if (!this.#head && !this.#closing) {
        while (c !== LESS && c !== LF && c !== TICK && ++i < length) c = text.charCodeAt(i);
        if (i === length) break;
      }
      if (c === LESS && this.#fence === 0 && !this.#odd) {
        TAG.lastIndex = i;
        const tag = TAG.exec(text);
        const end = TAG.lastIndex;
        if (tag ? tag[1] === "" || !this.native : !final && mayBecome(TAGS, text, i)) {
          const quoted = tag && isQuoted(i > from ? text[i - 1]! : this.#last, text[end]);
          if (tag && (!quoted || (final && end === length))) {
            this.#say(text, from, i);
            this.#fresh();
            if (tag[1] === "") {
              this.#name = tag[2]!.toLowerCase();
              this.#told = false;
            } else this.#sink.retract();
            return end;
          }
          if (!tag || end === length) {
            this.#held = text.slice(i);
            break;
          }
        }
      }
      this.#follow(c);
    }
    this.#say(text, from, i);
    return length;
  }

  #say(text: string, from: number, to: number): void {
    if (from === to) return;
    this.#last = text[to - 1]!;
    this.#sink.text(text.slice(from, to));
  }

  /** Behind a tag: blank space is dropped, and the line counts as new. */
  #fresh(): void {
    this.#dropping = true;
    this.#last = "";
    this.#follow(LF);
  }

  /** Keeps the state of line and fence (CommonMark 0.31, "Fenced code blocks"). */
  #follow(c: number): void {
    if (c === LF) {
      if (this.#closing) this.#fence = 0;
      this.#head = true;
      this.#closing = this.#opening = this.#odd = false;
      this.#blanks = this.#run = 0;
      return;
    }
    if (c === TICK) this.#odd = !this.#odd;
    if (this.#head) {
      if (c === SPACE && this.#run === 0 && this.#blanks++ < 3) return;
      if ((c === TICK || c === TILDE) && (this.#run === 0 || this.#mark === c)) {
        this.#mark = c;
        this.#run++;
        if (this.#fence === 0 && this.#run === 3) {
          this.#fence = c;
          this.#opening = true;
        }
        if (this.#opening) this.#fenceLength = this.#run;
        else this.#closing = this.#fence === c && this.#run >= this.#fenceLength;
        return;
      }
      this.#head = false;
    }
    if (c !== SPACE && c !== TAB && c !== CR) this.#closing = false;
    // Backticks behind backticks: the line was inline code, not the start of a fence.
    if (c === TICK && this.#opening && this.#fence === TICK) this.#fence = 0;
  }
}

/** Whether the text breaks off, from `at` on, in one of the tags. */
function mayBecome(tags: readonly string[], text: string, at: number): boolean {
  if (text.length - at >= LONGEST) return false;
  const rest = text.slice(at).toLowerCase();
  return tags.some((tag) => tag.startsWith(rest));
}

/** Whether two characters are a pair of quote marks; without the second, whether the first can begin one. */
function isQuoted(before: string, behind: string | undefined): boolean {
  for (let i = 0; i < QUOTES.length; i += 2) {
    if (QUOTES[i] === before && (behind === undefined || QUOTES[i + 1] === behind)) return true;
  }
  return false;
}
