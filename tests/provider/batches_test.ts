import { assertEquals, assertRejects } from "@std/assert";
import { Conversation, createProvider, isPawlError, openAiChat, PawlError, type Provider } from "@pawl/pawl";
import { type ScriptedFetch, scriptedFetch, type ScriptedReply } from "@pawl/pawl/testing";

const CONVERSATION = new Conversation();
CONVERSATION.addUserMessage("hi");

function providerOf(reply: ScriptedReply): { provider: Provider; fetch: ScriptedFetch } {
  const fetch = scriptedFetch([reply]);
  const provider = createProvider({
    dialect: openAiChat,
    baseUrl: "http://localhost:1/v1",
    model: "m",
    maxTokens: 10,
    maxRetries: 0,
    fetch,
  });
  return { provider, fetch };
}

function piece(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
}

const OVER = { value: undefined, done: true };

Deno.test("Provider.batches: nothing is sent once it was left, and it stays over", async () => {
  const { provider, fetch } = providerOf({ chunks: [piece("a"), piece("b")], end: "stall" });
  const unpulled = provider.batches(CONVERSATION);
  await unpulled.return!();
  assertEquals([await unpulled.next(), fetch.requests.length], [OVER, 0]);

  const left = provider.batches(CONVERSATION);
  assertEquals((await left.next()).done, false);
  await left.return!();
  for (let i = 0; i < 2; i++) assertEquals<unknown>(await left.next(), OVER);
  assertEquals(fetch.requests.length, 1);
});

Deno.test("Provider.batches: after its error it is over", async () => {
  const { provider } = providerOf({ failure: "connection refused" });
  const batches = provider.batches(CONVERSATION);
  await assertRejects(() => batches.next(), PawlError, "connection refused");
  assertEquals<unknown>(await batches.next(), OVER);
});

Deno.test("Provider.stream: what is held back when a reply fails is told in `partial`, however it was cut", async () => {
  const broken = [piece("a"), piece("</th"), "data: {\n\n", piece("b")];
  for (const chunks of [broken, [broken.join("")], broken.join("").split("")]) {
    const { provider } = providerOf({ chunks });
    let told = "";
    try {
      for await (const event of provider.stream(CONVERSATION)) if (event.type === "content_delta") told += event.delta;
    } catch (error) {
      if (!isPawlError(error, "malformed_stream")) throw error;
      told += ` ${JSON.stringify(error.partial?.message?.content)}`;
    }
    assertEquals(told, 'a [{"type":"text","text":"a</th"}]');
  }
});

Deno.test("Provider.stream: calls that overlap are answered in order, and nothing follows a return", async () => {
  const chunks = ["a", "b", "c", "d"].map(piece).join("");
  const stop = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const { provider } = providerOf({ chunks: [chunks + stop] });
  const events = provider.stream(CONVERSATION);
  const told: string[] = [];
  let pulls = [events.next(), events.next(), events.next()];
  for (let done = false; !done;) {
    const result = await pulls[0]!;
    pulls = [...pulls.slice(1), events.next()];
    done = result.done === true;
    if (!result.done) told.push(result.value.type === "content_delta" ? result.value.delta : result.value.type);
  }
  await Promise.all(pulls);
  assertEquals(told.join(" "), "message_start block_start a b c d block_complete message_complete");

  const left = providerOf({ chunks: [chunks], end: "stall" }).provider.stream(CONVERSATION);
  await left.next();
  const [, next] = await Promise.all([left.return(undefined as never), left.next()]);
  assertEquals<unknown>(next, OVER);
});

Deno.test("Provider: a signal that is aborted already is not listened to", async () => {
  const { provider, fetch } = providerOf({});
  const signal = AbortSignal.abort("gone");
  let listeners = 0;
  signal.addEventListener = () => void listeners++;
  signal.removeEventListener = () => void listeners--;
  for (
    const ask of [
      () => provider.stream(CONVERSATION, { signal }).next(),
      () => provider.streamStep(CONVERSATION, {}, { signal }),
      () => provider.listModels({ signal }),
    ]
  ) assertEquals<unknown>(await ask().catch((reason) => reason), "gone");
  assertEquals([fetch.requests.length, listeners], [0, 0]);
});

Deno.test("Provider.streamStep: what a receiver threw is not told to onError, if it is nothing", async () => {
  const { provider } = providerOf({ chunks: [piece("a")], end: "stall" });
  const told: unknown[] = [];
  const step = provider.streamStep(CONVERSATION, {
    onContentDelta: () => Promise.reject(),
    onError: (error) => void told.push(error),
  });
  assertEquals([await step.catch((reason) => reason), told], [undefined, []]);
});
