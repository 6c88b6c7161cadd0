/** A tool loop: the model calls, the tool answers, the model goes on until it is done. */
import { Agent, Conversation, createProvider, openAiChat, type Tool } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals } from "@std/assert";

const call = { index: 0, id: "call_1", function: { name: "temperature", arguments: '{"city":"Oslo"}' } };
const provider = createProvider({
  dialect: openAiChat,
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3",
  maxTokens: 1024,
  fetch: scriptedFetch([
    { events: [{ choices: [{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] }, "[DONE]"] },
    { events: [{ choices: [{ delta: { content: "It is 4 °C in Oslo." } }] }, "[DONE]"] },
  ]),
});

const temperature: Tool = {
  name: "temperature",
  description: "Tells the temperature in a city, in °C",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  // What it throws is told to the model, and the run goes on.
  run({ city }) {
    if (city !== "Oslo") throw new Error(`there is no station in ${city}`);
    return "4";
  },
};

const agent = new Agent(provider, { tools: [temperature], maxIterations: 4, toolTimeoutMs: 10_000 });
const conversation = new Conversation();
conversation.addUserMessage("How cold is it in Oslo?");

const seen: string[] = [];
const { text } = await agent.runStep(conversation, {
  onToolStart: ({ name, input }) => void seen.push(`${name} ${input}`),
  onToolResult: (_call, { content }) => void seen.push(content),
});
assertEquals(text, "It is 4 °C in Oslo.");
assertEquals(seen, ['temperature {"city":"Oslo"}', "4"]);

// The conversation holds the call and its result, so that it can go on.
assertEquals(conversation.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
