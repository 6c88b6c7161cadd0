/**
 * The four clocks of a reply (design §4).
 * @module
 */
import type { Limits } from "../model/limits.ts";

/** The limit that a clock keeps. */
export type ClockName = "headersTimeoutMs" | "idleTimeoutMs" | "progressTimeoutMs" | "totalTimeoutMs";

/**
 * They run only between `begin` and `end`, so time in which a caller holds an event never counts. One coarse timer watches over all of
 * them, since a timer for each read would cost more than the read. It counts its own ticks: neither a step of the system's clock nor a
 * pause of the whole process is taken for a wait.
 */
export class Clocks {
  readonly #limits: Limits;
  readonly #expired: (clock: ClockName) => void;
  readonly #tickMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isWaiting = false;
  #since = 0;
  /** Ticks within the present wait. */
  #ticks = 0;
  /** All waits so far, and of these what had passed at the last byte and the last content. */
  #spent = 0;
  #atByte = 0;
  #atContent = 0;
  #inBody = false;

  /**
   * No clock runs yet.
   *
   * @param limits The bounds.
   * @param expired Called from the timer, during a wait.
   */
  constructor(limits: Limits, expired: (clock: ClockName) => void) {
    const { headersTimeoutMs, idleTimeoutMs, progressTimeoutMs, totalTimeoutMs } = limits;
    const shortest = Math.min(headersTimeoutMs, idleTimeoutMs, progressTimeoutMs, totalTimeoutMs);
    this.#limits = limits;
    this.#expired = expired;
    this.#tickMs = Math.min(250, Math.ceil(shortest / 4));
  }

  /** A wait begins. */
  begin(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs);
    this.#isWaiting = true;
    this.#ticks = 0;
    this.#since = Date.now();
  }

  /**
   * The wait ends with bytes or a head.
   *
   * @returns The clock that has run out: an endpoint that sends without a pause leaves the timer no turn.
   */
  end(): ClockName | undefined {
    if (this.#isWaiting) {
      this.#isWaiting = false;
      const ticked = this.#ticks * this.#tickMs;
      this.#spent += Math.min(Math.max(0, Date.now() - this.#since, ticked - this.#tickMs), ticked + this.#tickMs);
      this.#atByte = this.#spent;
    }
    return this.#overrun(this.#spent);
  }

  /** The head has arrived. */
  head(): void {
    this.#inBody = true;
    this.content();
  }

  /** Content has arrived. */
  content(): void {
    this.#atContent = this.#spent;
  }

  /** Ends the timer. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (!this.#isWaiting) return;
    // The wait may have begun just before its first tick.
    const clock = this.#overrun(this.#spent + this.#ticks++ * this.#tickMs);
    if (clock) this.#expired(clock);
  }

  #overrun(at: number): ClockName | undefined {
    const limits = this.#limits;
    if (!this.#inBody) {
      if (at >= limits.headersTimeoutMs) return "headersTimeoutMs";
    } else {
      if (at - this.#atByte >= limits.idleTimeoutMs) return "idleTimeoutMs";
      if (at - this.#atContent >= limits.progressTimeoutMs) return "progressTimeoutMs";
    }
    return at >= limits.totalTimeoutMs ? "totalTimeoutMs" : undefined;
  }
}
