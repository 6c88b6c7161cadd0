/** A server: streams an answer to a browser as it arrives. Whoever closes the page ends the reply. */
import { Conversation, createProvider, isPawlError, openAiChat } from "@pawl/pawl";
import { scriptedFetch } from "@pawl/pawl/testing";
import { assertEquals, assertMatch } from "@std/assert";

const provider = createProvider({
  dialect: openAiChat,
  baseUrl: "http://localhost:11434/v1",
  model: "qwen3",
  maxTokens: 1024,
  maxRetries: 0,
  fetch: scriptedFetch([
    {
      events: [{ choices: [{ delta: { content: "The " } }] }, { choices: [{ delta: { content: "sky." } }] }, "[DONE]"],
    },
    { events: [{ choices: [{ delta: { content: "The " } }] }], end: "break" },
    { events: [{ choices: [{ delta: { content: "The " } }] }], end: "stall" },
  ]),
});

/** Server-sent events, as `new EventSource(url)` reads them; the page closes it at `done` and `failed`, or the browser asks again. */
async function* answer(question: string, signal: AbortSignal): AsyncGenerator<string> {
  const conversation = new Conversation();
  conversation.addUserMessage(question);
  let isText = false;
  try {
    for await (const event of provider.stream(conversation, { signal })) {
      if (event.type === "block_start") isText = event.blockType === "text"; // and not what the model thinks
      if (event.type === "content_delta" && isText) yield `data: ${JSON.stringify(event.delta)}\n\n`;
      if (event.type === "message_complete") yield `event: done\ndata: ${event.stopReason}\n\n`;
    }
  } catch (error) {
    if (!isPawlError(error)) throw error;
    // Its text holds no key and no address, so that it may be shown.
    yield `event: failed\ndata: ${error.message}\n\n`;
  }
}

/** Give this to `Deno.serve`, or to any server that takes a `Request`. */
function handler(request: Request): Response {
  const question = new URL(request.url).searchParams.get("q") ?? "";
  const left = new AbortController();
  const events = answer(question, left.signal);
  const body = new ReadableStream<string>({
    async pull(controller) {
      const { value, done } = await events.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    // A generator that waits for the model hears nothing but the signal.
    cancel: (reason) => left.abort(reason),
  });
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers: { "content-type": "text/event-stream" } });
}

function ask(): Response {
  return handler(new Request("http://localhost/?q=What+is+blue"));
}

assertEquals(await ask().text(), 'data: "The "\n\ndata: "sky."\n\nevent: done\ndata: end_turn\n\n');
assertMatch(await ask().text(), /^data: "The "\n\nevent: failed\ndata: Cannot read the reply: .*\n\n$/);

const reader = ask().body!.getReader();
assertEquals(new TextDecoder().decode((await reader.read()).value), 'data: "The "\n\n');
await reader.cancel(); // the page is closed: the connection to the model too
