/**
 * `pawl models`.
 * @module
 */
import { quote } from "../../model/error.ts";
import { type Context, keepOnly, makeReady, startDeadline } from "../context.ts";
import { openLister } from "../endpoint.ts";
import { usage } from "../exit.ts";

/** Prints the models of an endpoint, one a line. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, signal, words } = context;
  if (words.length > 0) throw usage(`Cannot use ${quote(words[0]!)}: models takes flags only`);
  const ready = await makeReady(context);
  if (ready === undefined) return 0;
  startDeadline(context);
  const lister = await openLister(context, ready);
  keepOnly(context, ready);
  const models = await lister.listModels({ signal });
  if (options.json) terminal.json(JSON.stringify({ type: "models", models }));
  else for (const model of models) terminal.out(`${model}\n`);
  return 0;
}
