/**
 * A provider: one model at one endpoint, in one dialect.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import type { StreamEvent } from "../model/event.ts";
import { checkInteger, exceeded, type Limits, resolveLimits } from "../model/limits.ts";
import type { Message } from "../model/message.ts";
import { type Tool, type ToolChoice, validateTools } from "../model/tool.ts";
import { createRedactor } from "../text/redact.ts";
import { checkKey, mergeHeaders, resolveBaseUrl } from "../wire/endpoint.ts";
import { createExchange, type Exchange, type HttpRequest } from "../wire/http.ts";
import type { Compat, Dialect, Thinking } from "./dialect.ts";
import { reported, violation } from "./failure.ts";
import { createMessageBuilder } from "./message_builder.ts";
import { type Json, says, textOf } from "./read.ts";
import { eventsOf, play, type Receiver } from "./receiver.ts";
import { type Batches, createTake, readReply } from "./reply.ts";
import { parse, repairEscapes } from "./tool_input.ts";

/** What makes a provider. Nothing is read from the environment; unknown keys are ignored. */
export interface ProviderOptions {
  /** `openAiChat`, `anthropicMessages`, or one of your own. */
  dialect: Dialect;
  /** http(s), without userinfo, query and fragment. Default: the dialect's own, if it has one. */
  baseUrl?: string | undefined;
  /** Model id as the endpoint knows it. */
  model: string;
  /** Output tokens of one reply; required, so that no budget is silent. */
  maxTokens: number;
  /** Sent to the base URL's origin only. Absent: no credential header at all. */
  apiKey?: string | undefined;
  /** Sent if set, 0 included. */
  temperature?: number | undefined;
  /** Stop sequences. */
  stop?: readonly string[] | undefined;
  /** How much the model may think. */
  thinking?: Thinking | undefined;
  /** Mark the prompt for caching, where the dialect has marks. */
  promptCache?: boolean | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Default: `pawl/<version>`. */
  userAgent?: string | undefined;
  /** Bounds of one reply; what is not set has its default. */
  limits?: Partial<Limits> | undefined;
  /** Repetitions of a failed request before a reply has begun. Default 2. */
  maxRetries?: number | undefined;
  /** `auto` (default) finds leaked reasoning in the text; `off` passes text untouched. */
  thinkTags?: "auto" | "off" | undefined;
  /** Switches for servers that differ from the norm. */
  compat?: Compat | undefined;
  /** Merged into the body last. */
  extraBody?: Record<string, unknown> | undefined;
  /** Added to the header fields, or replacing them; redacted like the key. */
  extraHeaders?: Record<string, string> | undefined;
}

/** Options of one call. */
export interface StreamOptions {
  /** What the model may call. */
  tools?: readonly Tool[] | undefined;
  /** Default: the endpoint's, which is `auto`. */
  toolChoice?: ToolChoice | undefined;
  /** Ends the call: the pending `next()` rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /** Overrides the provider's. */
  maxTokens?: number | undefined;
  /** Overrides the provider's. */
  temperature?: number | undefined;
  /** Overrides the provider's. */
  maxRetries?: number | undefined;
}

/** What {@linkcode Provider.encode} shows of a request. */
export interface ProviderRequest {
  /** Always `POST`. */
  method: "POST";
  /** Where it goes. */
  url: string;
  /** With the key, if there is one. */
  headers: Record<string, string>;
  /** JSON text, byte for byte as it is sent. */
  body: string;
}

/** One model at one endpoint. It holds no state: calls may run side by side. */
export interface Provider {
  /** Name of its dialect, as in `message.origin`. */
  readonly dialect: string;
  /** Model id as requested. */
  readonly model: string;
  /** Output tokens of one reply. */
  readonly maxTokens: number;
  /** Whether leaked reasoning is found. */
  readonly thinkTags: "auto" | "off";
  /**
   * Asks for one reply and tells it as it arrives. Nothing is sent before the first pull; leaving the loop closes the connection. The
   * conversation is only read.
   *
   * @returns The generator's return value is the completed message.
   * @throws {PawlError} With `partial`: the blocks so far. All events before it are true.
   * @throws {TypeError | RangeError} At the first pull, before anything is sent: the dialect cannot express the request.
   */
  stream(conversation: Conversation, options?: StreamOptions): AsyncGenerator<StreamEvent, Message, undefined>;
  /** The same events, grouped as they arrived: what everything else is made of. A group is never empty; pulls must not overlap. */
  batches(
    conversation: Conversation,
    options?: StreamOptions,
  ): AsyncIterableIterator<StreamEvent[], Message, undefined>;
  /** The same as callbacks (awl's call). Resolves to the completed message. */
  streamStep(conversation: Conversation, receiver: Receiver, options?: StreamOptions): Promise<Message>;
  /** The request that {@linkcode Provider.stream} would send. */
  encode(conversation: Conversation, options?: StreamOptions): ProviderRequest;
  /** Model ids that the endpoint lists. */
  listModels(options?: Pick<StreamOptions, "signal" | "maxRetries">): Promise<string[]>;
  /** Takes the key and other secrets out of a text; every tool result passes it before it is sent (rule R-45). */
  scrub(text: string): string;
}

