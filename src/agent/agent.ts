/**
 * The agent: a provider and tools, as callbacks and as events.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import type { AgentEvent } from "../model/event.ts";
import type { Provider } from "../provider/provider.ts";
import { eventsOf, play, type Receiver } from "../provider/receiver.ts";
import { loop } from "./loop.ts";
import { type AgentOptions, resolveOptions, type RunResult } from "./options.ts";

/**
 * Holds a conversation with a model and runs the tools it calls, one after another, until it has answered.
 *
 * Each complete message is appended to the conversation, then all results of its calls together; a reply that ends in an error is not
 * appended, it is in `error.partial.message`. Whatever ends a run, each call in the conversation has a result, so that it can be sent
 * again. A tool that fails is answered to the model and ends nothing.
 *
 * @example
 * ```ts
 * import { Agent, Conversation, createProvider, openAiChat, type Tool } from "@pawl/pawl";
 * import { scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const call = { index: 0, id: "c1", function: { name: "add", arguments: '{"a":2,"b":3}' } };
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   baseUrl: "http://localhost:11434/v1",
 *   fetch: scriptedFetch([
 *     { events: [{ choices: [{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] }, "[DONE]"] },
 *     { events: [{ choices: [{ delta: { content: "It is 5" }, finish_reason: "stop" }] }, "[DONE]"] },
 *   ]),
 * });
 * const add: Tool = {
 *   name: "add",
 *   description: "Adds two numbers",
 *   inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
 *   run: ({ a, b }) => String(Number(a) + Number(b)),
 * };
 * const conversation = new Conversation();
 * conversation.addUserMessage("What is 2 + 3?");
 * const { text, toolCalls } = await new Agent(provider, { tools: [add] }).runStep(conversation);
 * assertEquals([text, toolCalls], ["It is 5", 1]);
 * ```
 */
export class Agent {
  readonly #run: (conversation: Conversation, signal?: AbortSignal) => ReturnType<typeof loop>;

  /**
   * Makes an agent; nothing is sent yet.
   *
   * @param provider Where requests go.
   * @param options Tools and bounds; unknown keys are ignored.
   * @throws {TypeError} A tool is malformed, or two share a name.
   * @throws {RangeError} A number is out of its range.
   */
  constructor(provider: Provider, options: AgentOptions = {}) {
    this.#run = loop.bind(undefined, provider, resolveOptions(options));
  }

  /**
   * Runs until the model has answered, and tells everything to a receiver.
   *
   * @param conversation Is appended to.
   * @param receiver Callbacks; one that throws ends the run with its own error.
   * @param options `signal` ends the run: the promise rejects with its reason.
   * @returns The answer, and what it took.
   * @throws {PawlError} With the work done so far in `partial`.
   * @throws {TypeError} Another run uses the conversation.
   */
  runStep(
    conversation: Conversation,
    receiver: Receiver = {},
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<RunResult> {
    return play(this.#run(conversation, signal), receiver, signal);
  }

  /**
   * The same as events. Nothing is sent and no tool runs before it is pulled for; leaving the loop ends the run.
   *
   * @param conversation Is appended to: a message right before its `message_complete`.
   * @param options `signal` ends the run: the pending `next()` rejects with its reason.
   * @returns The generator's return value is the result.
   * @throws {PawlError} With the work done so far in `partial`.
   * @throws {TypeError} Another run uses the conversation.
   */
  stream(
    conversation: Conversation,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<AgentEvent, RunResult, undefined> {
    return eventsOf(this.#run(conversation, signal), signal);
  }
}
