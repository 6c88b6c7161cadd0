/**
 * Anthropic's messages protocol (quirks A-01…A-34, rules R-01…R-45).
 * @module
 */
import type { Decoder, Dialect, DialectRequest, EncodedRequest, MessageSink } from "../provider/dialect.ts";
import type { Usage } from "../model/message.ts";
import { filled, filler, readHistory, thinkingBudget } from "../provider/history.ts";
import { violation } from "../provider/failure.ts";
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
  textOf,
} from "../provider/read.ts";
import { isObject, parse } from "../provider/tool_input.ts";

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
  // Without a limit it lists 20.
  modelsPath: "/models?limit=1000",
  basePath: (path) => path.replace(/(\/v1)?$/, "/v1"),
  headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key && { "x-api-key": key }) }),
  encode,
  decoder,
  hint: findHint,
};

function encode(request: DialectRequest): EncodedRequest {
  const { model, thinking, toolChoice, maxTokens, temperature } = request;
  const { system, turns, tools } = readHistory(
    request,
    anthropicMessages.name,
    // A signature says itself where reasoning came from; unsigned reasoning is taken only by servers that sign nothing.
    (block) => block.type === "opaque" || Boolean(block.signature || block.redacted),
    true,
    /^[a-zA-Z0-9_-]{1,64}$/,
  );
  const budget = thinking && thinkingBudget(thinking, 1024, maxTokens - 1);
  if (budget && ((temperature ?? 1) !== 1 || toolChoice === "required" || typeof toolChoice === "object")) {
    throw new TypeError("Cannot use thinking as temperature must be 1 and toolChoice auto");
  }
  // The first and the last turn are the user's, but a reply that paused goes back as it is.
  if (turns[0]?.role !== "user") turns.unshift(filler());
  const last = turns.at(-1)!, end = last.content.at(-1)!;
  const paused = last.content.some(({ type }) => type === "opaque");
  if (last.role === "assistant" && !paused) turns.push(filler());
  // What follows what the user said is one turn, which goes on as it began: without, if no reply of it begins with reasoning.
  const began = turns.findLast(({ role, content: [{ type } = end] }) =>
    type === "thinking" || role === "user" && type !== "tool_result"
  )!;
  const thinks = began.role === "assistant" || began === turns.at(-1) ? budget : undefined;
  // What a reply that paused ends with goes back as it came, but for blank space.
  if (paused && end.type === "text") end.text = end.text.trimEnd();
  const messages = turns.map(({ role, content }) => {
    let called = false;
    return {
      role,
      content: content.flatMap((block): object => {
        const { type } = block;
        switch (type) {
          case "tool_use":
            called = true;
            return { ...block.extra, type, id: block.id, name: block.name, input: exactly(block.input) };
          case "tool_result":
            return { type, tool_use_id: block.toolUseId, content: block.content, is_error: block.isError };
          case "thinking":
            // Behind a call reasoning is allowed only while the model still thinks.
            if (called && !thinks) return [];
            return block.redacted === undefined
              ? { type, thinking: block.text, signature: block.signature ?? "" }
              : { type: "redacted_thinking", data: block.redacted };
          case "image":
            return { type, source: { type: "base64", media_type: block.mediaType, data: block.data } };
          case "opaque":
            return [block.value];
          case "text":
            return block;
        }
      }),
    };
  });
  const declared: Json[] | undefined = tools?.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
  const mark = request.promptCache && { cache_control: { type: "ephemeral" } };
  Object.assign(declared?.at(-1) ?? {}, mark);
  if (!paused) Object.assign(messages.at(-1)!.content.at(-1)!, mark);
  // JSON leaves out what is undefined.
  return {
    path: "/messages",
    body: {
      model,
      max_tokens: maxTokens,
      system: system ? mark ? [{ type: "text", text: system, ...mark }] : system : undefined,
      messages,
      stream: true,
      temperature,
      stop_sequences: filled(request.stop),
      thinking: thinks && { type: "enabled", budget_tokens: thinks },
      tools: declared,
      tool_choice: declared && toolChoice &&
        (typeof toolChoice === "object"
          ? { type: "tool", name: toolChoice.name }
          : { type: toolChoice === "required" ? "any" : toolChoice }),
    },
  };
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

/** A block of the wire; the object itself is its key. */
interface Block {
  /** The block as it began; a vendor block grows in it. */
  value: Json;
  isVendors?: boolean;
  /** Text of the last start event: the first delta may repeat it (quirk A-21). */
  given?: string;
  signed?: boolean;
  /** Arguments have come in deltas; they outrank those of the start event (quirk A-12). */
  begun?: boolean;
}

/** Whether blocks of a type hold text, told as it comes. */
function isProse(type: unknown): type is "text" | "thinking" {
  return type === "text" || type === "thinking";
}

/** Reads one reply. Its events name their blocks; imitators break every rule about that. */
function decoder(sink: MessageSink): Decoder {
  /** The newest block of each index, open or closed: blocks may overlap, and indexes be reused (quirk A-18). */
  const blocks = new Map<unknown, Block>();
  const open = new Set<Block>();
  let reply = "";
  /** The last report of each count. */
  const counts: Record<string, number> = {};

  function readMessage(message: Json): void {
    const id = textOf(message.id);
    reply ||= id;
    // Two replies in one stream: nothing of either can be trusted, and no call of them may run (quirk A-32).
    if (id && id !== reply) violation("it holds two replies");
    const content = listOf(message.content);
    sink.begin(content.length > 0, id, message.model);
    // Before all that may fail: what was used up is told with it.
    readEnd(message.usage);
    if (!blocks.size) content.forEach((value) => close(start({}, objectOf(value))));
    readEnd(undefined, message.stop_reason);
  }

  function readEnd(usage: unknown, word?: unknown): void {
    if (isObject(usage)) {
      for (const key in usage) if (typeof usage[key] === "number") counts[key] = usage[key];
      const input = counts.input_tokens, cached = counts.cache_read_input_tokens;
      sink.usage(
        {
          // Cached input is counted beside the rest, and a gateway that cannot count reports 0 (quirk A-33).
          inputTokens: input ? input + (cached ?? 0) + (counts.cache_creation_input_tokens ?? 0) : undefined,
          outputTokens: counts.output_tokens,
          cachedInputTokens: cached,
        } as Usage,
      );
    }
    // Ends without their mark (quirk A-19).
    if (word) open.forEach(fill);
    readStop(sink, word);
  }

  function start(index: unknown, value: Json): Block {
    const type = textOf(value.type), id = textOf(value.id);
    let block = blocks.get(index);
    const isOpen = block && open.has(block) && block.value.type === type;
    // Some begin a block anew before every token (quirk A-20); some leave out its end.
    if (!block || !isOpen || (isProse(type) ? block.signed : !id || id !== block.value.id)) {
      close(block);
      block = { value };
      blocks.set(index, block);
      open.add(block);
      if (type === "tool_use") sink.call(block, { id, name: textOf(value.name), extra: extraOf(value) });
      else if (type === "redacted_thinking") sink.note(block, "redacted", textOf(value.data));
      else if (type && !isProse(type)) {
        block.isVendors = true;
        sink.opaque(block, value);
      }
    }
    if (isProse(type)) {
      block.given = contentOf(value[type]);
      sink[type](block, block.given);
      sign(block, value.signature);
    }
    return block;
  }

  function sign(block: Block, signature: unknown): void {
    if (block.value.type !== "thinking" || !signature) return;
    block.signed = true;
    sink.note(block, "signature", textOf(signature));
  }

  function close(block: Block | undefined): void {
    if (!block || !open.has(block)) return;
    fill(block);
    sink.end(block);
  }

  /** Adds what the start gave. At its end the message closes its blocks, as in a protocol where they have no end. */
  function fill(block: Block): void {
    const { value, begun } = block;
    open.delete(block);
    if (value.partial_json) {
      value.input = parse(textOf(value.partial_json)) ?? value.input;
      delete value.partial_json;
    }
    if (value.type === "tool_use" && !begun) {
      const given = argumentsOf(value.input);
      if (given !== "{}") sink.input(block, given);
    }
  }

  function change(index: unknown, delta: Json): void {
    const block = blocks.get(index);
    switch (delta.type) {
      case "text_delta":
      case "thinking_delta": {
        const kind = delta.type === "text_delta" ? "text" : "thinking", text = contentOf(delta[kind]);
        const prose = block ?? start(index, { type: kind });
        // Text may be addressed to a call (quirk A-17): it becomes a block of its own, and the arguments stay whole.
        if (text !== prose.given) sink[kind](prose.value.type === kind ? prose : kind, text);
        prose.given = "";
        break;
      }
      case "signature_delta":
        // As with text, it may repeat what the start gave.
        if (delta.signature !== block?.value.signature) {
          sign(block ?? start(index, { type: "thinking" }), delta.signature);
        }
        break;
      default:
        if (block?.isVendors) {
          // What belongs to a vendor block goes back with it (quirk A-22); citations of a text do not.
          for (const [key, piece] of Object.entries(delta)) {
            if (key !== "type" && typeof piece === "string") block.value[key] = textOf(block.value[key]) + piece;
          }
        } else if (delta.type === "input_json_delta") {
          const fragment = contentOf(delta.partial_json);
          if (block) block.begun ||= fragment.trim() !== "";
          sink.input(block ?? index, fragment);
        }
    }
  }

  return {
    // It is foreign here (quirk A-30): it ends a complete reply, and completes none.
    done: () => sink.stopped,
    take(event) {
      const { type } = event;
      switch (type) {
        case "content_block_delta":
          change(indexOf(event.index), objectOf(event.delta));
          break;
        case "content_block_start":
          start(indexOf(event.index), objectOf(event.content_block));
          break;
        case "content_block_stop":
          close(blocks.get(indexOf(event.index)));
          break;
        case "message_start":
          readMessage(objectOf(event.message));
          break;
        case "message_delta":
          readEnd(event.usage, objectOf(event.delta).stop_reason);
          break;
        case "message_stop":
          open.forEach(fill);
          return true;
        case "message":
          readMessage(event);
          return true;
        case "ping":
          return false;
        default:
          return undefined;
      }
      sink.begin(type === "content_block_start");
      return false;
    },
  };
}
