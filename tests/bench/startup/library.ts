/** The same request with the library. */
import { Conversation, createProvider, openAiChat } from "../../../mod.ts";

const [origin, key] = Deno.args;
const provider = createProvider({
  dialect: openAiChat,
  baseUrl: `${origin}/${key}`,
  model: "bench-model",
  maxTokens: 4096,
});
const conversation = new Conversation();
conversation.addUserMessage("Hi");
await Array.fromAsync(provider.stream(conversation));
