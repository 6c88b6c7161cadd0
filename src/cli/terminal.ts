/**
 * Everything that is written: one writer owns standard output, one function standard error.
 * @module
 */
import { hidden, visible } from "../text/visible.ts";
import { CliError, ClosedPipe } from "./exit.ts";
import { ioReason } from "./io_reason.ts";
import { unheard } from "./signals.ts";

/** What {@linkcode writeAll} needs of a file. */
export interface SyncSink {
  writeSync(bytes: Uint8Array): number;
}

/** What {@linkcode Writer} needs of a file. */
export interface OutputSink extends SyncSink {
  isTerminal(): boolean;
}

const FLUSH_CHARS = 16 * 1024;
/** What a pipe takes even if nobody reads. */
const PIPE_BYTES = 4096;
const RETRY_MS = 5;
const ENCODER = new TextEncoder();

/** Sleeps without giving up the turn: order of output matters more than a free event loop while a reader is full. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
}

/**
 * Writes all bytes: a file may take only some of them, and one that never blocks (a terminal shared with such a program) refuses while
 * it is full.
 */
export function writeAll(file: SyncSink, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += file.writeSync(bytes.subarray(at));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      pause();
    }
  }
}

/**
 * The one owner of an output. Text is joined until the running task is done, which is a network chunk, and written synchronously: a
 * reader that stops reading stops the producer. No listener would hear a signal then, so where that may happen, signals end the program
 * by themselves; a terminal reads on when Ctrl-C comes.
 */
export class Writer {
  readonly #file: OutputSink;
  readonly #isTerminal: boolean;
  readonly #onFailure: (reason: CliError) => void;
  #text = "";
  #size = 0;
  #isDue = false;
  #failed = false;

  /**
   * @param file Standard output or standard error.
   * @param onFailure Told once, with {@linkcode ClosedPipe} or an error; from then on text is dropped.
   */
  constructor(file: OutputSink, onFailure: (reason: CliError) => void) {
    this.#file = file;
    this.#isTerminal = file.isTerminal();
    this.#onFailure = onFailure;
  }

