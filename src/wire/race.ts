/**
 * Waiting that an abort ends.
 * @module
 */

/** Something that ends early: with what it is part of, when its time is over, or by itself. */
export interface Span {
  /** Aborted at the first of these. */
  signal: AbortSignal;
  /** Ends it with a reason, unless it has ended before. Returns the reason of its end. */
  end(reason: unknown): unknown;
  /** To be called when it is over: lets go of timer and listener. */
  close(): void;
}

/**
 * Begins a span.
 *
 * @param outer Signal of what it is part of.
 * @param ms Its time; more than a timer can hold is no bound for the timer.
 * @param late Makes the reason for when its time is over.
 */
export function createSpan(outer: AbortSignal | undefined, ms: number = Infinity, late?: () => unknown): Span {
  const controller = new AbortController();
  const { signal } = controller;
  function end(reason: unknown): unknown {
    controller.abort(reason);
    return signal.reason;
  }
  function follow(): void {
    end(outer!.reason);
  }
  const timer = ms < 2 ** 31 ? setTimeout(() => end(late!()), ms) : undefined;
  if (outer?.aborted) follow();
  else outer?.addEventListener("abort", follow);
  return {
    signal,
    end,
    close() {
      // Deno loads its timers even to clear none, which takes it 6 ms.
      if (timer) clearTimeout(timer);
      outer?.removeEventListener("abort", follow);
    },
  };
}

/**
 * Waits, but not beyond an abort: what never settles is abandoned, and what rejects later is not unhandled.
 *
 * @throws `signal.reason`, once `signal` is aborted.
 */
export async function race<T>(work: T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
