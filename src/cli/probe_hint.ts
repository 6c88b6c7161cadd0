/**
 * What to do about a check of `probe` that fails. The library names the switches; this adds what it means for somebody who reads a line.
 * @module
 */
import type { ProbeCheck } from "../agent/probe.ts";
import { inFlags } from "./exit.ts";

/** By the beginning of the detail that they explain: an error of the endpoint explains itself. */
const MEANINGS: ReadonlyArray<[check: ProbeCheck["name"], detail: RegExp, meaning: string]> = [
  ["streaming", /^pieces: /, "the server or a proxy holds replies back"],
  ["tool_call", /^not called: /, "the model or its template knows no tools"],
  ["parallel_calls", /^\d+ of 2 calls$/, "calls one at a time work"],
  ["system_role", /^not obeyed$/, "put instructions into the prompt"],
  ["context", /^about \d+ tokens, /, "raise the context size of the server"],
];

/**
 * The hint of a check, with the names of flags.
 *
 * @param check As the library told it.
 * @returns `undefined` where the check passes, or nothing is known to help.
 */
export function hintOf({ name, status, detail, hint }: ProbeCheck): string | undefined {
  if (hint !== undefined) return inFlags(hint);
  if (status !== "fail") return undefined;
  return MEANINGS.find(([check, pattern]) => check === name && pattern.test(detail))?.[2];
}
