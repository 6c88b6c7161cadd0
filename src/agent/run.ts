/**
 * One prompt, one answer.
 * @module
 */
import { Conversation } from "../model/conversation.ts";
import { cut } from "../model/error.ts";
import type { ImageBlock, TextBlock } from "../model/message.ts";
import type { JsonSchema } from "../model/tool.ts";
import type { Provider } from "../provider/provider.ts";
import { play, type Receiver } from "../provider/receiver.ts";
import { excerpt } from "../text/error_text.ts";
import { decodeJsonObject } from "../text/json_object.ts";
import { misfits } from "./call_tool.ts";
import { loop } from "./loop.ts";
import { type AgentOptions, fault, resolveOptions, type RunResult } from "./options.ts";

/** A task for {@linkcode run}: the prompt, and all options of an agent. */
export interface RunOptions extends AgentOptions {
  /** System prompt; blank: none. */
  system?: string | undefined;
  /** What the user says. */
  prompt: string | readonly (TextBlock | ImageBlock)[];
  /** The answer must be one JSON object that fits. The model is told; without `validate`, required names and top-level types are checked. */
  schema?: JsonSchema | undefined;
  /** Checks the parsed answer. Returns what is wrong with it, for the model to read; nothing or an empty list accepts. */
  validate?:
    | ((
      value: Record<string, unknown>,
      schema: JsonSchema | undefined,
    ) => readonly string[] | undefined | Promise<readonly string[] | undefined>)
    | undefined;
  /** Ends the run: the promise rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** Is told everything. */
  receiver?: Receiver | undefined;
}

/**
 * Runs one task in a conversation of its own. With `schema` or `validate` the answer is parsed into `value`; one that does not fit is
 * sent back once with what is wrong, within the same bounds.
 *
 * @param provider Where requests go.
 * @param options The task.
 * @returns The answer, and what it took.
 * @throws {PawlError} With the work done so far in `partial`; `invalid_json`: the second answer does not fit either.
 * @throws {TypeError | RangeError} An option cannot be used.
 *
 * @example
 * ```ts
 * import { createProvider, openAiChat, run } from "@pawl/pawl";
 * import { scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   baseUrl: "http://localhost:11434/v1",
 *   fetch: scriptedFetch([
 *     { events: [{ choices: [{ delta: { content: 'Sure: {"city":"Oslo"}' }, finish_reason: "stop" }] }, "[DONE]"] },
 *   ]),
 * });
 * const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
 * const { value } = await run(provider, { prompt: "Capital of Norway?", schema });
 * assertEquals(value, { city: "Oslo" });
 * ```
 */
export async function run(provider: Provider, options: RunOptions): Promise<RunResult> {
  const { system, schema, validate, signal, receiver = {} } = options;
  const settings = resolveOptions(options);
  if (!options.prompt?.length) throw new TypeError("Cannot run without a prompt");
  const conversation = new Conversation();
  if (system?.trim()) conversation.addSystemMessage(system);
  if (schema) {
    conversation.addSystemMessage(`Answer with one JSON object only, of this JSON Schema:\n${JSON.stringify(schema)}`);
  }
  conversation.addUserMessage(options.prompt);

  async function examine(result: RunResult): Promise<readonly string[]> {
    try {
      result.value = decodeJsonObject(result.text);
    } catch {
      // Which of the two ways it is none does not help the model.
      return ["it is no JSON object"];
    }
    return await (validate ? validate(result.value, schema) : misfits(schema!, result.value)) ?? [];
  }
  /** Characters of a validator's findings that go back to the model: they may quote the whole answer. */
  const MAX_FINDINGS = 2000;
  let asksLeft = 1;
  async function review(result: RunResult): Promise<string | undefined> {
    const findings = (await examine(result)).join("; ");
    if (!findings) return undefined;
    if (asksLeft-- && result.iterations < settings.maxIterations) {
      return `This answer cannot be used: ${cut(findings, MAX_FINDINGS)}\nAnswer with one JSON object only, in full.`;
    }
    throw fault("invalid_json", "the answer is refused, " + excerpt(findings, (text) => provider.scrub(text)));
  }
  const events = loop(provider, settings, conversation, signal, schema || validate ? review : undefined);
  return await play(events, receiver, signal);
}
