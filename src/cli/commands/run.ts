/**
 * `pawl run`: one task, one answer.
 * @module
 */
import type { RunResult } from "../../agent/options.ts";
import { run } from "../../agent/run.ts";
import { type Context, keepOnly, makeReady } from "../context.ts";
import { loopOptions, openEndpoint } from "../endpoint.ts";
import { CliError, usage } from "../exit.ts";
import type { Options } from "../flag_table.ts";
import { assemblePrompt, fileError, firstFence, promptFiles, readStdin, readText, withAttachments } from "../input.ts";
import type { Needs } from "../permissions.ts";
import { makeRenderer, receiverOf } from "../render.ts";
import { readSchema } from "../schema.ts";
import { Tally } from "../tally.ts";
import { openTask, taskNeeds } from "../task.ts";

/** Runs the task and prints the answer. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, signal } = context;
  checkTask(context);
  const task = await taskNeeds(context);
  const ready = await makeReady(context, {
    start: [task.start, startNeeds(context)],
    run: [task.run, runNeeds(options)],
  });
  if (ready === undefined) return 0;

  const prompt = await readPrompt(context);
  const schema = options.schema === undefined ? undefined : await readSchema(options.schema);
  if (options.output !== undefined) await touch(options.output);
  const { provider, host } = await openEndpoint(context, ready);
  const { system, tools, decide, close, session } = await openTask(context, { ready, provider });
  keepOnly(context, ready);

  const tally = new Tally();
  const answer = answerOf(options);
  const stream = (options.stream === true || terminal.outIsTerminal) && answer === undefined;
  const renderer = makeRenderer(context, { host, stream, ...answer && { answer } });
  renderer.start(provider);
  try {
    const result = await run(provider, {
      ...loopOptions(ready.settings.options),
      ...schema,
      ...system !== undefined && { system },
      ...decide && { decide },
      prompt,
      tools,
      signal,
      receiver: receiverOf((event) => {
        tally.see(event);
        renderer.event(event);
      }),
    });
    if (options.output !== undefined) await write(options.output, answerText(result, options));
    renderer.result(result, { model: provider.model });
    return 0;
  } catch (error) {
    return renderer.failure(error, tally.partial);
  } finally {
    close();
  }
}
