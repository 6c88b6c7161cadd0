// A program as a user would write it, run by a test with the network permission alone: BASE-URL DIALECT.
import { anthropicMessages, createProvider, openAiChat, run } from "@pawl/pawl";

const [baseUrl, dialect] = Deno.args;
const provider = createProvider({
  dialect: dialect === "anthropic_messages" ? anthropicMessages : openAiChat,
  baseUrl: baseUrl!,
  model: "scripted",
  maxTokens: 256,
  apiKey: "sk-a-key-of-no-worth",
});
const { text, toolCalls } = await run(provider, {
  prompt: 'Use the tool shout with "hello"',
  tools: [{
    name: "shout",
    description: "Says it louder",
    inputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
    run: ({ words }) => String(words).toUpperCase(),
  }],
});
console.log(`${toolCalls} ${text}`);
