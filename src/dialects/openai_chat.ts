/**
 * OpenAI's chat completions, as its many imitators speak them (wire/quirks O-01…O-89, rules R-01…R-45).
 * @module
 */
import type { Dialect, DialectRequest, EncodedRequest } from "../provider/dialect.ts";
import { type AssistantTurn, filled, readHistory, thinkingBudget, type UserTurn } from "../provider/history.ts";
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
  const echo = compat.echoReasoning ?? "same-field";
  const { system, turns, tools } = readHistory(request, {
    dialect: openAiChat.name,
    keeps: ({ type }, { ours, foreign, current }) =>
      type === "thinking" && (echo === "always" ? !foreign : echo === "same-field" && ours && current),
    wireId: compat.toolIds === "mistral9" ? nineCharacters : (id, n) => n === undefined ? id : `call_${n}`,
    unique: compat.toolIds === "mistral9" ? "conversation" : "turn",
    merge: compat.mergeRoles ?? false,
  });
  const messages: Json[] = system === "" ? [] : [{ role: "system", content: system }];
  for (const turn of turns) {
    if (turn.role === "assistant") messages.push(assistantMessage(turn, echo === "always", compat.emptyContent));
    else pushUser(messages, turn, compat.mergeRoles);
  }
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
      tools: filled(tools)?.map(({ name, description, schema }) => ({
        type: "function",
        function: { name, description, parameters: schema },
      })),
      tool_choice: filled(tools) &&
        (typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.name } } : toolChoice),
    },
  };
}

/** Mistral wants nine letters and digits (rule R-17). */
function nineCharacters(id: string, n?: number): string {
  return n !== undefined ? String(n).padStart(9, "0") : /^[a-zA-Z0-9]{9}$/.test(id) ? id : "";
}

function maxTokensField(model: string, field: string = "auto"): string {
  if (field !== "auto") return field;
  const name = model.trim().toLowerCase().split("/").pop()!;
  return /^(gpt-5|o\d+(-|$))/.test(name) ? "max_completion_tokens" : "max_tokens";
}

/** The nearest level: the borders are halfway between the budgets of two levels. */
function effortOf(budget: number): string {
  return budget < 2560 ? "low" : budget < 10240 ? "medium" : "high";
}

/** One string of text, the reasoning under the names it came in, and the calls (rules R-06…R-13). */
function assistantMessage({ blocks }: AssistantTurn, always: boolean, emptyContent: string = "null"): Json {
  const reasoning: Record<string, string> = {};
  const calls: Json[] = [];
  let text = "", details: unknown;
  for (const block of blocks) {
    if (block.type === "text") text += block.text;
    else if (block.type === "tool_use") {
      const { id, name, input, extra } = block;
      calls.push({ ...extra, id, type: "function", function: { name, arguments: input } });
    } else if (block.type === "thinking") {
      const field = block.field ?? (always ? "reasoning_content" : "");
      if (REASONING_FIELDS.includes(field)) reasoning[field] = (reasoning[field] ?? "") + block.text;
      // All blocks of a reply share its records.
      details = block.details ?? details;
    }
  }
  // Some servers want the field on every turn, if only empty.
  if (always && Object.keys(reasoning).length === 0) reasoning.reasoning_content = "";
  return {
    role: "assistant",
    content: calls.length > 0 && text.trim() === "" ? emptyContent === "empty" ? "" : null : text,
    ...reasoning,
    reasoning_details: details,
    tool_calls: filled(calls),
  };
}

function pushUser(messages: Json[], { results, content }: UserTurn, strict: boolean = false): void {
  for (const { id, result } of results) messages.push({ role: "tool", tool_call_id: id, content: result });
  if (content.length === 0) return;
  // Strict templates know no user turn behind a tool's.
  if (strict && results.length > 0) messages.push({ role: "assistant", content: "(continue)" });
  messages.push({
    role: "user",
    content: content.some(({ type }) => type === "image")
      ? content.map((block) =>
        block.type === "text"
          ? { type: "text", text: block.text }
          : { type: "image_url", image_url: { url: `data:${block.mediaType};base64,${block.data}` } }
      )
      : content.map((block) => block.type === "text" ? block.text : "").join("\n\n"),
  });
}
