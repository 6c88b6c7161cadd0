/** Stand-in for `@std/assert`: the same names, signatures and verdicts for the assertions that the tests use. */
import { AssertionError as NodeAssertionError } from "node:assert";
import { inspect } from "node:util";

// deno-lint-ignore no-explicit-any -- a constructor's parameters are contravariant: only `any` accepts every error class
type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;
// deno-lint-ignore no-explicit-any -- as above
type AnyClass = abstract new (...args: any[]) => any;

/** Thrown by every assertion here. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

function suffix(msg: string | undefined): string {
  return msg ? `: ${msg}` : ".";
}

/** Throws when the expression is falsy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Throws when the expression is truthy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is false | 0 | "" | null | undefined {
  if (expr) throw new AssertionError(msg);
}

/** Throws always. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${suffix(msg)}`);
}

/** Throws always: for code that no test should reach. */
export function unreachable(msg?: string): never {
  throw new AssertionError(`Unreachable${suffix(msg)}`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function sameKind(a: object, b: object): boolean {
  const [p, q] = [a, b].map((value) => Object.getPrototypeOf(value) ?? Object.prototype);
  return p === q;
}

function sameElements(a: object, b: object, seen: Map<object, object>): boolean | undefined {
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (a instanceof RegExp || a instanceof URL || a instanceof URLSearchParams) return String(a) === String(b);
  if (a instanceof ArrayBuffer && b instanceof ArrayBuffer) {
    return sameElements(new Uint8Array(a), new Uint8Array(b), seen);
  }
  if (ArrayBuffer.isView(a) && !(a instanceof DataView)) {
    const [x, y] = [a as Uint8Array, b as Uint8Array];
    return x.length === y.length && x.every((value, i) => value === y[i] || Object.is(value, y[i]));
  }
  if (a instanceof Set && b instanceof Set) {
    return a.size === b.size && [...a].every((value) => b.has(value) || [...b].some((w) => compare(value, w, seen)));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size &&
      [...a].every(([key, value]) =>
        b.has(key)
          ? compare(value, b.get(key), seen)
          : isObject(key) && [...b].some(([k, v]) => compare(key, k, seen) && compare(value, v, seen))
      );
  }
  return undefined;
}

/** Own keys. Of the hidden ones only names: an error's message is hidden, but a symbol may be a mere hook. */
function comparedKeys(value: object): PropertyKey[] {
  return Reflect.ownKeys(value).filter((key) =>
    typeof key === "string" || Object.prototype.propertyIsEnumerable.call(value, key)
  );
}

function compare(a: unknown, b: unknown, seen: Map<object, object>): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || !sameKind(a, b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  const verdict = sameElements(a, b, seen);
  if (verdict !== undefined) return verdict;
  const [keys, others] = [comparedKeys(a), comparedKeys(b)];
  return keys.length === others.length &&
    keys.every((key) => Object.hasOwn(b, key) && compare(Reflect.get(a, key), Reflect.get(b, key), seen));
}

/** Deep equality by value: 0 equals -0, NaN equals NaN, an absent key differs from an undefined one. */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, new Map());
}

/** Throws, with a difference, unless both are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  const { message } = new NodeAssertionError({ actual, expected, operator: "deepStrictEqual" });
  throw new AssertionError(`Values are not equal${suffix(msg)}\n${message}`);
}

/** Throws when both are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(`Expected actual: ${inspect(actual)} not to be: ${inspect(expected)}${suffix(msg)}`);
}

/** Throws unless both are the same by `Object.is`. */
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T {
  if (Object.is(actual, expected)) return;
  throw new AssertionError(
    `Values are not strictly equal${suffix(msg)}\nactual: ${inspect(actual)}\nexpected: ${inspect(expected)}`,
  );
}

