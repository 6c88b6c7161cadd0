/**
 * pawl: a small, hardened agent loop. A conversation, two streaming providers that speak with one voice, and a tool loop that cannot
 * run away. It has no dependency and needs one permission: the network, to one host.
 *
 * Where to begin:
 *
 * - {@linkcode createProvider} makes a provider for one model at one endpoint, in a dialect: {@linkcode openAiChat},
 *   {@linkcode anthropicMessages}, or one of your own ({@linkcode Dialect}).
 * - {@linkcode run} does one task, with tools and a schema if you like. {@linkcode Agent} holds a {@linkcode Conversation} with tools,
 *   as events ({@linkcode AgentEvent}) or as callbacks ({@linkcode Receiver}). {@linkcode Provider.stream} is one reply without a loop.
 * - {@linkcode PawlError} is what fails, by {@linkcode PawlErrorCode}; {@linkcode Limits} is what is bounded.
 * - {@linkcode probe} finds out what works at an endpoint, and which of the switches in {@linkcode Compat} to set.
 * - {@linkcode loadSkills} and {@linkcode loadSkillTool} give a model instructions to load when it needs them.
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
 *   ]), // leave this line out to talk to the endpoint
 * });
 * const { text } = await run(provider, { prompt: "How much is two and two?" });
 * assertEquals(text, "Four.");
 * ```
 *
 * @module
 */
export {
  createProvider,
  type Provider,
  type ProviderOptions,
  type ProviderRequest,
  type StreamOptions,
} from "./src/provider/provider.ts";
export type {
  Compat,
  Decoder,
  Dialect,
  DialectRequest,
  EncodedRequest,
  MessageSink,
  Thinking,
} from "./src/provider/dialect.ts";
export type { BlockMeta, Receiver } from "./src/provider/receiver.ts";
export { Agent } from "./src/agent/agent.ts";
export type { AgentOptions, Decision, RunResult } from "./src/agent/options.ts";
export { run, type RunOptions } from "./src/agent/run.ts";
export { probe, type ProbeCheck, type ProbeCheckName, type ProbeOptions, type ProbeReport } from "./src/agent/probe.ts";
export { probeToolCalling } from "./src/agent/probe_tool_calling.ts";
export { openAiChat } from "./src/dialects/openai_chat.ts";
export { anthropicMessages } from "./src/dialects/anthropic_messages.ts";
export { Conversation, type ConversationJson } from "./src/model/conversation.ts";
export type * from "./src/model/message.ts";
export type * from "./src/model/event.ts";
export {
  isPawlError,
  type PartialReply,
  type PartialRun,
  PawlError,
  type PawlErrorCode,
  type PawlErrorOptions,
} from "./src/model/error.ts";
export { DEFAULT_LIMITS, type Limits } from "./src/model/limits.ts";
export type { JsonSchema, Tool, ToolChoice, ToolContext } from "./src/model/tool.ts";
export { stripReasoning } from "./src/text/reasoning.ts";
export { decodeJsonObject } from "./src/text/json_object.ts";
export {
  advertise,
  invokeSkill,
  loadSkills,
  loadSkillTool,
  mergeSkills,
  parseSkill,
  type ParseSkillOptions,
  type Skill,
  type SkillEntry,
  type SkillFs,
} from "./src/skills/skill.ts";
