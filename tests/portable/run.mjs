/**
 * The bundled library as a program for any runtime, plain JavaScript: `node run.mjs BUNDLE.js`. It reads requests as JSON
 * lines on standard input, each with a base URL that stands for one reply of the replay server, and answers each with a
 * JSON line: what the library made of the reply.
 */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const pawl = await import(pathToFileURL(process.argv[2]).href);

/** What each error code may be called by a case. */
const KINDS = {
  http_status: ["http"],
  redirect: ["http"],
  context_overflow: ["http", "stream"],
  backend: ["stream"],
  malformed_stream: ["protocol", "not_sse"],
  empty_reply: ["protocol"],
  unsupported_tool_call: ["protocol"],
  response_too_large: ["too_large"],
};

function told(block) {
  switch (block.type) {
    case "thinking": {
      const { text, signature, redacted } = block;
      return { type: "thinking", text, signature, ...(redacted !== undefined && { redacted: true, data: redacted }) };
    }
    case "tool_use": {
      const { id, name, input, invalid = false, extra } = block;
      return { type: "tool_use", id, name, input, invalid, extra: extra?.extra_content };
    }
    default:
      return block;
  }
}

async function read({ dialect, base_url, api_key, model, prompt, options }) {
  const limits = {};
  if (options.max_response_bytes !== undefined) limits.maxResponseBytes = options.max_response_bytes;
  if (options.idle_timeout_ms !== undefined) limits.idleTimeoutMs = options.idle_timeout_ms;
  const provider = pawl.createProvider({
    dialect: dialect === "openai" ? pawl.openAiChat : pawl.anthropicMessages,
    baseUrl: base_url,
    apiKey: api_key,
    model,
    maxTokens: 256,
    maxRetries: 0,
    limits,
  });
  const conversation = new pawl.Conversation();
  conversation.addUserMessage(prompt);
  try {
    let last;
    for await (const event of provider.stream(conversation)) last = event;
    const { message, stopReason, usage } = last;
    return {
      outcome: "message",
      stop: stopReason,
      blocks: message.content.map(told),
      usage: usage && { input: usage.inputTokens, output: usage.outputTokens },
    };
  } catch (error) {
    if (!pawl.isPawlError(error)) throw error;
    const { code, message, status, retryable, retryAfterMs, partial } = error;
    return {
      outcome: "error",
      kind: KINDS[code] ?? [code],
      message,
      status,
      retryable,
      retry_after_ms: retryAfterMs,
      shown: `${inspect(error, { depth: 9 })}\n${error.stack}`,
      partial: partial?.message?.content.map(told),
    };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await read(JSON.parse(line)))}\n`);
}
