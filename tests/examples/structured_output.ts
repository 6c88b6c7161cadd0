/** Structured output: an answer that fits a schema and a rule of one's own, asked for once more where it does not. */
import { createProvider, openAiChat, run } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals, assertStringIncludes } from "@std/assert";

const fetch = scriptedFetch([
  { events: [{ choices: [{ delta: { content: 'Sure! {"city":"Oslo","founded":2048}' } }] }, "[DONE]"] },
  { events: [{ choices: [{ delta: { content: '```json\n{"city":"Oslo","founded":1048}\n```' } }] }, "[DONE]"] },
]);
const provider = createProvider({
  dialect: openAiChat,
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3",
  maxTokens: 1024,
  fetch,
});

const { value, iterations } = await run(provider, {
  prompt: "What is the capital of Norway, and when was it founded?",
  // Works on every server: the model is told, and the answer is checked here.
  schema: {
    type: "object",
    properties: { city: { type: "string" }, founded: { type: "integer" } },
    required: ["city", "founded"],
  },
  // What this returns is told to the model. A JSON Schema validator fits in here.
  validate: ({ founded }) => Number(founded) > 2025 ? ["founded lies in the future"] : [],
});
assertEquals(value, { city: "Oslo", founded: 1048 });
assertEquals(iterations, 2);
assertStringIncludes(fetch.requests[1]!.body, "founded lies in the future");
