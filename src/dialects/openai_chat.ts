/**
 * OpenAI's chat completions, as its many imitators speak them (wire/quirks O-01…O-89, rules R-01…R-45).
 * @module
 */
import type { Compat, Dialect, DialectRequest, EncodedRequest } from "../provider/dialect.ts";
import { filled, readHistory, thinkingBudget, type Turn } from "../provider/history.ts";
import { createDecoder, findHint, type Json } from "../provider/read.ts";
import { ChatReader, REASONING_FIELDS } from "./openai_chat_reader.ts";

/**
 * The dialect of `POST {base URL}/chat/completions`. There is no default endpoint; a base URL without a path gets `/v1`.
 *
 * @example
 * ```ts
 * import { Conversation, createProvider, openAiChat } from "@pawl/pawl";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   baseUrl: "http://localhost:11434",
 *   model: "qwen3",
 *   maxTokens: 256,
 * });
 * const conversation = new Conversation();
 * conversation.addUserMessage("Hi");
 * const { url, body } = provider.encode(conversation);
 * assertEquals(url, "http://localhost:11434/v1/chat/completions");
 * assertEquals(JSON.parse(body).messages, [{ role: "user", content: "Hi" }]);
 * ```
 */
export const openAiChat: Dialect = {
  name: "openai_chat",
  modelsPath: "/models",
  basePath: (path) => path || "/v1",
  headers: (key): Record<string, string> => key ? { authorization: `Bearer ${key}` } : {},
  encode,
  decoder: (sink) => createDecoder(sink, new ChatReader(sink)),
  hint: findHint,
};

function encode(request: DialectRequest): EncodedRequest {
  const { model, maxTokens, temperature, stop, thinking, toolChoice, compat } = request;
  const { system, turns, tools } = readHistory(request, {
    dialect: openAiChat.name,
    keeps: ({ type }, isCurrent) => type === "thinking" && isCurrent,
    // Mistral wants nine letters and digits (rule R-17).
    ids: compat.toolIds === "mistral9" ? /^[a-zA-Z0-9]{9}$/ : undefined,
    merge: compat.mergeRoles,
  });
  const messages: Json[] = [];
  if (system !== "") messages.push({ role: "system", content: system });
  for (const turn of turns) pushTurn(messages, turn, compat);
  // JSON leaves out what is undefined.
  return {
    path: "/chat/completions",
    body: {
      model,
      messages,
      stream: true,
      stream_options: compat.streamUsage === false ? undefined : { include_usage: true },
      [maxTokensField(model, compat.maxTokensField)]: maxTokens,
      temperature,
      stop: filled(stop),
      reasoning_effort: thinking && effortOf(thinkingBudget(thinking)),
      tools: tools?.map((tool) => ({ type: "function", function: tool })),
      tool_choice: tools &&
        (typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.name } } : toolChoice),
    },
  };
}

function maxTokensField(model: string, field: string = "auto"): string {
  if (field !== "auto") return field;
  return /(^|\/)(gpt-5|o\d+(-|$))[^/]*$/i.test(model.trim()) ? "max_completion_tokens" : "max_tokens";
}

/** The nearest level: the borders are halfway between the budgets of two levels. */
function effortOf(budget: number): string {
  return budget < 2560 ? "low" : budget < 10240 ? "medium" : "high";
}

/** Results are messages of their own; text is one string, reasoning goes under the names it came in (rules R-06…R-13). */
function pushTurn(
  messages: Json[],
  { role, content }: Turn,
  { echoReasoning, emptyContent, mergeRoles }: Compat,
): void {
  const reasoning: Record<string, string> = {};
  const calls: Json[] = [];
  const parts: Json[] = [];
  let text = "", details: unknown;
  for (const block of content) {
    switch (block.type) {
      case "tool_result":
        messages.push({ role: "tool", tool_call_id: block.toolUseId, content: block.content });
        break;
      case "tool_use":
        calls.push({
          ...block.extra,
          id: block.id,
          type: "function",
          function: { name: block.name, arguments: block.input },
        });
        break;
      case "thinking": {
        const field = block.field ?? (echoReasoning === "always" ? "reasoning_content" : "");
        if (REASONING_FIELDS.includes(field)) reasoning[field] = (reasoning[field] ?? "") + block.text;
        // All blocks of a reply share its records.
        details = block.details ?? details;
        break;
      }
      case "text":
        text += (text && role === "user" ? "\n\n" : "") + block.text;
        parts.push({ type: "text", text: block.text });
        break;
      case "image":
        parts.push({ type: "image_url", image_url: { url: `data:${block.mediaType};base64,${block.data}` } });
    }
  }
  if (parts.length + calls.length === 0) return;
  if (role === "assistant") {
    // Some servers want the field on every turn, if only empty.
    if (echoReasoning === "always" && Object.keys(reasoning).length === 0) reasoning.reasoning_content = "";
  } else if (mergeRoles && messages.at(-1)?.role === "tool") {
    // Strict templates know no user turn behind a tool's.
    messages.push({ role: "assistant", content: "(continue)" });
  }
  messages.push({
    role,
    content: parts.some(({ type }) => type !== "text") ? parts : text || (emptyContent === "empty" ? "" : null),
    ...reasoning,
    reasoning_details: details,
    tool_calls: filled(calls),
  });
}