/**
 * Makes a provider.
 *
 * @param options Endpoint, model, and bounds.
 * @throws {TypeError} Key, base URL, header field or model cannot be used; the text holds none of them.
 * @throws {RangeError} A number is out of its range.
 *
 * @example
 * ```ts
 * import { Conversation, createProvider, openAiChat } from "@pawl/pawl";
 * import { scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const provider = createProvider({
 *   dialect: openAiChat,
 *   baseUrl: "http://localhost:11434/v1",
 *   model: "qwen3",
 *   maxTokens: 1024,
 *   fetch: scriptedFetch([{ events: [{ choices: [{ delta: { content: "Hello" }, finish_reason: "stop" }] }, "[DONE]"] }]),
 * });
 * const conversation = new Conversation();
 * conversation.addUserMessage("Hi");
 * let text = "";
 * for await (const event of provider.stream(conversation)) {
 *   if (event.type === "content_delta") text += event.delta;
 * }
 * assertEquals(text, "Hello");
 * ```
 */
export function createProvider(options: ProviderOptions): Provider {
  // All but the secrets: what a dialect may see.
  const { apiKey = "", extraHeaders = {}, ...settings } = options;
  const { dialect, model, thinkTags = "auto" } = settings;
  if (typeof model !== "string" || !model.trim()) throw new TypeError("Cannot use model as it is blank");
  const maxTokens = checkInteger("maxTokens", settings.maxTokens);
  const limits = resolveLimits(settings.limits);
  const maxRetries = checkInteger("maxRetries", settings.maxRetries ?? 2, 0);
  const base = resolveBaseUrl(settings.baseUrl ?? dialect.defaultBaseUrl ?? "", dialect.basePath);
  if (apiKey) checkKey(apiKey);
  const headers = mergeHeaders({
    accept: "text/event-stream",
    // A bare `identity` switches the decoding off in Deno, and gzip then arrives as text (quirk H-14).
    "accept-encoding": "identity;q=1, *;q=0",
    "content-type": "application/json",
    "user-agent": settings.userAgent ?? USER_AGENT,
    ...dialect.headers(apiKey || undefined),
  }, extraHeaders);
  const scrub = createRedactor([apiKey || "", ...Object.values(extraHeaders)]);

  function exchange(request: HttpRequest, call: StreamOptions): Exchange {
    return createExchange(request, {
      ...settings,
      limits,
      maxRetries: checkInteger("maxRetries", call.maxRetries ?? maxRetries, 0),
      redact: scrub,
      signal: call.signal,
      hint: dialect.hint,
    });
  }

  function encode(conversation: Conversation, call: StreamOptions = {}): ProviderRequest {
    const { tools = [] } = call;
    validateTools(tools);
    const { path, body } = dialect.encode({
      ...settings,
      conversation,
      maxTokens: checkInteger("maxTokens", call.maxTokens ?? maxTokens),
      temperature: call.temperature ?? settings.temperature,
      tools,
      toolChoice: call.toolChoice,
      compat: settings.compat ?? {},
    });
    return {
      method: "POST",
      url: base + path,
      // A copy: a `fetch` of the caller may write on it.
      headers: mergeHeaders(headers),
      body: repairEscapes(JSON.stringify({ ...body, ...settings.extraBody })),
    };
  }

  function batches(conversation: Conversation, call: StreamOptions = {}): Batches<Message> {
    return readReply(() => {
      const connection = exchange(encode(conversation, call), call);
      const builder = createMessageBuilder(connection, {
        origin: { dialect: dialect.name, model },
        redact: scrub,
        splitText: thinkTags !== "off",
        sent: conversation.messages,
      });
      return { connection, builder, ...createTake(connection, builder, dialect.decoder(builder)) };
    });
  }

  return {
    dialect: dialect.name,
    model,
    maxTokens,
    thinkTags,
    encode,
    batches,
    scrub,
    stream: (conversation, call = {}) => eventsOf(batches(conversation, call), call.signal),
    streamStep: (conversation, receiver, call = {}) => play(batches(conversation, call), receiver, call.signal),
    listModels(call = {}) {
      const { "content-type": _, ...fields } = headers;
      let text = "";
      return play(
        readReply(() => ({
          connection: exchange(
            { method: "GET", url: base + dialect.modelsPath, headers: { ...fields, accept: "application/json" } },
            call,
          ),
          take(piece) {
            if (piece === undefined) {
              const json = parse(text) as Json | undefined, [said] = [json].flat();
              // LM Studio answers a path that it does not know with 200, and an empty list would be a lie (quirk H-20).
              if (says(said?.error)) throw reported(said, scrub);
              const list = [json, said?.data, said?.models].find(Array.isArray) ??
                violation("it is no list of models");
              // `{ data: [{ id }] }`, or Ollama's own `{ models: [{ name }] }`.
              return list.map((entry) => textOf(entry?.id ?? entry?.name)).filter(Boolean);
            }
            text += piece;
            if (text.length > limits.maxJsonBytes) throw exceeded("maxJsonBytes", limits);
            return undefined;
          },
        })),
        {},
      );
    },
  };
}

/** Version of this package; a test holds it against deno.json. */
export const USER_AGENT = "pawl/0.1.0";
