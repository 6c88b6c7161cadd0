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
import { assemblePrompt, firstFence, promptFiles, readStdin, readText, withAttachments } from "../input.ts";
import { touch, writeText } from "../output.ts";
import type { Needs } from "../permissions.ts";
import { makeRenderer, receiverOf } from "../render.ts";
import { Tally } from "../tally.ts";
import { checkFlags, openTask, taskNeeds } from "../task.ts";

const EXIT_NO_BLOCK = 8;

/** Runs the task and prints the answer. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, signal } = context;
  checkTask(context);
  const needs = taskNeeds(context);
  const ready = await makeReady(context, {
    start: [needs.start, startNeeds(context)],
    run: [needs.run, runNeeds(options)],
  });
  if (ready === undefined) return 0;

  const prompt = await readPrompt(context);
  const schema = options.schema === undefined
    ? undefined
    : await (await import("../schema.ts")).readSchema(options.schema);
  if (options.output !== undefined) await touch(options.output);
  const { provider, host } = await openEndpoint(context, ready);
  const { system, tools, decide } = await openTask(context, ready.settings.options, "");
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
      ...decide && { decide },
      system,
      prompt,
      tools,
      signal,
      receiver: receiverOf((event) => {
        tally.see(event);
        renderer.event(event);
      }),
    });
    if (options.output !== undefined) await writeText(options.output, answerText(result, options));
    renderer.result(result, { model: provider.model });
    return 0;
  } catch (error) {
    return renderer.failure(error, tally.partial);
  }
}

function checkTask({ options, words }: Context): void {
  checkFlags(options, [["schema", "extract"], ["stream", "schema"], ["stream", "extract"], ["stream", "output"]]);
  if (words.length > 0 || options.attach !== undefined || !Deno.stdin.isTerminal()) return;
  throw usage('Cannot run without a prompt: give it as words, as in pawl run "Why?", or - to type it');
}

function startNeeds({ options: { schema }, words }: Context): Needs {
  const isFile = schema !== undefined && !schema.trimStart().startsWith("{");
  return { read: [...promptFiles(words), ...isFile ? [schema] : []] };
}

function runNeeds({ output }: Options): Needs {
  return output === undefined ? {} : { write: [output] };
}

async function readPrompt(context: Context): ReturnType<typeof withAttachments> {
  const { options, words, terminal } = context;
  const wantsStdin = words.includes("-") || !Deno.stdin.isTerminal();
  const text = await assemblePrompt(words, {
    text: readText,
    ...wantsStdin && { stdin: () => readStdin(terminal, context.signal) },
  });
  const attached = options.attach ?? [];
  if (text.trim() === "" && attached.length === 0) {
    throw usage("Cannot run without a prompt: there are no words, and standard input is empty");
  }
  return await withAttachments(text, attached);
}

/** What is printed instead of the answer as it came; absent where it is just that. */
function answerOf(options: Options): ((result: RunResult) => string) | undefined {
  if (options.output !== undefined) return () => "";
  if (options.extract || options.schema !== undefined) return (result) => answerText(result, options);
  return undefined;
}

function answerText(result: RunResult, options: Options): string {
  if (options.schema !== undefined) return JSON.stringify(result.value);
  if (!options.extract) return result.text;
  const block = firstFence(result.text);
  if (block !== undefined) return block;
  throw new CliError("no_block", "Cannot extract a fenced block: the answer has none", { exit: EXIT_NO_BLOCK });
}
