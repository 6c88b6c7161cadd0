/**
 * Anthropic's messages protocol (wire/quirks A-01…A-34, rules R-01…R-45).
 * @module
 */
import type { Dialect, DialectRequest, EncodedRequest } from "../provider/dialect.ts";
import type { ContentBlock } from "../model/message.ts";
import { filled, readHistory, thinkingBudget, type Turn } from "../provider/history.ts";
import { createDecoder, findHint, type Json } from "../provider/read.ts";
import { MessagesReader } from "./anthropic_messages_reader.ts";

/**
 * The dialect of `POST {base URL}/v1/messages`. Default endpoint: Anthropic's own.
 *
 * @example
 * ```ts
 * import { anthropicMessages, Conversation, createProvider } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({ dialect: anthropicMessages, model: "claude-sonnet-4-5", maxTokens: 256 });
 * const conversation = new Conversation();
 * conversation.addSystemMessage("Be brief.");
 * conversation.addUserMessage("Hi");
 * const { url, body } = provider.encode(conversation);
 * assertEquals(url, "https://api.anthropic.com/v1/messages");
 * assertEquals(JSON.parse(body).system, "Be brief.");
 * ```
 */
export const anthropicMessages: Dialect = {
  name: "anthropic_messages",
  defaultBaseUrl: "https://api.anthropic.com",
  modelsPath: "/models",
  basePath: (path) => path.endsWith("/v1") ? path : `${path}/v1`,
  headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key && { "x-api-key": key }) }),
  encode,
  decoder: (sink) => createDecoder(sink, new MessagesReader(sink)),
  hint: findHint,
};

/** Where the protocol wants a user turn and the user said nothing. */
const FILLER: Turn = { role: "user", content: [{ type: "text", text: "(continue)" }] };

function encode(request: DialectRequest): EncodedRequest {
  const { model, maxTokens, temperature, stop, toolChoice, promptCache } = request;
  const { system, turns, tools } = readHistory(request, {
    dialect: anthropicMessages.name,
    // A signature says itself where reasoning came from; unsigned reasoning is taken only by servers that sign nothing.
    keeps: (block) => block.type === "opaque" || Boolean(block.signature || block.redacted),
    ids: /^[a-zA-Z0-9_-]{1,64}$/,
    merge: true,
  });
  const budget = budgetOf(request, turns);
  // The first and the last turn are the user's, but a reply that paused goes back as it is.
  if (turns[0]?.role !== "user") turns.unshift(FILLER);
  const last = turns[turns.length - 1]!;
  const paused = last.content.some(({ type }) => type === "opaque");
  if (last.role === "assistant" && !paused) turns.push(FILLER);
  const messages = turns.map(({ role, content }) => {
    const calledAt = budget ? -1 : content.findIndex(({ type }) => type === "tool_use");
    // Behind a call reasoning is allowed only while the model still thinks.
    const sent = content.filter(({ type }, i) => type !== "thinking" || calledAt < 0 || i < calledAt);
    return { role, content: sent.map(wireBlock) };
  });
  const end = messages.at(-1)!.content.at(-1)!;
  const declared: Json[] | undefined = tools?.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
  const mark = promptCache ? { cache_control: { type: "ephemeral" } } : undefined;
  Object.assign(declared?.at(-1) ?? {}, mark);
  // What a reply that paused ends with goes back as it came, but for blank space.
  if (!paused) Object.assign(end, mark);
  else if (end.type === "text") end.text = String(end.text).trimEnd();
  // JSON leaves out what is undefined.
  return {
    path: "/messages",
    body: {
      model,
      max_tokens: maxTokens,
      system: mark && system ? [{ type: "text", text: system, ...mark }] : system || undefined,
      messages,
      stream: true,
      temperature,
      stop_sequences: filled(stop),
      thinking: budget && { type: "enabled", budget_tokens: budget },
      tools: declared,
      tool_choice: declared && toolChoice &&
        (typeof toolChoice === "object"
          ? { type: "tool", name: toolChoice.name }
          : { type: toolChoice === "required" ? "any" : toolChoice }),
    },
  };
}

/** Tokens to think with, if any. */
function budgetOf(
  { thinking, maxTokens, temperature = 1, toolChoice }: DialectRequest,
  turns: readonly Turn[],
): number | undefined {
  if (thinking === undefined) return undefined;
  const budget = thinkingBudget(thinking, 1024, maxTokens - 1);
  if (temperature !== 1 || toolChoice === "required" || typeof toolChoice === "object") {
    throw new TypeError("Cannot use thinking with a temperature other than 1 or a toolChoice that forces a call");
  }
  // A tool loop whose reply did not begin with reasoning must go on without: it began without, or at another endpoint.
  const [reply, answer] = turns.slice(-2).map(({ content }) => content[0]?.type);
  return answer === "tool_result" && reply !== "thinking" ? undefined : budget;
}

function wireBlock(block: ContentBlock): Json {
  const { type } = block;
  switch (type) {
    case "text":
      return { type, text: block.text };
    case "image":
      return { type, source: { type: "base64", media_type: block.mediaType, data: block.data } };
    case "thinking":
      return block.redacted === undefined
        ? { type, thinking: block.text, signature: block.signature ?? "" }
        : { type: "redacted_thinking", data: block.redacted };
    case "tool_use":
      return { ...block.extra, type, id: block.id, name: block.name, input: exactly(block.input) };
    case "tool_result":
      return { type, tool_use_id: block.toolUseId, content: block.content, is_error: block.isError || undefined };
    case "opaque":
      return block.value as Json;
  }
}

/** Parses JSON so that it is written as it was read, 64-bit integers included, where the runtime can do that (quirk O-71). */
function exactly(json: string): unknown {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return JSON.parse(
    json,
    rawJSON &&
      ((_key, value, { source }: { source?: string } = {}) =>
        typeof value === "number" && !Number.isSafeInteger(value) && source ? rawJSON(source) : value),
  );
}
