/**
 * A third dialect in one file: the core of OpenAI's Responses protocol. A dialect says what goes out and what came in; retries, bounds,
 * leaked reasoning, the order of events and the tool loop are the provider's and the agent's.
 */
import { createProvider, type Dialect, type Message, run, type Tool } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals } from "@std/assert";

/** Of the many fields the few that are read here. */
interface WireEvent {
  type: string;
  item_id: string;
  delta: string;
  item: { id: string; type: string; call_id: string; name: string };
  response: {
    id?: string;
    model?: string;
    error?: unknown;
    usage: { input_tokens: number; output_tokens: number };
  } | undefined;
}

const openAiResponses: Dialect = {
  name: "openai_responses",
  modelsPath: "/models",
  basePath: (path) => path || "/v1",
  headers: (key): Record<string, string> => key ? { authorization: `Bearer ${key}` } : {},
  encode: ({ conversation, model, maxTokens, tools }) => ({
    path: "/responses",
    body: {
      model,
      max_output_tokens: maxTokens,
      stream: true,
      input: conversation.messages.flatMap(items),
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        name,
        description,
        parameters: inputSchema,
      })),
    },
  }),
  decoder: (sink) => ({
    take(value) {
      const { type, delta, item_id, item, response } = value as unknown as WireEvent;
      sink.begin(true, response?.id, response?.model);
      if (type === "response.output_text.delta") sink.text(item_id, delta);
      if (type === "response.reasoning_text.delta") sink.thinking(item_id, delta);
      if (type === "response.output_item.added" && item.type === "function_call") {
        sink.call(item.id, { id: item.call_id, name: item.name });
      }
      if (type === "response.function_call_arguments.delta") sink.input(item_id, delta);
      if (type === "response.output_item.done") sink.end(item.id);
      if (type === "response.failed") sink.fail(response?.error);
      if (type !== "response.completed" || !response) return false;
      const { input_tokens: inputTokens, output_tokens: outputTokens } = response.usage;
      sink.usage({ inputTokens, outputTokens });
      return true; // the end of the reply: reading stops here
    },
    done: () => false, // this protocol knows no [DONE]
  }),
};

function items({ role, content }: Message): unknown[] {
  return content.flatMap((block): unknown[] => {
    if (block.type === "text") return [{ role, content: block.text }];
    if (block.type === "tool_result") {
      return [{ type: "function_call_output", call_id: block.toolUseId, output: block.content }];
    }
    if (block.type !== "tool_use") return [];
    return [{ type: "function_call", call_id: block.id, name: block.name, arguments: block.input }];
  });
}

const dice: Tool = {
  name: "dice",
  description: "Rolls a die",
  inputSchema: { type: "object", properties: { sides: { type: "integer" } }, required: ["sides"] },
  run: ({ sides }) => String(sides),
};
const call = { id: "item_1", type: "function_call", call_id: "call_1", name: "dice" };
const usage = { input_tokens: 20, output_tokens: 5 };
const fetch = scriptedFetch([
  {
    events: [
      { type: "response.created", response: { id: "resp_1", model: "big" } },
      { type: "response.output_item.added", item: call },
      { type: "response.function_call_arguments.delta", item_id: "item_1", delta: '{"sides":6}' },
      { type: "response.output_item.done", item: call },
      { type: "response.completed", response: { usage } },
    ],
  },
  {
    events: [
      { type: "response.output_text.delta", item_id: "item_2", delta: "A six!" },
      { type: "response.completed", response: { usage } },
    ],
  },
]);

const provider = createProvider({
  dialect: openAiResponses,
  baseUrl: "http://localhost:8000",
  model: "big",
  maxTokens: 1024,
  fetch,
});
const result = await run(provider, { prompt: "Roll a die.", tools: [dice] });
assertEquals([result.text, result.toolCalls, result.usage], ["A six!", 1, { inputTokens: 40, outputTokens: 10 }]);
assertEquals(JSON.parse(fetch.requests[1]!.body).input.at(-1), {
  type: "function_call_output",
  call_id: "call_1",
  output: "6",
});
