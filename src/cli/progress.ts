/**
 * The line that says what is waited for, while nothing arrives.
 * @module
 */
import { visible } from "../text/visible.ts";
import { columns, type Terminal } from "./terminal.ts";

const PATIENCE_MS = 3000;
const TICK_MS = 100;
const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** Shows what is waited for and for how long; on a terminal only, and gone with whatever comes. */
export class Progress {
  readonly #terminal: Terminal;
  #timer: ReturnType<typeof setInterval> | undefined;
  #what = "";
  #since = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Whether anything can be shown at all; where not, nothing needs to be watched. */
  get isOn(): boolean {
    return this.#terminal.errIsTerminal && !this.#terminal.quiet;
  }

  /**
   * Begins to wait.
   *
   * @param what Shown with the seconds.
   * @param options `atOnce`: shown without patience, as for a running tool.
   */
  begin(what: string, options: { atOnce?: boolean } = {}): void {
    if (!this.isOn) return;
    this.#what = what;
    this.#since = performance.now() - (options.atOnce ? PATIENCE_MS : 0);
    const start = performance.now();
    clearInterval(this.#timer);
    const timer = this.#timer = setInterval(async () => {
      const now = performance.now();
      if (now - this.#since < PATIENCE_MS) return;
      const { unicodeWidth } = await import("@std/cli/unicode-width");
      if (timer !== this.#timer) return;
      const frame = FRAMES[Math.floor(now / TICK_MS) % FRAMES.length];
      const line = visible(`${frame} ${this.#what} (${Math.floor((now - start) / 1000)} s)`, { oneLine: true });
      // A line that wraps could not be wiped out.
      this.#terminal.status(cut(line, columns(80) - 1, unicodeWidth));
    }, TICK_MS);
  }

  /** Says that something else is waited for now; the time goes on. */
  change(what: string): void {
    this.#what = what;
  }

  /** Something has arrived. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.clearStatus();
  }

  /**
   * Watches a `fetch`: until it resolves the endpoint is waited for, then the first token.
   *
   * @param host Named in the line.
   */
  watch(inner: typeof fetch, host: string): typeof fetch {
    return async (input, init) => {
      this.begin(`connecting to ${host}; a local model may be loading`);
      const response = await inner(input, init);
      this.change(`waiting for the first token of ${host}`);
      return response;
    };
  }
}

function cut(line: string, width: number, widthOf: (text: string) => number): string {
  if (widthOf(line) <= width) return line;
  const characters = [...line];
  while (widthOf(characters.join("")) > width) characters.pop();
  return characters.join("");
}
