/**
 * Questions on a terminal: allow a call, choose a model, tell a key. Loaded when the first one is asked.
 * @module
 */
import process from "node:process";
import { Confirm, Secret, Select } from "@cliffy/prompt";
import { visible } from "../text/visible.ts";

/** Names shown at once in a list. */
const MAX_ROWS = 12;

/**
 * Reads keys from the stream that the line editor reads too: two readers of one terminal would steal each other's keys, and a read of
 * the terminal itself cannot be taken back when a question is dropped.
 */
class Keys {
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  read(buffer: Uint8Array): Promise<number | null> {
    const { stdin } = process;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      function settle(act: () => void): void {
        stdin.off("data", onData);
        stdin.off("end", onEnd);
        signal.removeEventListener("abort", onAbort);
        stdin.pause();
        act();
      }
      function onData(chunk: Uint8Array): void {
        const taken = chunk.subarray(0, buffer.length);
        buffer.set(taken);
        settle(() => resolve(taken.length));
        if (taken.length < chunk.length) stdin.unshift(chunk.subarray(taken.length));
      }
      function onEnd(): void {
        settle(() => resolve(null));
      }
      function onAbort(): void {
        settle(() => reject(signal.reason));
      }
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort);
      stdin.on("data", onData);
      stdin.on("end", onEnd);
      stdin.resume();
    });
  }

  setRaw(mode: boolean, options?: Deno.SetRawOptions): void {
    Deno.stdin.setRaw(mode, options);
  }

  isTerminal(): boolean {
    return true;
  }
}

/** Ctrl-C stays a signal, and what is asked goes to standard error. */
function settings(message: string, signal: AbortSignal) {
  return { message: visible(message), cbreak: true, reader: new Keys(signal), writer: Deno.stderr };
}

async function asked<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    // The question's line is not ended; what is said next would go on in it.
    Deno.stderr.writeSync(new Uint8Array([10]));
    throw error;
  } finally {
    Deno.stdin.setRaw(false);
  }
}

/** Asks for yes or no; no is what Enter alone means. */
export function confirm(message: string, signal: AbortSignal): Promise<boolean> {
  return asked(Confirm.prompt({ ...settings(message, signal), default: false }));
}

/** Asks to choose one of several names. */
export function choose(message: string, names: readonly string[], signal: AbortSignal): Promise<string> {
  const options = names.map((value) => ({ name: visible(value), value }));
  return asked(Select.prompt<string>({ ...settings(message, signal), options, maxRows: MAX_ROWS }));
}

/** Asks for a secret; nothing of it is shown. */
export function askSecret(message: string, signal: AbortSignal): Promise<string> {
  return asked(Secret.prompt({ ...settings(message, signal), hidden: true }));
}
