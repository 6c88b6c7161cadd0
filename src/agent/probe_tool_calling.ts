/**
 * rig's probe: does the model call a tool when told to?
 * @module
 */
import { Conversation } from "../model/conversation.ts";
import { isPawlError, PawlError } from "../model/error.ts";
import type { MessageCompleteEvent, StreamEvent } from "../model/event.ts";
import type { Tool } from "../model/tool.ts";
import type { Provider, StreamOptions } from "../provider/provider.ts";
import { fault, textOf } from "./options.ts";

/** The probe's tool. */
export const PING: Tool = {
  name: "ping",
  description: "Answers a connection probe",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  run: () => "pong",
};
/** rig's words, which many models have been tried with. */
const PROBE_SYSTEM = "You are a connection probe. Call the ping tool. Do not answer with text.";
/** rig's words. */
export const PROBE_PROMPT = 'Call the ping tool with message "ping".';

/** A reply, its text, the number of pieces that it came in, and of calls of the probe's tool. */
export interface Sample extends MessageCompleteEvent {
  text: string;
  pieces: number;
  pings: number;
  /** The limit that was sent, if not the provider's. */
  maxTokens: number | undefined;
}

/** Asks once, without retries. Without tools the system text is one whose effect can be seen. */
export async function ask(provider: Provider, user: string, options: StreamOptions): Promise<Sample> {
  const conversation = new Conversation();
  conversation.addSystemMessage(options.tools ? PROBE_SYSTEM : "End every answer with the word PAWL.");
  conversation.addUserMessage(user);
  let pieces = 0, maxTokens: number | undefined, event: StreamEvent;
  try {
    provider.encode(conversation, options);
    maxTokens = options.maxTokens;
  } catch {
    // A model that is to think needs more tokens; any other fault shows again below.
  }
  for await (event of provider.stream(conversation, { ...options, maxRetries: 0, maxTokens })) {
    if (event.type === "content_delta") pieces++;
  }
  const end = event! as MessageCompleteEvent;
  return {
    ...end,
    text: textOf(end.message),
    pieces,
    pings: end.message.content.filter((block) => block.type === "tool_use" && block.name === PING.name).length,
    maxTokens,
  };
}

/**
 * Finds out whether the model calls a tool when told to: one request, no retries, 256 tokens, or the provider's limit if it
 * asks for thinking that takes more. Only a call of the tool passes; a reply that explains how it would call it does not.
 *
 * The errors are opaque, fit for a service whose users choose the endpoint: none holds a word of what the endpoint answered.
 * {@linkcode probe} is the form that explains.
 *
 * @param provider What to probe.
 * @param options `signal` ends the probe: the promise rejects with its reason.
 * @throws {PawlError} `no_tool_calling`; `output_limit`, when the budget went before the call; or the code of what failed.
 *
 * @example
 * ```ts
 * import { createProvider, openAiChat, probeToolCalling } from "@pawl/pawl";
 * import { scriptedFetch } from "@pawl/pawl/testing";
 *
 * const call = { index: 0, id: "c1", function: { name: "ping", arguments: '{"message":"ping"}' } };
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   baseUrl: "http://localhost:11434/v1",
 *   fetch: scriptedFetch([
 *     { events: [{ choices: [{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] }, "[DONE]"] },
 *   ]),
 * });
 * await probeToolCalling(provider);
 * ```
 */
export async function probeToolCalling(
  provider: Provider,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const { signal } = options;
  const { stopReason, pings, maxTokens = provider.maxTokens } = await ask(provider, PROBE_PROMPT, {
    tools: [PING],
    // rig's budget: room for a reasoning model to think before its first call.
    maxTokens: 256,
    signal,
  }).catch((error) => {
    // An abort is the caller's, and a missing permission is about the caller's own settings.
    if (!isPawlError(error) || error === signal?.reason || error.code === "permission") throw error;
    throw new PawlError(error.code, "Cannot probe the model: the connection failed", error);
  });
  if (stopReason === "max_tokens") throw fault("output_limit", `no call within ${maxTokens} tokens`);
  if (!pings) throw fault("no_tool_calling", "the model did not call the tool");
}
