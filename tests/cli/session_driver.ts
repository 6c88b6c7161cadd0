/**
 * A run of a tool loop that a test kills: `session_driver.ts SESSION EFFECTS`. Each call appends its id to EFFECTS, the one effect that it has.
 * @module
 */
import { Agent } from "../../src/agent/agent.ts";
import { Session } from "../../src/cli/session.ts";
import { openAiChat } from "../../src/dialects/openai_chat.ts";
import type { Tool } from "../../src/model/tool.ts";
import { createProvider } from "../../src/provider/provider.ts";

const [sessionFile, effectsFile] = Deno.args as [string, string];

/** Calls one to three tools in each reply; ids count the messages, so that a lost message would call a tool again. */
function reply(_input: URL | RequestInfo, init?: RequestInit): Promise<Response> {
  const { length } = JSON.parse(init!.body as string).messages as unknown[];
  const calls = Array.from({ length: 1 + length % 3 }, (_, index) => ({
    index,
    id: `call-${length}-${index}`,
    function: { name: "effect", arguments: `{"n":${length}}` },
  }));
  const chunk = { choices: [{ delta: { content: "Working. ", tool_calls: calls }, finish_reason: "tool_calls" }] };
  const body = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
}

const effect: Tool = {
  name: "effect",
  description: "Has an effect",
  inputSchema: { type: "object" },
  async run(_input, { call }) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    Deno.writeTextFileSync(effectsFile, `${call.id}\n`, { append: true });
    await new Promise((resolve) => setTimeout(resolve, 2));
    return `done ${call.id}`;
  },
};

using session = Session.open(sessionFile);
const provider = createProvider({
  dialect: openAiChat,
  model: "scripted",
  maxTokens: 100,
  baseUrl: "http://localhost/v1",
  fetch: reply,
});
const agent = new Agent(provider, { tools: [effect], maxIterations: 32 });
console.log("ready");
for (;;) {
  session.conversation.addUserMessage("Go on");
  session.save();
  try {
    for await (const event of agent.stream(session.conversation)) session.record(event);
  } catch {
    session.save(); // the loop has reached its bound: the next turn begins
  }
}
