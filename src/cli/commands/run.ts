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
import type { Needs } from "../permissions.ts";
import { makeRenderer, receiverOf } from "../render.ts";
import { joinSystem } from "../system_prompt.ts";
import { Tally } from "../tally.ts";
import { checkFlags, openTask, taskNeeds, toolsFor, wantsSession } from "../task.ts";

const EXIT_NO_BLOCK = 8;

/** Runs the task and prints the answer. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, signal } = context;
  checkTask(context);
  const needs = await taskNeeds(context);
  const ready = await makeReady(context, {
    start: [needs.start, startNeeds(context)],
    run: [needs.run, runNeeds(options)],
  });
  if (ready === undefined) return 0;

  const prompt = await readPrompt(context);
  const schema = options.schema === undefined
    ? undefined
    : await (await import("../schema.ts")).readSchema(options.schema);
  using output = options.output === undefined
    ? undefined
    : await (await import("../output.ts")).OutputFile.open(options.output);
  const endpoint = await openEndpoint(context, ready);
  const { provider, host } = endpoint;
  const task = await openTask(context, endpoint);
  const { system, decide, offer } = task;
  const tools = await toolsFor(task);
  const session = wantsSession(options)
    ? (await import("../session_flags.ts")).openContinuation(context, task)
    : undefined;
  keepOnly(context, ready);

  const tally = new Tally();
  const answer = printedOf(options);
  const isWhole = options.extract === true || answer !== undefined;
  const stream = (options.stream === true || terminal.outIsTerminal) && !isWhole;
  const renderer = makeRenderer(context, { host, stream, ...answer && { answer } });
  renderer.start(provider);
  try {
    const result = await run(provider, {
      ...loopOptions(endpoint.options),
      ...schema,
      ...decide && { decide },
      ...session && { prepare: (conversation) => session.prepare(conversation) },
      // A session holds its prompt itself; what the task says beside it goes along.
      system: session ? offer : joinSystem(system.own, system.added, offer),
      prompt,
      tools,
      signal,
      receiver: receiverOf((event) => {
        tally.see(event);
        session?.see(event);
        renderer.event(event);
      }),
    });
    session?.end();
    const text = answerText(result, options);
    output?.write(endLine(text));
    renderer.result(options.extract ? { ...result, text } : result, {
      model: provider.model,
      ...session && { session: session.path },
    });
    return 0;
  } catch (error) {
    const status = renderer.failure(error, tally.partial);
    session?.end();
    return status;
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

/** What is printed instead of the text of the answer; absent where it is just that. */
function printedOf({ output, schema }: Options): ((result: RunResult) => string) | undefined {
  if (output !== undefined) return () => "";
  return schema === undefined ? undefined : ({ value }) => JSON.stringify(value);
}

function answerText(result: RunResult, options: Options): string {
  if (options.schema !== undefined) return JSON.stringify(result.value);
  if (!options.extract) return result.text;
  const block = firstFence(result.text);
  if (block !== undefined) return block;
  throw new CliError("no_block", "Cannot extract a fenced block: the answer has none", { exit: EXIT_NO_BLOCK });
}

function endLine(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
