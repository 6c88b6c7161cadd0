/**
 * pawl as a client under test: a reply read through the real provider, told as an outcome.
 * @module
 */
import {
  anthropicMessages,
  type ContentBlock,
  Conversation,
  createProvider,
  isPawlError,
  type Limits,
  openAiChat,
  type PartialReply,
  type PawlErrorCode,
  type StreamEvent,
} from "@pawl/pawl";
import { checkReply } from "../support/grammar.ts";
import type { WireCase } from "../support/wire_case.ts";
import { type Outcome, type OutcomeBlock, REPLAY_KEY } from "./outcome.ts";

/** What each error code may be called by a case. */
const KINDS: Partial<Record<PawlErrorCode, string[]>> = {
  http_status: ["http"],
  redirect: ["http"],
  // HTTP 400 and 413 with an overflow text, or such a text in an error inside a 200 stream.
  context_overflow: ["http", "stream"],
  backend: ["stream"],
  malformed_stream: ["protocol", "not_sse"],
  empty_reply: ["protocol"],
  unsupported_tool_call: ["protocol"],
  truncated: ["truncated"],
  response_too_large: ["too_large"],
  timeout: ["timeout"],
};

/** Where a run gets its replies from. */
export interface Source {
  baseUrl: string;
  fetch?: typeof fetch;
  signal: AbortSignal;
}

/** Reads one reply; every event passes the grammar checker. */
export async function readReply(wireCase: WireCase, { signal, ...source }: Source): Promise<Outcome> {
  const limits: Partial<Limits> = {};
  const { max_response_bytes, idle_timeout_ms } = wireCase.options ?? {};
  if (max_response_bytes !== undefined) limits.maxResponseBytes = max_response_bytes;
  if (idle_timeout_ms !== undefined) limits.idleTimeoutMs = idle_timeout_ms;
  const provider = createProvider({
    dialect: wireCase.dialect === "openai" ? openAiChat : anthropicMessages,
    model: "syn-model",
    maxTokens: 256,
    apiKey: REPLAY_KEY,
    maxRetries: 0,
    limits,
    // The cases of quirk O-81 tell what the wire layer delivers.
    thinkTags: wireCase.quirk.includes("O-81") ? "off" : "auto",
    ...source,
  });
  const conversation = new Conversation();
  conversation.addUserMessage("Hi");
  const events: StreamEvent[] = [];
  try {
    for await (const event of provider.stream(conversation, { signal })) events.push(event);
  } catch (error) {
    checkReply(events, error);
    if (!isPawlError(error)) throw error;
    const { message, status, retryable, retryAfterMs, code } = error;
    const partial = (error.partial as PartialReply | undefined)?.message.content;
    return {
      outcome: "error",
      kind: KINDS[code] ?? [code],
      message,
      retryable,
      shown: `${Deno.inspect(error, { depth: 9 })}\n${error.stack}\n${JSON.stringify(error)}\n${error.cause}`,
      ...(status !== undefined && { status }),
      ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
      ...(partial && { partial: partial.map(told) }),
    };
  }
  checkReply(events);
  const last = events[events.length - 1];
  if (last?.type !== "message_complete") throw new Error("unreachable: checkReply has seen to it");
  const { message, stopReason, usage } = last;
  return {
    outcome: "message",
    stop: stopReason,
    blocks: message.content.map(told),
    ...(usage && {
      usage: {
        ...(usage.inputTokens !== undefined && { input: usage.inputTokens }),
        ...(usage.outputTokens !== undefined && { output: usage.outputTokens }),
      },
    }),
  };
}

function told(block: ContentBlock): OutcomeBlock {
  switch (block.type) {
    case "thinking":
      return {
        type: "thinking",
        text: block.text,
        ...(block.signature !== undefined && { signature: block.signature }),
        ...(block.redacted !== undefined && { redacted: true, data: block.redacted }),
      };
    case "tool_use":
      return {
        type: "tool_use",
        id: block.id,
        name: block.name,
        input: block.input,
        invalid: block.invalid ?? false,
        extra: block.extra?.extra_content,
      };
    case "text":
      return { type: "text", text: block.text };
    default:
      return { type: block.type };
  }
}
