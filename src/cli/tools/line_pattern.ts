/**
 * Regular expressions that a model may choose: matched by a simulated automaton in time linear in the text, whatever the pattern.
 * The engine of the runtime backtracks, and neither a timer nor a terminated worker stops it in the middle of a match.
 * @module
 */

type Node =
  | { kind: "char"; test: (code: number) => boolean }
  | { kind: "assert"; is: "^" | "$" | "b" | "B" }
  | { kind: "cat" | "alt"; nodes: Node[] }
  | { kind: "repeat"; node: Node; min: number; max: number };

type State =
  | { kind: "char"; test: (code: number) => boolean; next: number }
  | { kind: "assert"; is: "^" | "$" | "b" | "B"; next: number }
  | { kind: "split"; next: number; other: number }
  | { kind: "match" };

/** Kinds of the neighbour of a position. */
const EDGE = 0, WORD = 1, OTHER = 2;
const MAX_PATTERN = 1000;
const MAX_STATES = 3000;
const MAX_CACHED = 2000;
const ESCAPED: Record<string, string> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", 0: "\0" };

/** A set of states behind one character, and where the next one leads. */
interface Stop {
  states: readonly number[];
  before: number;
  edges: Map<number, Stop | boolean>;
}

/** Options of a {@linkcode LinePattern}. */
export interface LinePatternOptions {
  /** Letter case does not matter. */
  ignoreCase?: boolean;
}

/**
 * A regular expression over one line: literals, `.`, classes, `\d \w \s \b \p{…}`, groups, `|`, `* + ? {n,m}`, `^` and `$`.
 * What needs backtracking (backreferences, lookaround) is refused.
 */
export class LinePattern {
  readonly #states: State[] = [{ kind: "match" }];
  readonly #start: number;
  #stops = new Map<string, Stop>();

  /**
   * @param source The expression.
   * @throws {TypeError} It is malformed, too large, or needs backtracking.
   */
  constructor(source: string, options: LinePatternOptions = {}) {
    if (source.length > MAX_PATTERN) {
      throw new TypeError(`Cannot use the pattern as it is longer than ${MAX_PATTERN} characters`);
    }
    this.#start = this.#build(new Parser(source, options.ignoreCase === true).parse(), 0);
  }

  /** Tells whether the expression matches anywhere in `line`. */
  test(line: string): boolean {
    let stop = this.#stop([], EDGE);
    for (let i = 0; i <= line.length; i++) {
      const code = line.codePointAt(i) ?? -1;
      if (code > 0xffff) i++;
      let next = stop.edges.get(code);
      if (next === undefined) stop.edges.set(code, next = this.#step(stop, code));
      if (typeof next === "boolean") return next;
      stop = next;
    }
    return false;
  }

  #push(state: State): number {
    if (this.#states.length >= MAX_STATES) {
      throw new TypeError("Cannot use the pattern as its repetitions are too large");
    }
    return this.#states.push(state) - 1;
  }

  /** Adds the states of `node`, leading on to `next`, and returns the first. */
  #build(node: Node, next: number): number {
    switch (node.kind) {
      case "char":
      case "assert":
        return this.#push({ ...node, next });
      case "cat":
        return node.nodes.reduceRight((after, part) => this.#build(part, after), next);
      case "alt":
        return node.nodes.slice(0, -1).reduceRight(
          (other, part) => this.#push({ kind: "split", next: this.#build(part, next), other }),
          this.#build(node.nodes.at(-1)!, next),
        );
      case "repeat": {
        let after = next;
        if (node.max === Infinity) {
          const loop = { kind: "split" as const, next: 0, other: next };
          after = this.#push(loop);
          loop.next = this.#build(node.node, after);
        } else {
          for (let i = node.min; i < node.max; i++) {
            after = this.#push({ kind: "split", next: this.#build(node.node, after), other: next });
          }
        }
        for (let i = 0; i < node.min; i++) after = this.#build(node.node, after);
        return after;
      }
    }
  }

  #stop(states: readonly number[], before: number): Stop {
    const key = `${before}:${states}`;
    let stop = this.#stops.get(key);
    if (stop === undefined) {
      // A hostile pattern has exponentially many sets: forgetting them keeps memory bounded, and a step without memory is still bounded.
      if (this.#stops.size >= MAX_CACHED) this.#stops = new Map();
      this.#stops.set(key, stop = { states, before, edges: new Map() });
    }
    return stop;
  }

  /** `true`: it matches before `code`; `false`: the line is over. */
  #step({ states, before }: Stop, code: number): Stop | boolean {
    const after = code < 0 ? EDGE : isWord(code) ? WORD : OTHER;
    const border = (before === WORD) !== (after === WORD);
    const seen = new Set<number>();
    const next = new Set<number>();
    const pending = [this.#start, ...states];
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (seen.has(index)) continue;
      seen.add(index);
      const state = this.#states[index]!;
      if (state.kind === "match") return true;
      else if (state.kind === "split") pending.push(state.other, state.next);
      else if (state.kind === "char") {
        if (code >= 0 && state.test(code)) next.add(state.next);
      } else if (
        state.is === "^" ? before === EDGE : state.is === "$" ? after === EDGE : border === (state.is === "b")
      ) {
        pending.push(state.next);
      }
    }
    return code >= 0 && this.#stop([...next].sort((a, b) => a - b), after);
  }
}

