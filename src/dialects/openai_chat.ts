/**
 * OpenAI's chat completions, as its many imitators speak them (quirks O-01…O-89, rules R-01…R-45).
 * @module
 */
import type { StopReason, Usage } from "../model/message.ts";
import type { Decoder, Dialect, DialectRequest, EncodedRequest, MessageSink } from "../provider/dialect.ts";
import { filled, readHistory, thinkingBudget } from "../provider/history.ts";
import {
  argumentsOf,
  contentOf,
  extraOf,
  findHint,
  indexOf,
  type Json,
  listOf,
  objectOf,
  readStop,
  says,
  textOf,
} from "../provider/read.ts";
import { isObject } from "../provider/tool_input.ts";

/** Where servers put reasoning; the first that is not empty counts, for some fill two (quirks O-20…O-22). */
const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];

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
  decoder,
  hint: findHint,
};

/** A turn as it stands on the wire, with reasoning under the names it came in. */
interface WireMessage extends Json {
  tool_calls?: Json[];
}

function encode(request: DialectRequest): EncodedRequest {
  const { model, thinking, toolChoice, compat } = request;
  const always = compat.echoReasoning === "always";
  const { system, turns, tools } = readHistory(
    request,
    openAiChat.name,
    ({ type }, isCurrent) => type === "thinking" && isCurrent,
    compat.mergeRoles,
    // Mistral wants nine letters and digits (rule R-17).
    compat.toolIds === "mistral9" ? /^[a-zA-Z0-9]{9}$/ : undefined,
  );
  const messages: Json[] = system ? [{ role: "system", content: system }] : [];

  // Results are messages of their own; text is one string (rules R-06…R-13).
  for (const { role, content } of turns) {
    const message: WireMessage = { role, content: null };
    const parts: object[] = [];
    let text = "", isText = true;
    for (const block of content) {
      switch (block.type) {
        case "tool_result":
          messages.push({ role: "tool", tool_call_id: block.toolUseId, content: block.content });
          break;
        case "tool_use":
          (message.tool_calls ??= []).push({
            ...block.extra,
            id: block.id,
            type: "function",
            function: { name: block.name, arguments: block.input },
          });
          break;
        case "thinking": {
          const { field = always ? "reasoning_content" : "" } = block;
          if (REASONING_FIELDS.includes(field)) message[field] = textOf(message[field]) + block.text;
          // All blocks of a reply share its records.
          message.reasoning_details ??= block.details;
          break;
        }
        case "text":
          text += (text && role === "user" ? "\n\n" : "") + block.text;
          parts.push(block);
          break;
        case "image":
          isText = false;
          parts.push({ type: "image_url", image_url: { url: `data:${block.mediaType};base64,${block.data}` } });
      }
    }
    if (!parts[0] && !message.tool_calls) continue;
    message.content = isText ? text || (compat.emptyContent === "empty" ? "" : null) : parts;
    if (role === "assistant") {
      // Some servers want the field on every turn, if only empty.
      if (always && !REASONING_FIELDS.some((field) => field in message)) message.reasoning_content = "";
    } else if (compat.mergeRoles && messages.at(-1)?.role === "tool") {
      // Strict templates know no user turn behind a tool's.
      messages.push({ role: "assistant", content: "(continue)" });
    }
    messages.push(message);
  }

  // Blank text is no message, and no server takes a request without one.
  if (!messages[0]) messages.push({ role: "user", content: "(continue)" });
  const budget = thinking && thinkingBudget(thinking);
  const { maxTokensField = "auto" } = compat;
  const limit = maxTokensField !== "auto"
    ? maxTokensField
    : /(^|\/)\s*(gpt-5|o\d)[^/]*$/i.test(model)
    ? "max_completion_tokens"
    : "max_tokens";
  // JSON leaves out what is undefined.
  return {
    path: "/chat/completions",
    body: {
      model,
      messages,
      stream: true,
      stream_options: compat.streamUsage === false ? undefined : { include_usage: true },
      [limit]: request.maxTokens,
      temperature: request.temperature,
      stop: filled(request.stop),
      // The nearest level: the borders are halfway between the budgets of two levels.
      reasoning_effort: budget && (budget < 2560 ? "low" : budget < 10240 ? "medium" : "high"),
      tools: tools?.map((tool) => ({ type: "function", function: tool })),
      tool_choice: tools &&
        (typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.name } } : toolChoice),
    },
  };
}

/** A call in the making; the object itself is its key. */
interface Call {
  /** The first id that came; later ones only find the call (quirk O-72). */
  id: string;
  name: string;
  readonly index: unknown;
  /** Arguments have begun: the name is whole. */
  begun?: boolean;
  extra?: Json | undefined;
}