/** Throws when both are the same by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (Object.is(actual, expected)) {
    throw new AssertionError(`Expected "actual" to not be strictly equal to: ${inspect(actual)}${suffix(msg)}`);
  }
}

/** Throws for null and undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual !== undefined && actual !== null) return;
  throw new AssertionError(`Expected actual: "${actual}" to not be null or undefined${suffix(msg)}`);
}

/** Throws unless the pattern matches. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) return;
  throw new AssertionError(`Expected actual: "${actual}" to match: "${expected}"${suffix(msg)}`);
}

/** Throws when the pattern matches. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) return;
  throw new AssertionError(`Expected actual: "${actual}" to not match: "${expected}"${suffix(msg)}`);
}

/** Throws unless the text contains the other. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(`Expected actual: "${actual}" to contain: "${expected}"${suffix(msg)}`);
}

/** Throws unless every expected element, by deep equality, is in the actual list. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T> & object,
  expected: ArrayLike<T> & object,
  msg?: string,
): void {
  const have = Array.from(actual);
  const missing = Array.from(expected).filter((item) => !have.some((other) => equal(item, other)));
  if (missing.length === 0) return;
  throw new AssertionError(
    `Expected actual: "${inspect(actual)}" to include: "${inspect(expected)}"${suffix(msg)}\nmissing: ${
      inspect(missing)
    }`,
  );
}

/** Throws unless the value is an instance of the class. */
export function assertInstanceOf<T extends AnyClass>(
  actual: unknown,
  expectedType: T,
  msg = "",
): asserts actual is InstanceType<T> {
  if (actual instanceof expectedType) return;
  throw new AssertionError(`Expected object to be an instance of "${expectedType.name}"${suffix(msg)}`);
}

function selected(actual: unknown, pattern: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(pattern)) {
    return pattern.slice(0, actual.length).map((item, i) => selected(actual[i], item));
  }
  if (!isObject(actual) || !isObject(pattern) || !sameKind(pattern, {})) return actual;
  const keys = Reflect.ownKeys(pattern).filter((key) => Object.hasOwn(actual, key));
  return Object.fromEntries(keys.map((key) => [key, selected(Reflect.get(actual, key), Reflect.get(pattern, key))]));
}

/** Throws unless everything that `expected` names is in `actual` with an equal value; what else is there is ignored. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any -- the real signature, so that interfaces without an index signature are accepted
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  assertEquals(selected(actual, expected), selected(expected, expected), msg);
}

function compared(holds: boolean, sign: string, pair: [unknown, unknown], msg: string | undefined): void {
  if (!holds) throw new AssertionError(msg ?? `Expect ${inspect(pair[0])} ${sign} ${inspect(pair[1])}`);
}

/** Throws unless actual > expected. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  compared(actual > expected, ">", [actual, expected], msg);
}

/** Throws unless actual >= expected. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  compared(actual >= expected, ">=", [actual, expected], msg);
}

/** Throws unless actual < expected. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  compared(actual < expected, "<", [actual, expected], msg);
}

/** Throws unless actual <= expected. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  compared(actual <= expected, "<=", [actual, expected], msg);
}

/** Throws unless the two numbers differ by at most the tolerance, by default a ten-millionth of the expected one. */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void {
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  if (Object.is(actual, expected) || Math.abs(expected - actual) <= allowed) return;
  throw new AssertionError(`Expected actual: "${actual}" to be close to "${expected}"${suffix(msg)}`);
}

/** Throws unless the value is an error of the class whose message includes the text. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: ErrorClass<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) throw new AssertionError(`Expected "error" to be an Error object${suffix(msg)}`);
  if (errorClass && !(error instanceof errorClass)) {
    throw new AssertionError(
      `Expected error to be instance of "${errorClass.name}", but was "${error.constructor.name}"${suffix(msg)}`,
    );
  }
  if (!msgMatches) return;
  const found = typeof msgMatches === "string" ? error.message.includes(msgMatches) : msgMatches.test(error.message);
  if (!found) {
    throw new AssertionError(
      `Expected error message to include ${inspect(msgMatches)}, but got ${inspect(error.message)}${suffix(msg)}`,
    );
  }
}

/** Throws unless the function throws; with a class, unless the error is of it and its message includes the text. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  what?: ErrorClass<Error> | string,
  has?: string,
  msg?: string,
): unknown {
  const label = typeof what === "string" ? what : msg;
  try {
    fn();
  } catch (error) {
    if (typeof what === "function") assertIsError(error, what, has, msg);
    return error;
  }
  throw new AssertionError(`Expected function to throw${suffix(label)}`);
}

/** Rejects unless the function's promise rejects; a function that throws at once, or returns no promise, fails too. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  what?: ErrorClass<Error> | string,
  has?: string,
  msg?: string,
): Promise<unknown> {
  const label = suffix(typeof what === "string" ? what : msg);
  let pending: PromiseLike<unknown>;
  try {
    pending = fn();
    if (typeof pending?.then !== "function") throw new TypeError("Expected a promise");
  } catch {
    throw new AssertionError(`Function throws when expected to reject${label}`);
  }
  try {
    await pending;
  } catch (error) {
    if (typeof what === "function") assertIsError(error, what, has, msg);
    return error;
  }
  throw new AssertionError(`Expected function to reject${label}`);
}
