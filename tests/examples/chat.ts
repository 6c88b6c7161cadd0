/** A chat: two messages, the answers as they arrive. */
import { Conversation, createProvider, openAiChat } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals } from "@std/assert";

const provider = createProvider({
  dialect: openAiChat,
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3",
  maxTokens: 1024,
  // Stands in for a server. Without this line the provider talks to the one above.
  fetch: scriptedFetch([
    {
      events: [
        { choices: [{ delta: { content: "Hello, " } }] },
        { choices: [{ delta: { content: "Ada." } }] },
        "[DONE]",
      ],
    },
    { events: [{ choices: [{ delta: { content: "Ada, you said." } }] }, "[DONE]"] },
  ]),
});

const conversation = new Conversation();
conversation.addSystemMessage("Be brief.");

async function say(text: string): Promise<string> {
  conversation.addUserMessage(text);
  let answer = "";
  let isText = false;
  for await (const event of provider.stream(conversation)) {
    if (event.type === "block_start") isText = event.blockType === "text";
    // A program would print the piece here.
    if (event.type === "content_delta" && isText) answer += event.delta;
    if (event.type === "message_complete") conversation.addAssistantMessage(event.message);
  }
  return answer;
}

assertEquals(await say("My name is Ada."), "Hello, Ada.");
assertEquals(await say("What is my name?"), "Ada, you said.");
assertEquals(conversation.messages.map(({ role }) => role), ["system", "user", "assistant", "user", "assistant"]);
