/**
 * Anthropic's messages protocol (wire/quirks A-01…A-34, rules R-01…R-45).
 * @module
 */
import type { Dialect, DialectRequest, EncodedRequest } from "../provider/dialect.ts";
import {
  type AssistantTurn,
  filled,
  type History,
  readHistory,
  thinkingBudget,
  type UserTurn,
} from "../provider/history.ts";
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

const CACHE_MARK = { cache_control: { type: "ephemeral" } };

interface WireMessage {
  role: string;
  content: Json[];
}

function encode(request: DialectRequest): EncodedRequest {
  const { model, maxTokens, temperature, stop, toolChoice, compat, promptCache } = request;
  const echo = compat.echoReasoning ?? "same-field";
  const { system, turns, tools } = readHistory(request, {
    dialect: anthropicMessages.name,
    // A signature says itself where reasoning came from; unsigned reasoning is taken only by servers that sign nothing.
    keeps: (block, { foreign }) =>
      !foreign && (block.type === "opaque" ||
        (echo !== "never" && (echo === "always" || !!block.signature || block.redacted !== undefined))),
    wireId: (id, n) => n === undefined ? id.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) : `call_${n}`,
    unique: "conversation",
    merge: true,
  });
  const budget = budgetOf(request, turns);
  const messages: WireMessage[] = turns.map((turn) => ({
    role: turn.role,
    content: turn.role === "user" ? userContent(turn) : replyContent(turn, budget !== undefined),
  }));
  const last = turns[turns.length - 1];
  const paused = last?.role === "assistant" && last.blocks.some(({ type }) => type === "opaque");
  // The first and the last turn are the user's, but a reply that paused goes back as it is.
  if (turns[0]?.role !== "user") messages.unshift(filler());
  if (last?.role === "assistant" && !paused) messages.push(filler());
  const end = messages.at(-1)!.content.at(-1)!;
  if (paused && typeof end.text === "string") end.text = end.text.trimEnd();
  const declared: Json[] = tools.map(({ schema, ...tool }) => ({ ...tool, input_schema: schema }));
  if (promptCache) {
    Object.assign(declared[declared.length - 1] ?? {}, CACHE_MARK);
    // What a reply that paused ends with goes back as it came.
    if (!paused) Object.assign(end, CACHE_MARK);
  }
  // JSON leaves out what is undefined.
  return {
    path: "/messages",
    body: {
      model,
      max_tokens: maxTokens,
      system: promptCache && system ? [{ type: "text", text: system, ...CACHE_MARK }] : system || undefined,
      messages,
      stream: true,
      temperature,
      stop_sequences: filled(stop),
      thinking: budget && { type: "enabled", budget_tokens: budget },
      tools: filled(declared),
      tool_choice: filled(declared) && toolChoice &&
        (typeof toolChoice === "object"
          ? { type: "tool", name: toolChoice.name }
          : { type: toolChoice === "required" ? "any" : toolChoice }),
    },
  };
}

function filler(): WireMessage {
  return { role: "user", content: [{ type: "text", text: "(continue)" }] };
}

/** Tokens to think with, if any. */
function budgetOf(
  { thinking, maxTokens, temperature, toolChoice }: DialectRequest,
  turns: History["turns"],
): number | undefined {
  if (thinking === undefined) return undefined;
  const budget = thinkingBudget(thinking, { min: 1024, maxTokens });
  if ((temperature ?? 1) !== 1 || toolChoice === "required" || typeof toolChoice === "object") {
    throw new TypeError("Cannot use thinking with a temperature other than 1 or a toolChoice that forces a call");
  }
  // A tool loop whose reply did not begin with reasoning must go on without: it began without, or at another endpoint.
  const reply = turns[turns.length - 2], answer = turns[turns.length - 1];
  const inLoop = answer?.role === "user" && answer.results.length > 0 && reply?.role === "assistant";
  return inLoop && reply.blocks.find((block) => !isBlank(block))?.type !== "thinking" ? undefined : budget;
}

function isBlank(block: AssistantTurn["blocks"][number]): boolean {
  return block.type === "text" && block.text.trim() === "";
}

function replyContent({ blocks }: AssistantTurn, thinks: boolean): Json[] {
  const content: Json[] = [];
  let called = false;
  for (const block of blocks) {
    if (isBlank(block)) continue;
    switch (block.type) {
      case "text":
        content.push({ type: "text", text: block.text });
        break;
      case "thinking":
        // Behind a call reasoning is allowed only while the model still thinks.
        if (called && !thinks) break;
        content.push(
          block.redacted !== undefined
            ? { type: "redacted_thinking", data: block.redacted }
            : { type: "thinking", thinking: block.text, signature: block.signature ?? "" },
        );
        break;
      case "tool_use":
        called = true;
        content.push({ ...block.extra, type: "tool_use", id: block.id, name: block.name, input: exactly(block.input) });
        break;
      case "opaque":
        content.push(block.value as Json);
    }
  }
  return content;
}

/** Results first. */
function userContent({ results, content }: UserTurn): Json[] {
  return [
    ...results.map(({ id, result, isError }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: result,
      is_error: isError || undefined,
    })),
    ...content.map((block) =>
      block.type === "text"
        ? { type: "text", text: block.text }
        : { type: "image", source: { type: "base64", media_type: block.mediaType, data: block.data } }
    ),
  ];
}

/** Parses JSON so that it is written as it was read, 64-bit integers included, where the runtime can do that (quirk O-71). */
function exactly(json: string): unknown {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  if (rawJSON === undefined) return JSON.parse(json);
  return JSON.parse(
    json,
    (_key, value, context?: { source?: string }) =>
      typeof value === "number" && !Number.isSafeInteger(value) && context?.source ? rawJSON(context.source) : value,
  );
}
