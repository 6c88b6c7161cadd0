/**
 * The line of `chat` on a terminal: history, completion, several lines in one message.
 * @module
 */
import { EventEmitter } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";

/** Lines of one paste come within a moment; nobody types that fast. */
const TOGETHER_MS = 30;

/** So much in one read was pasted. */
const PASTE_CHARACTERS = 16;
/** A key, or what begins its sequence; a tab between other characters is text. */
const KEY = /[^\t\r\n\P{Cc}]/u;

/** What came of reading a message: its text, Ctrl-C, or the end of input. */
export type Entry = { text: string } | "interrupt" | "end";

/**
 * Standard input, with what was pasted put aside: `node:readline` takes a paste key by key, and looks at the whole line for each, so that
 * a line of 4,000 characters takes Deno 13 seconds.
 */
class Keyboard extends EventEmitter {
  readonly #decoder = new TextDecoder();

  /** @param onPaste Gets each pasted text; all else is emitted. */
  constructor(onPaste: (text: string) => void) {
    super();
    const onData = (bytes: Uint8Array): void => {
      const text = this.#decoder.decode(bytes, { stream: true });
      if (text.length >= PASTE_CHARACTERS && !KEY.test(text)) onPaste(text);
      else this.emit("data", text);
    };
    const onEnd = (): void => void this.emit("end");
    process.stdin.on("data", onData).on("end", onEnd);
    this.close = () => void process.stdin.off("data", onData).off("end", onEnd);
  }

  /** Lets go of standard input. */
  readonly close: () => void;

  setRawMode(isRaw: boolean): void {
    process.stdin.setRawMode(isRaw);
  }

  resume(): void {
    process.stdin.resume();
  }

  pause(): void {
    process.stdin.pause();
  }
}

/** Reads messages. The terminal is in raw mode only while one is read, so that Ctrl-C is a signal at all other times. */
export class LineEditor {
  readonly #complete: (line: string) => string[];
  readonly #history: string[] = [];

  /** @param complete Completions of a line. */
  constructor(complete: (line: string) => string[]) {
    this.#complete = complete;
  }

  /**
   * Reads one message. Lines that arrive together are one, and a line that ends in a backslash goes on.
   *
   * @param prompt Shown before the line.
   * @param signal Ends the reading, as if input had ended.
   */
  read(prompt: string, signal: AbortSignal): Promise<Entry> {
    const keyboard = new Keyboard((text) => line.write(text));
    const line = createInterface({
      input: keyboard as unknown as NodeJS.ReadableStream,
      output: process.stderr,
      terminal: true,
      prompt,
      history: [...this.#history],
      removeHistoryDuplicates: true,
      completer: (text: string): [string[], string] => [this.#complete(text), text],
    });
    const lines: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    return new Promise((resolve) => {
      function finish(entry: Entry): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        resolve(entry);
        line.close();
        keyboard.close();
      }
      function onAbort(): void {
        finish("end");
      }
      const onPause = (): void => {
        // The last line of a paste without a line end is still being edited.
        if (line.line !== "") return;
        const last = lines.at(-1)!;
        if (last.endsWith("\\")) {
          lines[lines.length - 1] = last.slice(0, -1);
          line.setPrompt("… ");
          return line.prompt();
        }
        this.#history.unshift(...lines.filter((text) => text.trim() !== "").reverse());
        finish({ text: lines.join("\n") });
      };
      line.on("line", (text: string) => {
        lines.push(text);
        clearTimeout(timer);
        timer = setTimeout(onPause, TOGETHER_MS);
      });
      // What has been typed is given up; it stays on the screen, as in a shell.
      line.on("SIGINT", () => finish("interrupt"));
      line.on("close", () => finish("end"));
      signal.addEventListener("abort", onAbort);
      line.prompt();
    });
  }
}
