/**
 * Waiting that an abort ends.
 * @module
 */

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
