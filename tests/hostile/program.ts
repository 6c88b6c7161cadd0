// A program as a user would write it, run by `deno task hostile` with one net and one env permission: BASE-URL DIALECT.
import { anthropicMessages, createProvider, isPawlError, openAiChat, run } from "@pawl/pawl";
import { LIMITS } from "./right.ts";
import tools from "./tools.ts";

const [baseUrl = "", dialect] = Deno.args;
const provider = createProvider({
  dialect: dialect === "anthropic_messages" ? anthropicMessages : openAiChat,
  baseUrl,
  model: "hostile",
  maxTokens: 1024,
  apiKey: Deno.env.get("CANARY"),
  limits: LIMITS,
});
try {
  const { text } = await run(provider, { prompt: "hello", tools });
  await new Blob([text]).stream().pipeTo(Deno.stdout.writable);
} catch (error) {
  if (!isPawlError(error)) throw error;
  console.error(`error: ${error.code}: ${error.message}`);
  Deno.exit(1);
}
