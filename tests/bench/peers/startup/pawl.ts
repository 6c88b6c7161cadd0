/** pawl in the start-up suite of the side-by-side harness: one chat, at the first origin. */
import { Conversation, createProvider, openAiChat } from "@pawl/pawl";

const provider = createProvider({
  dialect: openAiChat,
  baseUrl: `${Deno.args[0]}/v1`,
  apiKey: "sk-test",
  model: "m",
  maxTokens: 4096,
});
const conversation = new Conversation();
conversation.addUserMessage("hi");
for await (const _ of provider.stream(conversation));