function isWord(code: number): boolean {
  return code < 128 ? /\w/.test(String.fromCharCode(code)) : false;
}

/** Recursive descent; the length of the pattern bounds its depth. */
class Parser {
  readonly #source: string;
  readonly #ignoreCase: boolean;
  #at = 0;

  constructor(source: string, ignoreCase: boolean) {
    this.#source = source;
    this.#ignoreCase = ignoreCase;
  }

  parse(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#source.length) throw this.#fault("a closing parenthesis has no opening one");
    return node;
  }

  #fault(why: string): TypeError {
    return new TypeError(`Cannot use the pattern: ${why}, at character ${this.#at + 1}`);
  }

  #take(expression: RegExp): RegExpExecArray | null {
    const sticky = new RegExp(expression, "uy");
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#source);
    if (found) this.#at += found[0].length;
    return found;
  }

  #alternatives(): Node {
    const nodes = [this.#sequence()];
    while (this.#take(/\|/)) nodes.push(this.#sequence());
    return nodes.length === 1 ? nodes[0]! : { kind: "alt", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at]!)) {
      const node = this.#atom();
      const found = this.#take(/(?:([*+?])|\{(\d+)(,(\d*))?\})\??/);
      if (!found) {
        nodes.push(node);
        continue;
      }
      const [, mark, from, comma, to] = found;
      const min = mark ? Number(mark === "+") : Number(from);
      const max = mark === "?" ? 1 : mark ? Infinity : comma === undefined ? min : to ? Number(to) : Infinity;
      if (node.kind === "assert" || max < min || this.#take(/[*+?]/)) throw this.#fault("there is nothing to repeat");
      if (min > MAX_STATES || max !== Infinity && max > MAX_STATES) throw this.#fault("its repetitions are too large");
      nodes.push({ kind: "repeat", node, min, max });
    }
    return { kind: "cat", nodes };
  }

  #atom(): Node {
    if (this.#take(/\(\?<?[=!]/)) throw this.#fault("lookaround is not supported");
    if (this.#take(/\((?:\?(?::|<\w+>))?/)) {
      const node = this.#alternatives();
      if (!this.#take(/\)/)) throw this.#fault("a parenthesis is not closed");
      return node;
    }
    const border = this.#take(/[\^$]|\\[bB]/);
    if (border) return { kind: "assert", is: border[0].at(-1) as "^" };
    if (this.#take(/[*+?]/)) throw this.#fault("there is nothing to repeat");
    if (this.#take(/\./)) return { kind: "char", test: () => true };
    if (this.#take(/\\(?:[1-9]|k)/)) throw this.#fault("backreferences are not supported");
    const found = this.#take(
      /\[\^?(?:[^\]\\]|\\[^])*\]|\\[dDwWsS]|\\[pP]\{[\w=]+\}|\\x[\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\}/,
    );
    if (found) return { kind: "char", test: this.#class(found[0]) };
    if (this.#take(/\[/)) throw this.#fault("a class is not closed");
    const char = this.#take(/\\?([^])/u);
    if (!char || char[0] === "\\") throw this.#fault("it ends with a backslash");
    const literal = char[0] === char[1] ? char[1] : ESCAPED[char[1]!] ?? char[1]!;
    const code = literal.codePointAt(0)!;
    if (!this.#ignoreCase) return { kind: "char", test: (other) => other === code };
    return { kind: "char", test: this.#class(`\\u{${code.toString(16)}}`) };
  }

  /** The runtime judges single characters: that cannot backtrack. */
  #class(source: string): (code: number) => boolean {
    const flags = this.#ignoreCase ? "i" : "";
    for (const mode of ["u", ""]) {
      try {
        const expression = new RegExp(`^${source}$`, mode + flags);
        return (code) => expression.test(String.fromCodePoint(code));
      } catch {
        continue; // an escape that only the older syntax knows, such as [\-"\']
      }
    }
    throw this.#fault("a class is malformed");
  }
}

/**
 * A pattern for file names: `*`, `?`, `**`, `{a,b}`. Without a slash it is held against the last part of a path only.
 *
 * @returns Tells whether a path, with `/` between its parts, fits.
 */
export function globTest(glob: string): (path: string) => boolean {
  const source = glob.replace(
    /\*\*\/|\*\*|\*|\?|\{[\w.,-]*\}|[^\w/ -]/gu,
    (part) =>
      ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" })[part] ??
        (part.length > 2 ? `(?:${part.slice(1, -1).replaceAll(".", "\\.").replaceAll(",", "|")})` : `\\${part}`),
  );
  const pattern = new LinePattern(`^(?:${source})$`);
  return (path) => pattern.test(glob.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1));
}
