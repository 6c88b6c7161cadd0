/**
 * An endpoint without a network, for the tests of programs that use pawl: replies from a script, or recorded once and
 * played again. A request that nothing answers fails loudly.
 *
 * @example
 * ```ts
 * import { createProvider, openAiChat, run } from "@pawl/pawl";
 * import { scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   baseUrl: "http://localhost:11434/v1",
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   fetch: scriptedFetch([
 *     { events: [{ choices: [{ delta: { content: "Four." }, finish_reason: "stop" }] }, "[DONE]"] },
 *   ]),
 * });
 * assertEquals((await run(provider, { prompt: "How much is two and two?" })).text, "Four.");
 * ```
 *
 * @module
 */
export {
  type RecordedChunk,
  type RecordedExchange,
  recordFetch,
  type RecordOptions,
  replayFetch,
  type ReplayOptions,
} from "./wire/record.ts";
export { type ScriptedFetch, scriptedFetch, type ScriptedReply, type ScriptedRequest } from "./wire/scripted.ts";
