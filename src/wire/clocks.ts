/**
 * The four clocks of a reply.
 * @module
 */
import type { Limits } from "../model/limits.ts";

/** The limit that a clock keeps. */
export type ClockName = "headersTimeoutMs" | "idleTimeoutMs" | "progressTimeoutMs" | "totalTimeoutMs";

/** What a reply tells its clocks. */
export interface Clocks {
  /** A wait begins. */
  begin(): void;
  /** The wait is over: a byte, a head or a repetition. Looks at the clocks too: an endpoint without a pause leaves the timer no turn. */
  end(): void;
  /** The head has arrived. */
  head(): void;
  /** Content has arrived. */
  content(): void;
  /** Nothing is waited for any more. */
  stop(): void;
}

/** Each look at the clocks is one turn of the event loop. */
const TICK_MS = 100;

/**
 * More than that between two looks is no waiting: the process was stopped, or the system's clock was set. Less may be an endpoint
 * that keeps the runtime so busy that the timer gets its turn once in a second or two (endless 1xx replies do).
 */
const LONGEST_MS = 5_000;

/**
 * Makes the clocks. They run only between `begin` and `end`, so time in which a caller holds an event never counts. One coarse timer
 * watches over all of them, since a timer for each read would cost more than the read, and `Date` is asked because the monotonic clock
 * costs twice as much.
 *
 * @param limits The bounds.
 * @param expired Told which has run out, within a wait or at its end.
 * @param isReal There is a connection, which keeps the process alive. The first timer is that of a signal then, which does not: Deno takes
 * as long to load its own as to send a request, and most heads come sooner.
 */
export function createClocks(limits: Limits, expired: (clock: ClockName) => void, isReal = false): Clocks {
  /** Of all waits so far. */
  let waited = 0;
  /** What had been waited when a clock started anew; those that are not here do not run. */
  let started: Partial<Record<ClockName, number>> = { headersTimeoutMs: 0, totalTimeoutMs: 0 };
  let first: AbortSignal | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isWaiting = false;
  let last = 0;

  function look(heard?: boolean): void {
    const passed = Date.now() - last;
    last += passed;
    if (isWaiting && passed > 0) waited += Math.min(passed, LONGEST_MS);
    // However late it comes, what has come ends the silence.
    if (heard && "idleTimeoutMs" in started) started.idleTimeoutMs = waited;
    if (!isWaiting || passed <= 0) return;
    for (const key in started) {
      const clock = key as ClockName;
      if (waited - started[clock]! >= limits[clock]) expired(clock);
    }
  }

  function watch(): void {
    timer = setInterval(look, TICK_MS);
  }

  return {
    begin() {
      if (last === 0) {
        if (isReal) (first = AbortSignal.timeout(TICK_MS)).addEventListener("abort", watch);
        else watch();
      }
      look();
      isWaiting = true;
    },
    end() {
      look(true);
      isWaiting = false;
    },
    head() {
      started = { idleTimeoutMs: waited, progressTimeoutMs: waited, totalTimeoutMs: 0 };
    },
    content() {
      started.progressTimeoutMs = waited;
    },
    stop() {
      first?.removeEventListener("abort", watch);
      if (timer) clearInterval(timer);
    },
  };
}
