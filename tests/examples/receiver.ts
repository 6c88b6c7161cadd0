/** A receiver of one's own: callbacks instead of events, here for a log that tells reasoning from answers. */
import { type ContentBlock, createProvider, openAiChat, type Receiver, run } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals } from "@std/assert";

class Log implements Receiver {
  readonly lines: string[] = [];

  onRetry({ code, delayMs }: { code: string; delayMs: number }): void {
    this.lines.push(`retry after ${code}, ${delayMs > 0 ? "later" : "now"}`);
  }

  // A completed block outranks its deltas: reasoning may have begun as text.
  onBlockComplete(_index: number, block: ContentBlock): void {
    if (block.type === "thinking" || block.type === "text") this.lines.push(`${block.type}: ${block.text}`);
  }

  onError(error: unknown): void {
    this.lines.push(`failed: ${error}`);
  }
}

const provider = createProvider({
  dialect: openAiChat,
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3",
  maxTokens: 1024,
  fetch: scriptedFetch([
    { status: 503, json: { error: { message: "loading model" } } },
    { events: [{ choices: [{ delta: { content: "<think>2 and 2</think>Four." } }] }, "[DONE]"] },
  ]),
});

const log = new Log();
const { text } = await run(provider, { prompt: "How much is two and two?", receiver: log });
assertEquals(text, "Four.");
assertEquals(log.lines, ["retry after http_status, later", "thinking: 2 and 2", "text: Four."]);