  /** Takes text, well-formed. */
  write(text: string): void {
    if (this.#failed || text === "") return;
    this.#text += text;
    if (this.#text.length >= FLUSH_CHARS) return this.flush();
    if (this.#isDue) return;
    this.#isDue = true;
    // All events of a network chunk are handed out in one go. A timer would do, but the first one costs a start 6 ms.
    queueMicrotask(() => {
      this.#isDue = false;
      this.flush();
    });
  }

  /** Writes what has been taken so far. */
  flush(): void {
    const text = this.#text;
    this.#text = "";
    if (this.#failed || text === "") return;
    try {
      const bytes = ENCODER.encode(text);
      this.#size += bytes.length;
      if (this.#isTerminal || this.#size <= PIPE_BYTES) writeAll(this.#file, bytes);
      else unheard(() => writeAll(this.#file, bytes));
    } catch (error) {
      this.#failed = true;
      const closed = error instanceof Deno.errors.BrokenPipe;
      const why = ioReason(error);
      this.#onFailure(closed ? new ClosedPipe() : new CliError("output", `Cannot write to standard output: ${why}`));
    }
  }
}

/** Styles, as SGR parameters. */
const STYLES = { dim: "2", red: "31", green: "32", yellow: "33" };

/** Name of a style. */
export type Style = keyof typeof STYLES;

/** How a {@linkcode Terminal} shows things. */
export interface TerminalOptions {
  color: "auto" | "always" | "never";
  /** Only errors on standard error. */
  quiet: boolean;
  /** Told when standard output cannot be written any more. */
  onFailure: (reason: CliError) => void;
  /** Standard output, standard error and whether they are terminals, for tests. */
  stdout?: OutputSink;
  stderr?: OutputSink;
}

/**
 * Both outputs. On a terminal, and on standard error always, control characters that a model or an endpoint wrote are shown, not obeyed;
 * piped standard output is exact.
 */
export class Terminal {
  /** Standard output is a terminal. */
  readonly outIsTerminal: boolean;
  /** Standard error is a terminal. */
  readonly errIsTerminal: boolean;
  readonly quiet: boolean;
  readonly #color: boolean;
  readonly #writer: Writer;
  readonly #errors: Writer;
  #outOpen = false;
  #errOpen = false;
  #heldReturn = "";
  #status = "";

  constructor(options: TerminalOptions) {
    const { stdout = Deno.stdout, stderr = Deno.stderr } = options;
    this.outIsTerminal = stdout.isTerminal();
    this.errIsTerminal = stderr.isTerminal();
    this.quiet = options.quiet;
    this.#color = options.color === "always" || options.color === "auto" && this.errIsTerminal && !Deno.noColor;
    this.#writer = new Writer(stdout, options.onFailure);
    // Standard error is closed or full: there is no place left to say so, and the answer is not lost by it.
    this.#errors = new Writer(stderr, () => {});
  }

  /** Text in a style, if colours are on. */
  paint(style: Style, text: string): string {
    return this.#color && text !== "" ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text;
  }

  /** Writes text of our own, styled: nothing of a model or an endpoint. */
  raw(text: string): void {
    this.#beginOut();
    this.#writer.write(text);
    this.#outOpen = !text.endsWith("\n");
  }

  /** Writes a piece of the answer. A line end in two characters may be cut between two pieces. */
  out(piece: string): void {
    if (piece === "") return;
    if (this.outIsTerminal && this.#errOpen) this.#err("\n");
    this.#beginOut();
    if (this.outIsTerminal) {
      const text = this.#heldReturn + piece;
      this.#heldReturn = text.endsWith("\r") ? "\r" : "";
      piece = visible(text.slice(0, text.length - this.#heldReturn.length).replaceAll("\r\n", "\n"));
    }
    this.#writer.write(piece);
    if (piece !== "") this.#outOpen = !piece.endsWith("\n");
  }

  /** Ends the line of the answer, if it is not ended. */
  endOut(): void {
    if (this.#heldReturn !== "") {
      this.#heldReturn = "";
      this.#writer.write(visible("\r"));
    }
    if (this.#outOpen) this.#writer.write("\n");
    this.#outOpen = false;
    this.#writer.flush();
  }

  /**
   * Writes machine-readable text exactly; on a terminal what could steer it, and JSON leaves as it is, is written as JSON escapes.
   *
   * @param json One JSON text.
   */
  json(json: string): void {
    this.#beginOut();
    this.#writer.write((this.outIsTerminal ? json.replace(hidden(), escapeUnits) : json) + "\n");
  }

  /**
   * Writes whole lines to standard error, starting on a line of their own.
   *
   * @param text Shown with its control characters visible.
   * @param style How it looks.
   */
  line(text: string, style?: Style): void {
    this.#begin();
    const shown = visible(text);
    this.#err((style === undefined ? shown : this.paint(style, shown)) + "\n");
    this.#errors.flush();
  }

  /** Writes a line that a person wants to know and a script does not: nothing with `--quiet`. */
  note(text: string): void {
    if (!this.quiet) this.line(text, "yellow");
  }

  /** Writes a piece to standard error that goes on later, dimmed. */
  aside(piece: string): void {
    if (piece === "") return;
    if (!this.#errOpen) this.#begin();
    this.clearStatus();
    const shown = visible(piece);
    this.#err(this.paint("dim", shown));
    this.#errOpen = !shown.endsWith("\n");
  }

  /** Ends what {@linkcode Terminal.aside} began. */
  endAside(): void {
    if (this.#errOpen) this.#err("\n");
  }

  /**
   * Shows a line that the next output wipes out; only on a terminal.
   *
   * @param text One clean line, not wider than the terminal.
   */
  status(text: string): void {
    if (!this.errIsTerminal || this.quiet || this.#outOpen || this.#errOpen) return;
    this.#writer.flush();
    this.#status = text;
    this.#errors.write(`\r\x1b[2K${this.paint("dim", this.#status)}`);
    this.#errors.flush();
  }

  /** Takes the line of {@linkcode Terminal.status} away. */
  clearStatus(): void {
    if (this.#status === "") return;
    this.#status = "";
    this.#errors.write("\r\x1b[2K");
    this.#errors.flush();
  }

  /** Writes out what is held. */
  flush(): void {
    this.#writer.flush();
    this.#errors.flush();
  }

  /** The two outputs may be one file: what was told on the other comes first. */
  #beginOut(): void {
    this.clearStatus();
    this.#errors.flush();
  }

  #begin(): void {
    this.clearStatus();
    this.#writer.flush();
    if (this.#outOpen && this.outIsTerminal && this.errIsTerminal) {
      this.#err("\n");
      this.#outOpen = false;
    }
    if (this.#errOpen) this.#err("\n");
  }

  #err(text: string): void {
    this.#errors.write(text);
    this.#errOpen = !text.endsWith("\n");
  }
}

function escapeUnits(units: string): string {
  return Array.from({ length: units.length }, (_, i) => `\\u${units.charCodeAt(i).toString(16).padStart(4, "0")}`).join(
    "",
  );
}

/** Width of the terminal, or `fallback` where there is none. */
export function columns(fallback: number): number {
  try {
    return Deno.consoleSize().columns || fallback;
  } catch {
    // Neither stream is a terminal with a size.
    return fallback;
  }
}
