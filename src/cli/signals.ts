/**
 * The signals that the program hears, but while a reader may hold it up.
 * @module
 */

const heard = new Map<Deno.Signal, () => void>();

/** Hears a signal, which from then on does nothing by itself. */
export function hear(signal: Deno.Signal, listener: () => void): void {
  heard.set(signal, listener);
  Deno.addSignalListener(signal, listener);
}

/** Hears none any more. */
export function hearNothing(): void {
  for (const [signal, listener] of heard) Deno.removeSignalListener(signal, listener);
  heard.clear();
}

/**
 * Does something that may block for as long as somebody else likes. No listener runs meanwhile, so each signal has its default back: it
 * ends the program at once, with the status that a shell reports for it. One that came before is still heard afterwards.
 */
export function unheard(act: () => void): void {
  for (const [signal, listener] of heard) Deno.removeSignalListener(signal, listener);
  try {
    act();
  } finally {
    for (const [signal, listener] of heard) Deno.addSignalListener(signal, listener);
  }
}
