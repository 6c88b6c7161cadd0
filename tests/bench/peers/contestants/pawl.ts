/**
 * pawl as a client of the side-by-side harness, in the shape of its `Contestant`: as people use it, and with the bounds
 * that its largest reply needs. It imports nothing of the harness, so that it can be checked and tried here.
 *
 * @module
 */
import { anthropicMessages, Conversation, createProvider, openAiChat, type Tool } from "@pawl/pawl";

interface Job {
  dialect: "openai" | "anthropic";
  baseUrl: string;
  apiKey: string;
  model: string;
  prompt: string;
  /** Whether to offer the tool that the reply calls. */
  tool: boolean;
  /** Is to be called at the first delta. */
  onFirst(): void;
}

interface Outcome {
  deltas: number;
  text: string;
  thinking: string;
  /** Arguments of the call as JSON text. */
  toolArgs?: string;
}

const TOOLS: Tool[] = [{
  name: "write_file",
  description: "Write text to a file.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, content: { type: "string" } },
    required: ["path", "content"],
    additionalProperties: false,
  },
  run: () => "written",
}];

async function run({ dialect, baseUrl, apiKey, model, prompt, tool, onFirst }: Job): Promise<Outcome> {
  const provider = createProvider({
    dialect: dialect === "openai" ? openAiChat : anthropicMessages,
    baseUrl,
    apiKey,
    model,
    maxTokens: 4096,
    limits: { maxResponseBytes: 2 ** 30, maxEventBytes: 2 ** 26, maxToolInputBytes: 2 ** 26 },
  });
  const conversation = new Conversation();
  conversation.addUserMessage(prompt);
  const outcome: Outcome = { deltas: 0, text: "", thinking: "" };
  for await (const event of provider.stream(conversation, { tools: tool ? TOOLS : [] })) {
    if (event.type === "content_delta") {
      if (outcome.deltas++ === 0) onFirst();
    } else if (event.type === "message_complete") {
      for (const block of event.message.content) {
        if (block.type === "text") outcome.text += block.text;
        else if (block.type === "thinking") outcome.thinking += block.text;
        else if (block.type === "tool_use") outcome.toolArgs = block.input;
      }
    }
  }
  return outcome;
}

export default {
  name: "pawl",
  // The harness finds the dialects by their text on this line.
  dialects: ["openai", "anthropic"],
  note: "for await over provider.stream, to the final message",
  run,
};
