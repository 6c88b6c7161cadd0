/**
 * `--record` and `--replay`.
 * @module
 */
import { createRedactor } from "../text/redact.ts";
import { recordFetch, replayFetch } from "../wire/record.ts";
import type { Context } from "./context.ts";
import type { Options } from "./flag_table.ts";
import { readText } from "./input.ts";
import { OutputFile } from "./output.ts";

/**
 * A `fetch` that keeps every exchange, or one that answers from what was kept. Header fields that the user added may be secrets: they
 * are blanked.
 *
 * @param apiKey The key, which is redacted.
 * @throws {CliError | TypeError} The file cannot be read or written, or is no recording.
 */
export async function recordedFetch({ stop }: Context, options: Options, apiKey: string): Promise<typeof fetch> {
  const { record, replay, header = [] } = options;
  const redact = createRedactor([apiKey, ...header.map(([, value]) => value)]);
  if (replay !== undefined) return replayFetch(await readText(replay), { redact });
  const file = await OutputFile.open(record!);
  /** At once, as the program may end right behind the last exchange; and nobody hears an error of that one. */
  function write(line: string): void {
    try {
      file.write(`${line}\n`);
    } catch (error) {
      stop(error);
    }
  }
  return recordFetch(fetch, write, { headers: header.map(([name]) => name), redact });
}
