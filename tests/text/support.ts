/**
 * What the tests of this room share: random numbers and floods.
 * @module
 */
import { assert } from "@std/assert";

/** Gives integers below a bound. */
export type Random = (below: number) => number;

/** Random integers, the same in every run. */
export function seeded(seed: number): Random {
  let state = seed;
  return function (below) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

/** A mebibyte of one piece. */
export function flood(piece: string): string {
  return piece.repeat((1 << 20) / piece.length);
}

/** On a mebibyte anything quadratic takes many seconds, anything linear some hundredths of one. */
export function assertQuick(what: string, run: () => void, limitMs = 2000): void {
  const start = performance.now();
  run();
  const ms = performance.now() - start;
  assert(ms < limitMs, `${ms} ms for ${what}`);
}
