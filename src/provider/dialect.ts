/**
 * The contract between a provider and a protocol. A dialect is a record of pure functions: it turns a conversation into a request,
 * and tells a {@linkcode MessageSink} what arrived. It does no I/O and owns no event grammar.
 * @module
 */
import type { Conversation } from "../model/conversation.ts";
import type { StopReason, Usage } from "../model/message.ts";
import type { Tool, ToolChoice } from "../model/tool.ts";

/** Switches for servers that differ from the norm; the README lists them server by server. */
export interface Compat {
  /** Ask for usage in the stream. Default `true`; `false` for servers that reject `stream_options` (rule R-02). */
  streamUsage?: boolean;
  /** Name of the output limit. Default `auto`: `max_completion_tokens` for `gpt-5*` and `o<digit>*` (rule R-14). */
  maxTokensField?: "auto" | "max_tokens" | "max_completion_tokens";
  /** Content of an assistant turn that holds only calls. Default `null` (rule R-06). */
  emptyContent?: "null" | "empty";
  /** Which reasoning goes back. Default `same-field`: on turns after the last user text, where the origin is ours (rules R-10… ). */
  echoReasoning?: "same-field" | "never" | "always";
  /** Default `verbatim`; `mistral9` maps ids to nine letters and digits (rule R-17). */
  toolIds?: "verbatim" | "mistral9";
  /** Join neighbouring turns of one role, for strict templates (rule R-23). Default `false`. */
  mergeRoles?: boolean;
}

/** How much a model may think. */
export type Thinking = "low" | "medium" | "high" | { budgetTokens: number };

/** Everything an encoder may look at. */
export interface DialectRequest {
  /** What was said so far; only to be read. */
  conversation: Conversation;
  /** Model id as the endpoint knows it. */
  model: string;
  /** Output tokens of the reply. */
  maxTokens: number;
  /** Sent if set, 0 included. */
  temperature?: number | undefined;
  /** Stop sequences. */
  stop?: readonly string[] | undefined;
  /** How much the model may think. */
  thinking?: Thinking | undefined;
  /** Mark the prompt for caching, where the protocol has marks. */
  promptCache?: boolean | undefined;
  /** What the model may call; checked. */
  tools: readonly Tool[];
  /** How it may use them; absent: the endpoint's default. */
  toolChoice?: ToolChoice | undefined;
  /** Switches for servers that differ. */
  compat: Compat;
}

/** A request without origin, key and body text: the provider adds those. */
export interface EncodedRequest {
  /** Appended to the base URL's path; may depend on the request. */
  path: string;
  /** The JSON body, `extraBody` not yet merged. */
  body: Record<string, unknown>;
}

/**
 * What a decoder may say. Each piece of content is told under a `key` that the decoder chooses: the same key continues a block, an
 * unknown one begins a block. The sink owns order, indexes, held-back blocks and the end.
 */
export interface MessageSink {
  /** A finish word has come. */
  readonly stopped: boolean;
  /**
   * The reply has begun; every event that is no error, ping or comment says so. The first non-empty `id` and `model` count.
   *
   * @param hasChoice The event held a choice or a block, however empty; a reply without one and without finish word is an empty reply.
   */
  begin(hasChoice?: boolean, id?: unknown, model?: unknown): void;
  /** Answer text. Leaked reasoning in it is found here. */
  text(key: unknown, delta: string): void;
  /** Reasoning, with the wire field it came in if the protocol has several. */
  thinking(key: unknown, delta: string, field?: string): void;
  /**
   * What comes with the newest reasoning under `key`; begins an empty block if there is none. Strings are joined to earlier ones: the
   * signature, and the text of reasoning that the endpoint encrypted.
   */
  note(key: unknown, field: "signature" | "redacted", piece: string): void;
  /** The same for vendor records of reasoning, which replace earlier ones. */
  note(key: unknown, field: "details", records: unknown): void;
  /** A call, or more about one. `name` and `id` replace what was known; the dialect decides which of several counts. */
  call(key: unknown, about?: { id?: string; name?: string; extra?: Record<string, unknown> | undefined }): void;
  /** A fragment of the raw arguments of the call under `key`; begins a call without name if there is none. */
  input(key: unknown, fragment: string): void;
  /** Whether the arguments of the call under `key` are one complete JSON object so far. */
  inputComplete(key: unknown): boolean;
  /** A vendor block; `value` is kept by reference and may be completed until the message ends. */
  opaque(key: unknown, value: unknown): void;
  /** The protocol itself closes the block under `key`. */
  end(key: unknown): void;
  /** Reported usage; only numbers count, the last report wins field by field. */
  usage(report: Usage): void;
  /**
   * The finish word and its meaning. Makes the reply complete. Of several words the first that is no plain end counts (quirk O-35), and
   * an output limit above all.
   */
  stop(reason: StopReason, raw?: string): void;
  /** The endpoint reported an error: a message, an object of any known shape, or a failure word. Always throws. */
  fail(error: unknown): never;
}

/** Reads one reply. */
export interface Decoder {
  /**
   * Reads the JSON of one event, or of a reply that came as one document (quirk S-18).
   *
   * @param value An error that stands at its top, as most servers tell one, never gets here.
   * @param isDocument It is all that the endpoint sent.
   * @returns `true` at the protocol's own end, `undefined` if it says nothing in this dialect.
   */
  take(value: Record<string, unknown>, isDocument?: boolean): boolean | undefined;
  /** Whether `[DONE]` is the protocol's own end. */
  done(): boolean;
}

/** A protocol, as a value: an unused one is left out of a bundle. */
export interface Dialect {
  /** Stable name, as in `message.origin` and `--dialect`. */
  readonly name: string;
  /** Used when no base URL is given; absent: the caller must give one. */
  readonly defaultBaseUrl?: string;
  /**
   * Completes the path of a base URL.
   *
   * @param path Path of the base URL without trailing slashes, perhaps empty.
   */
  basePath(path: string): string;
  /** Header fields with the key, and fixed ones; `key` is valid and not empty, or absent. */
  headers(key?: string): Record<string, string>;
  /**
   * Turns a conversation into a request body.
   *
   * @throws {TypeError | RangeError} Options that this protocol cannot express, or that contradict each other.
   */
  encode(request: DialectRequest): EncodedRequest;
  /** Starts reading a reply. */
  decoder(sink: MessageSink): Decoder;
  /** Path of the model list, appended to the base URL's path. */
  readonly modelsPath: string;
  /** A hint for an HTTP error, for example which switch to set; `text` is what the endpoint said. */
  hint?(status: number, text: string): string | undefined;
}
