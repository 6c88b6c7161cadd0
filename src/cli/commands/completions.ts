/**
 * `pawl completions SHELL`.
 * @module
 */
import { quote } from "../../model/error.ts";
import { completions, SHELLS } from "../completions.ts";
import { type Context, tellPermissions } from "../context.ts";
import { usage } from "../exit.ts";
import { didYouMean } from "../flags.ts";

/** Prints the completions of a shell. */
export default function (context: Context): Promise<number> {
  const [shell, ...rest] = context.words;
  const known = SHELLS.find((name) => name === shell);
  if (rest.length > 0) {
    throw usage(`Cannot print completions of ${context.words.length} shells at once: name one of ${SHELLS.join(", ")}`);
  }
  if (known === undefined) {
    const given = shell === undefined ? "" : `: current value is ${quote(shell)}${didYouMean(shell, SHELLS)}`;
    throw usage(`Cannot print completions as the shell must be one of ${SHELLS.join(", ")}${given}`);
  }
  if (context.options["explain-permissions"]) tellPermissions(context, {});
  else context.terminal.out(completions(known));
  return Promise.resolve(0);
}
