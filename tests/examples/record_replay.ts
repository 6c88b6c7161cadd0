/** Record and replay: talk to a server once, test against what it said ever after, without a network. */
import { createProvider, openAiChat, run } from "@pawl/pawl";
import { recordFetch, replayFetch, scriptedFetch } from "@pawl/pawl/testing";
import { assert, assertEquals, assertRejects } from "@std/assert";

function task(fetch: typeof globalThis.fetch, prompt: string): Promise<{ text: string }> {
  const provider = createProvider({
    dialect: openAiChat,
    baseUrl: "http://localhost:11434/v1",
    model: "qwen3",
    maxTokens: 1024,
    apiKey: "sk-example-0001",
    fetch,
  });
  return run(provider, { prompt });
}

// The real fetch in a program: recordFetch(fetch, (line) => Deno.writeTextFile("talk.jsonl", line + "\n", { append: true })).
const server = scriptedFetch([{ events: [{ choices: [{ delta: { content: "Four." } }] }, "[DONE]"] }]);
const lines: string[] = [];
await task(recordFetch(server, (line) => void lines.push(line)), "How much is two and two?");
assert(!lines.join().includes("sk-example-0001"), "a recording holds no key");

const { text } = await task(replayFetch(lines.join("\n")), "How much is two and two?");
assertEquals(text, "Four.");

// Another question is not in the recording: that is an error, not an old answer.
await assertRejects(() => task(replayFetch(lines.join("\n")), "And three?"), Error, "its body differs");
