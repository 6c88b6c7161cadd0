/**
 * Reading a tool's input. The agent has already checked required names and types; ranges are checked here.
 * @module
 */

/** An optional whole number, cut to its range. */
export function intOf(value: unknown, fallback: number, min: number, max: number): number {
  return typeof value === "number" && Number.isFinite(value)
    ? Math.min(Math.max(Math.trunc(value), min), max)
    : fallback;
}

/** A text that must be there. */
export function textOf(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new Error(`Cannot use the input: ${name} must be a string`);
}
