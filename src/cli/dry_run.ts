/**
 * `--dry-run`: shows the request that would be sent, and sends nothing.
 * @module
 */
import { createRedactor } from "../text/redact.ts";
import type { Context } from "./context.ts";
import { Finished } from "./exit.ts";

/**
 * A `fetch` that prints what it is given and ends the program. So what is shown is what would have been sent, whatever made it.
 *
 * @param secrets Taken out of what is shown.
 */
export function dryFetch({ terminal, signal, stop }: Context, secrets: readonly string[]): typeof fetch {
  const redact = createRedactor(secrets);
  return (input, init) => {
    const headers = Object.fromEntries(
      Array.from(new Headers(init?.headers), ([name, value]) => [name, redact(value)]),
    );
    const body: unknown = JSON.parse(redact(String(init?.body ?? "null")));
    terminal.json(JSON.stringify({ method: init?.method ?? "GET", url: String(input), headers, body }, null, 2));
    // What cannot be written stops first, with a reason of its own.
    terminal.flush();
    stop(new Finished());
    return Promise.reject(signal.reason);
  };
}