/** Reads one reply: finds what a delta says, and which call a fragment belongs to. */
function decoder(sink: MessageSink): Decoder {
  const byId = new Map<string, Call>();
  /** Without an index the last call is meant. */
  const byIndex = new Map<unknown, Call>();
  const records: Json[] = [];
  /** What has come in deltas: a whole message repeats that, or brings what has not (quirks O-10, O-11). */
  let streamed = { text: false, thinking: false };
  let plainEnd: StopReason | undefined;

  function say(kind: "text" | "thinking", text: string, field?: string): void {
    if (text === "") return;
    streamed[kind] ||= text.trim() !== "";
    if (kind === "text") sink.text(kind, text);
    else sink.thinking(kind, text, field);
  }

  function readReasoning(part: Json): void {
    const { reasoning_details, reasoning_content, reasoning, reasoning_text, thinking } = part;
    // To ask for names that are written out costs nothing, a search for them as much as all else.
    const field = reasoning_content || reasoning || reasoning_text || thinking
      ? REASONING_FIELDS.find((name) => textOf(part[name]) !== "")
      : undefined;
    if (field) say("thinking", textOf(part[field]), field);
    if (reasoning_details) {
      for (const record of [reasoning_details].flat().filter(isObject)) {
        if (!field) say("thinking", textOf(record.text) || textOf(record.summary));
        const last = records.at(-1);
        // The pieces of a streamed record go back as one (rule R-12).
        if (!last || last.index !== record.index || last.type !== record.type || record.data) records.push(record);
        else {
          for (const key of ["text", "summary"]) if (last[key]) record[key] = textOf(last[key]) + textOf(record[key]);
          Object.assign(last, Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)));
        }
        sink.note("thinking", "details", records);
      }
    }
  }

  function readText({ content, refusal }: Json): void {
    if (typeof content === "string") say("text", content);
    else {
      for (const piece of listOf(content)) {
        // A list holds strings, or parts that name their kind (quirk O-12).
        const { type, text, thinking } = isObject(piece) ? piece : { type: "text", text: piece };
        if (/^((output_)?text)?$/.test(textOf(type))) say("text", contentOf(text));
        else if (type === "refusal") readText({ refusal: objectOf(piece).refusal });
        else if (type === "thinking") {
          for (const part of [thinking].flat()) say("thinking", textOf(isObject(part) ? part.text : part));
        }
      }
    }
    if (refusal) plainEnd = "refusal";
    say("text", textOf(refusal));
  }

  function readCalls({ tool_calls, function_call }: Json, whole?: boolean): void {
    if (tool_calls) listOf(tool_calls).forEach((call, position) => readCall(call, position, whole));
    // Some fill both with one call.
    if (function_call && !says(tool_calls)) readCall({ index: 0, function: function_call });
  }

  /** A fragment of a call, or a whole one, which continues none though it shares an id or an index (quirks O-50…O-80). */
  function readCall(value: unknown, position?: number, whole?: boolean): void {
    const about = objectOf(value);
    const called = objectOf(about.function ?? about);
    const fragment: Call = { id: textOf(about.id), name: textOf(called.name), index: indexOf(about.index) };
    const { id, name, index } = fragment, input = argumentsOf(called.arguments);
    // What it may continue: the call under its id, at its index, or the last one. Servers give any, none or wrong ones of them.
    const at = byIndex.get(index);
    const known = id ? at?.id === id ? at : byId.get(id) : undefined;
    const likely = known ?? at ?? (id || name ? undefined : byIndex.get(undefined));
    // Asked last, for then the arguments are read.
    const isComplete = () => likely && sink.inputComplete(likely);
    const elsewhere = index !== undefined && index !== likely?.index;
    const another = name !== likely?.name;
    const begins = known
      ? elsewhere && name && (another || isComplete())
      : !name
      ? input && (index === undefined ? id : elsewhere) && isComplete()
      : isComplete()
      // Some repeat the name in a last fragment without arguments (quirk O-61).
      ? id || another || input
      : (id && likely?.id && another) || (index === undefined && position);
    const found = whole || begins ? undefined : likely;
    // A phantom behind the last call (quirk O-78).
    if (!found && !id && !name && !input.trim()) return;
    const call = found ?? fragment;
    if (!found) byIndex.set(index, call);
    byIndex.set(undefined, call);
    if (id) byId.set(id, call);

    const longer = name.startsWith(call.name)
      ? name
      : call.begun || call.name.length > 255
      ? call.name
      : call.name + name;
    // The first fragment that brings vendor keys counts, early or late.
    const extra = call.extra ? undefined : extraOf(about);
    if (!found || (id && !call.id) || longer !== call.name || extra) {
      sink.call(call, Object.assign(call, { id: call.id || id, name: longer, extra: call.extra ?? extra }));
    }
    call.begun ||= input.trim() !== "";
    sink.input(call, input);
  }

  function readUsage(report: unknown): void {
    if (!report) return;
    const usage = report as Record<string, Json | null | undefined>;
    const counts: Record<keyof Usage, unknown> = {
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      cachedInputTokens: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ??
        usage.cached_tokens,
      reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens,
    };
    sink.usage(counts as Usage);
  }

  return {
    done: () => true,
    take(chunk, isDocument = false) {
      const choices = listOf(chunk.choices);
      const groq = chunk.x_groq as Json | null | undefined, usage = chunk.usage ?? groq?.usage;
      if (says(groq?.error)) sink.fail(groq);
      // Usage alone may be a chunk, but is no reply.
      if (!choices.length && (isDocument || !usage)) return undefined;
      sink.begin(choices.length > 0, chunk.id, chunk.model);
      // Before all that may fail: what was used up is told with it.
      readUsage(usage);
      const isFirst = !byIndex.size;
      let isEnd = false;
      for (const entry of choices) {
        const choice = objectOf(entry), delta = objectOf(choice.delta);
        if (says(choice.error)) sink.fail(choice);
        if (says(delta.error)) sink.fail(delta);
        readReasoning(delta);
        readText(delta);
        readCalls(delta);
        if (choice.message) {
          const message = objectOf(choice.message), told = streamed;
          // A whole message needs no finish word; a single chunk does.
          isEnd = isDocument;
          streamed = { ...told };
          if (!told.text && !told.thinking) readReasoning(message);
          if (!told.text) readText(message);
          // A message may come in several chunks, and its calls must not run again.
          if (isFirst && !says(delta.tool_calls) && !says(delta.function_call)) readCalls(message, true);
          streamed = told;
        }
        readUsage(choice.usage);
        readStop(sink, choice.finish_reason, plainEnd);
      }
      return isEnd;
    },
  };
}
