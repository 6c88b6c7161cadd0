import { assert, assertEquals, assertThrows } from "@std/assert";
import { Conversation } from "../../src/model/conversation.ts";

function full(): Conversation {
  const conversation = new Conversation();
  conversation.addSystemMessage("Be brief.");
  conversation.addUserMessage([{ type: "text", text: "Look" }, {
    type: "image",
    mediaType: "image/png",
    data: "AAAA",
  }]);
  conversation.addAssistantMessage({
    role: "assistant",
    content: [
      { type: "thinking", text: "hm", signature: "s" },
      { type: "tool_use", id: "c1", name: "look", input: '{"n":12345678901234567890}', extra: { google: 1 } },
      { type: "opaque", value: { type: "server_tool_use" } },
    ],
    origin: { dialect: "openai_chat", model: "m" },
  });
  conversation.addToolResults([{ type: "tool_result", toolUseId: "c1", content: "a cat", isError: true }]);
  return conversation;
}

Deno.test("Conversation survives a JSON round trip to the letter", () => {
  const json = JSON.stringify(full());
  const copy = Conversation.fromJSON(JSON.parse(json));
  assertEquals(copy.messages, full().messages);
  assertEquals(JSON.stringify(copy), json);
});

Deno.test("Conversation keeps the origin of a completed message, and none for plain blocks", () => {
  const conversation = full();
  assertEquals(conversation.messages[2]?.origin, { dialect: "openai_chat", model: "m" });
  conversation.addAssistantMessage([{ type: "text", text: "hi" }]);
  assert(!("origin" in conversation.messages[4]!));
});

Deno.test("Conversation copies the arrays it is given", () => {
  const conversation = new Conversation();
  const blocks = [{ type: "text" as const, text: "a" }];
  conversation.addUserMessage(blocks);
  conversation.addAssistantMessage({ role: "assistant", content: blocks });
  blocks.push({ type: "text", text: "b" });
  assertEquals(conversation.messages.map(({ content }) => content.length), [1, 1]);
});

Deno.test("Conversation.toJSON is what was said so far, whatever is said later", () => {
  const conversation = full();
  const json = conversation.toJSON();
  conversation.addUserMessage("more");
  assertEquals(json, full().toJSON());
});

Deno.test("Conversation.fromJSON refuses what is no conversation and names the message", () => {
  for (const bad of [null, 1, "x", [], {}, { version: 2, messages: [] }, { version: 1, messages: {} }]) {
    assertThrows(() => Conversation.fromJSON(bad), TypeError, "Cannot read the conversation");
  }
  const message = (content: unknown, role = "user") => ({
    version: 1,
    messages: [{ role: "system", content: [] }, { role, content }],
  });
  for (
    const bad of [
      message([{ type: "text" }]),
      message([{ type: "text", text: 1 }]),
      message([null]),
      message(["x"]),
      message([{ type: "toString" }]),
      message([{ type: "__proto__" }]),
      message([{ type: "tool_use", id: "a", name: "b", input: {} }]),
      message("text"),
      message([], "tool"),
    ]
  ) assertThrows(() => Conversation.fromJSON(bad), TypeError, "messages[1] is no message");
});
