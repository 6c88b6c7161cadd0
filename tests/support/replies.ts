/**
 * How a scripted turn looks on the wire: as server-sent events or one JSON document, in either dialect.
 *
 * @module
 */

/** One tool call of a turn. */
export interface Call {
  name: string;
  input: Record<string, unknown>;
}

/** What the scripted model says in one reply. */
export interface Turn {
  thinking?: string;
  text?: string;
  calls?: Call[];
  /** Why it ended; by default `tool_use` with calls, else `end_turn`. */
  stop?: "end_turn" | "tool_use" | "max_tokens";
}

/** What frames a turn: names and counts that a real server would know. */
export interface Frame {
  model: string;
  /** Unique within the endpoint: ids of replies and calls are made of it. */
  serial: number;
  /** Tokens of the request; 42 unless given. */
  inputTokens?: number;
  /** Whether an OpenAI stream ends with a usage chunk. */
  usage: boolean;
  /** More fields for each chunk of an OpenAI stream: vendors add some. */
  envelope?: Record<string, unknown>;
}

/** A turn in one dialect. */
export interface Encoding {
  /** The events of a stream, each as its wire text. */
  stream(turn: Turn, frame: Frame): string[];
  /** The reply as one document. */
  document(turn: Turn, frame: Frame): unknown;
}

/** Cuts a text as a model would speak it: a word with the blank before it. */
function tokens(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

function stopOf(turn: Turn): "end_turn" | "tool_use" | "max_tokens" {
  return turn.stop ?? (turn.calls?.length ? "tool_use" : "end_turn");
}

/** Tokens of a turn, counted as the endpoint cuts it. */
function outputTokens(turn: Turn): number {
  return tokens(`${turn.thinking ?? ""} ${turn.text ?? ""} ${JSON.stringify(turn.calls ?? [])}`).length;
}

const OPENAI_STOPS = { end_turn: "stop", tool_use: "tool_calls", max_tokens: "length" };

function openAiUsage(turn: Turn, { inputTokens = 42 }: Frame): unknown {
  const completion = outputTokens(turn);
  return { prompt_tokens: inputTokens, completion_tokens: completion, total_tokens: inputTokens + completion };
}

interface OpenAiCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

function openAiCalls(turn: Turn, { serial }: Frame): OpenAiCall[] {
  return (turn.calls ?? []).map(({ name, input }, index) => ({
    id: `call_${serial}_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
}

/** `/chat/completions`, reasoning in `reasoning_content` as llama.cpp and DeepSeek send it. */
export const openAiEncoding: Encoding = {
  stream(turn, frame) {
    const base = {
      id: `chatcmpl-${frame.serial}`,
      object: "chat.completion.chunk",
      created: 0,
      model: frame.model,
      ...frame.envelope,
    };
    const deltas: unknown[] = [
      { role: "assistant", content: null },
      ...tokens(turn.thinking ?? "").map((text) => ({ reasoning_content: text })),
      ...tokens(turn.text ?? "").map((content) => ({ content })),
    ];
    openAiCalls(turn, frame).forEach((call, index) => {
      deltas.push({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }] });
      for (const piece of tokens(call.function.arguments)) {
        deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
      }
    });
    const chunks: unknown[] = deltas.map((delta) => ({ ...base, choices: [{ index: 0, delta, finish_reason: null }] }));
    chunks.push({ ...base, choices: [{ index: 0, delta: {}, finish_reason: OPENAI_STOPS[stopOf(turn)] }] });
    if (frame.usage) chunks.push({ ...base, choices: [], usage: openAiUsage(turn, frame) });
    return [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"];
  },
  document(turn, frame) {
    const message = {
      role: "assistant",
      content: turn.text ?? null,
      ...turn.thinking && { reasoning_content: turn.thinking },
      ...turn.calls?.length && { tool_calls: openAiCalls(turn, frame) },
    };
    return {
      id: `chatcmpl-${frame.serial}`,
      object: "chat.completion",
      created: 0,
      model: frame.model,
      choices: [{ index: 0, message, finish_reason: OPENAI_STOPS[stopOf(turn)] }],
      usage: openAiUsage(turn, frame),
    };
  },
};

function anthropicBlocks(turn: Turn, { serial }: Frame): Array<Record<string, unknown>> {
  const blocks: Array<Record<string, unknown>> = [];
  if (turn.thinking) blocks.push({ type: "thinking", thinking: turn.thinking, signature: `sig_${serial}` });
  if (turn.text) blocks.push({ type: "text", text: turn.text });
  (turn.calls ?? []).forEach(({ name, input }, index) => {
    blocks.push({ type: "tool_use", id: `toolu_${serial}_${index}`, name, input });
  });
  return blocks;
}

/** A block as it starts, and the deltas that fill it. */
function anthropicDeltas(block: Record<string, unknown>): { start: unknown; deltas: unknown[] } {
  switch (block.type) {
    case "thinking":
      return {
        start: { ...block, thinking: "", signature: "" },
        deltas: [
          ...tokens(String(block.thinking)).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.signature },
        ],
      };
    case "text":
      return {
        start: { ...block, text: "" },
        deltas: tokens(String(block.text)).map((text) => ({ type: "text_delta", text })),
      };
    default:
      return {
        start: { ...block, input: {} },
        deltas: tokens(JSON.stringify(block.input)).map((text) => ({ type: "input_json_delta", partial_json: text })),
      };
  }
}

/** `/v1/messages`. */
export const anthropicEncoding: Encoding = {
  stream(turn, frame) {
    const message = anthropicMessage(frame, { content: [], stop_reason: null, output: 1 });
    const events: Array<{ type: string } & Record<string, unknown>> = [{ type: "message_start", message }, {
      type: "ping",
    }];
    anthropicBlocks(turn, frame).forEach((block, index) => {
      const { start, deltas } = anthropicDeltas(block);
      events.push({ type: "content_block_start", index, content_block: start });
      for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
      events.push({ type: "content_block_stop", index });
    });
    events.push({
      type: "message_delta",
      delta: { stop_reason: stopOf(turn), stop_sequence: null },
      usage: { output_tokens: outputTokens(turn) },
    });
    events.push({ type: "message_stop" });
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  },
  document(turn, frame) {
    const content = anthropicBlocks(turn, frame);
    return anthropicMessage(frame, { content, stop_reason: stopOf(turn), output: outputTokens(turn) });
  },
};

function anthropicMessage(
  { serial, model, inputTokens = 42 }: Frame,
  state: { content: unknown[]; stop_reason: string | null; output: number },
): unknown {
  return {
    id: `msg_${serial}`,
    type: "message",
    role: "assistant",
    model,
    content: state.content,
    stop_reason: state.stop_reason,
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: state.output },
  };
}
