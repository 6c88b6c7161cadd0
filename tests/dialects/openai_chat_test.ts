/** Requests of the OpenAI dialect, rule by rule (request cases R-01…R-45). */
import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { openAiChat } from "../../src/dialects/openai_chat.ts";
import type { ContentBlock, Message } from "../../src/model/message.ts";
import type { DialectRequest } from "../../src/provider/dialect.ts";
import { type Body, encodeBody, encodeText, replied, repliedBy, results, said, tool, use } from "./encoding.ts";

function encode(messages: readonly Message[], options?: Partial<DialectRequest>): Body {
  return encodeBody(openAiChat, messages, options);
}

function thinking(text: string, field?: string, details?: unknown): ContentBlock {
  return { type: "thinking", text, ...(field && { field }), ...(details !== undefined && { details }) };
}

Deno.test("openAiChat.encode sends nothing that was not asked for", () => {
  assertEquals(encode([said("system", "S"), said("user", "hi")]), {
    model: "test-model",
    messages: [{ role: "system", content: "S" }, { role: "user", content: "hi" }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 256,
  });
});

Deno.test("openAiChat.encode sends what was asked for, a temperature of 0 included", () => {
  const body = encode([said("user", "hi")], {
    temperature: 0,
    stop: ["x"],
    thinking: "high",
    compat: { streamUsage: false },
  });
  assertEquals(body.temperature, 0);
  assertEquals(body.stop, ["x"]);
  assertEquals(body.reasoning_effort, "high");
  assertFalse("stream_options" in body);
  assertFalse("stop" in encode([said("user", "hi")], { stop: [] }));
});

Deno.test("openAiChat.encode maps a budget to the nearest effort", () => {
  const efforts = [1, 1024, 2559, 2560, 4096, 10_239, 10_240, 99_999].map((budgetTokens) =>
    encode([said("user", "hi")], { thinking: { budgetTokens } }).reasoning_effort
  );
  assertEquals(efforts, ["low", "low", "low", "medium", "medium", "medium", "high", "high"]);
  for (const odd of ["max", "constructor", { budgetTokens: 0 }, { budgetTokens: 1.5 }]) {
    assertThrows(() => encode([said("user", "hi")], { thinking: odd as never }), RangeError, "thinking");
  }
});

for (const model of ["o1", "o3-mini", "o4-mini-2025-04-16", "openai/o3", "GPT-5-mini", " o1 ", "gpt-5"]) {
  Deno.test(`openAiChat.encode limits ${model} with max_completion_tokens`, () => {
    const body = encode([said("user", "hi")], { model });
    assertEquals(body.max_completion_tokens, 256);
    assertFalse("max_tokens" in body);
  });
}

for (const model of ["gpt-4o", "gpt-4o-mini", "gpt-3.5-turbo", "openhermes", "olmo-7b", "o3/llama"]) {
  Deno.test(`openAiChat.encode limits ${model} with max_tokens`, () => {
    assertEquals(encode([said("user", "hi")], { model }).max_tokens, 256);
  });
}

Deno.test("openAiChat.encode names the output limit as told", () => {
  assertEquals(encode([said("user", "hi")], { model: "o1", compat: { maxTokensField: "max_tokens" } }).max_tokens, 256);
});

Deno.test("openAiChat.encode never sends a request without a message", () => {
  assertEquals(encode([said("user", " \n")]).messages, [{ role: "user", content: "(continue)" }]);
  assertEquals(encode([said("system", "S")]).messages, [{ role: "system", content: "S" }]);
});

Deno.test("openAiChat.encode puts all system texts first, and joins the texts of one user message with a blank line", () => {
  const { messages } = encode([
    said("user", "a", "b"),
    said("system", "S", " "),
    said("system", "T"),
    said("user", "c"),
  ]);
  assertEquals(messages, [
    { role: "system", content: "S\n\nT" },
    { role: "user", content: "a\n\nb" },
    { role: "user", content: "c" },
  ]);
});

Deno.test("openAiChat.encode sends images as data URLs in parts, in order", () => {
  const { messages } = encode([{
    role: "user",
    content: [{ type: "text", text: "see" }, { type: "image", mediaType: "image/png", data: "QUJD" }],
  }]);
  assertEquals(messages[0].content, [
    { type: "text", text: "see" },
    { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
  ]);
});

Deno.test("openAiChat.encode sends calls, their raw arguments and their results in order", () => {
  const raw = '{ "n": 12345678901234567890, "x": 1.0 }';
  const { messages } = encode([
    said("user", "hi"),
    replied("a", use("c1", "f", raw), "b", use("c2", "g", "")),
    results(["c2", ""], ["c1", "one"]),
  ]);
  assertEquals(messages.slice(1), [
    {
      role: "assistant",
      content: "ab",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "f", arguments: raw } },
        { id: "c2", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "one" },
    { role: "tool", tool_call_id: "c2", content: "(no output)" },
  ]);
});

Deno.test("openAiChat.encode sends null or an empty string beside calls, never without", () => {
  const conversation = [said("user", "hi"), replied(" \n", use("c", "f")), results(["c", "x"])];
  assertEquals(encode(conversation).messages[1].content, null);
  assertEquals(encode(conversation, { compat: { emptyContent: "empty" } }).messages[1].content, "");
});

Deno.test("openAiChat.encode leaves out replies without text and calls", () => {
  const { messages } = encode([
    said("user", "a"),
    replied(),
    replied(" \n"),
    replied(thinking("t")),
    said("user", "b"),
  ]);
  assertEquals(messages.map(({ content }: Body) => content), ["a", "b"]);
});

Deno.test("openAiChat.encode wraps invalid arguments", () => {
  const long = '{"a":"' + "x".repeat(2000);
  const { messages } = encode([
    said("user", "hi"),
    replied(use("c", "f", long, { invalid: true }), use("d", "f", "[1]")),
  ]);
  const sent = messages[1].tool_calls.map((call: Body) => JSON.parse(call.function.arguments));
  assertEquals(sent, [{ INVALID_JSON: long.slice(0, 1000) }, { INVALID_JSON: "[1]" }]);
});

Deno.test("openAiChat.encode keeps ids verbatim, also repeated ones of other turns", () => {
  const turn = [replied(use("functions.f:0", "f")), results(["functions.f:0", "x"])];
  const { messages } = encode([said("user", "hi"), ...turn, ...turn]);
  assertEquals(messages[1].tool_calls[0].id, "functions.f:0");
  assertEquals(messages[3].tool_calls[0].id, "functions.f:0");
  assertEquals(messages[4].tool_call_id, "functions.f:0");
});

Deno.test("openAiChat.encode maps ids to nine letters and digits for Mistral, call and result together", () => {
  const { messages } = encode([
    said("user", "hi"),
    replied(use("a:1", "f"), use("abcdef123", "f")),
    results(["a:1", "x"], ["abcdef123", "y"]),
    replied(use("a:1", "f")),
    results(["a:1", "z"]),
  ], { compat: { toolIds: "mistral9" } });
  const ids = messages.flatMap((m: Body) => m.tool_call_id ?? m.tool_calls?.map(({ id }: Body) => id) ?? []);
  assertEquals(ids, ["call10001", "abcdef123", "call10001", "abcdef123", "call10002", "call10002"]);
});

Deno.test("openAiChat.encode joins turns of one role, and parts user from tool, for strict templates", () => {
  const conversation = [
    said("user", "a"),
    said("user", "b"),
    replied("c"),
    replied("d", use("i", "f")),
    results(["i", "r"]),
    said("user", "e"),
  ];
  const roles = (mergeRoles: boolean) =>
    encode(conversation, { compat: { mergeRoles } }).messages.map(({ role, content }: Body) => `${role} ${content}`);
  assertEquals(roles(true), ["user a\n\nb", "assistant cd", "tool r", "assistant (continue)", "user e"]);
  assertEquals(roles(false), ["user a", "user b", "assistant c", "assistant d", "tool r", "user e"]);
});

Deno.test("openAiChat.encode declares tools, and properties where a schema has none", () => {
  const { tools } = encode([said("user", "hi")], {
    tools: [tool("f"), tool("g", { type: "object", properties: { a: {} }, required: ["a"] })],
  });
  assertEquals(tools, [
    {
      type: "function",
      function: { name: "f", description: "About f", parameters: { type: "object", properties: {} } },
    },
    {
      type: "function",
      function: {
        name: "g",
        description: "About g",
        parameters: { type: "object", properties: { a: {} }, required: ["a"] },
      },
    },
  ]);
});

Deno.test("openAiChat.encode declares the called names when no tools are given", () => {
  const body = encode([said("user", "hi"), replied(use("a", "f"), use("b", "f"), use("c", "né.x"))]);
  assertEquals(
    body.tools,
    ["f", "n__x"].map((name) => ({
      type: "function",
      function: { name, parameters: { type: "object", properties: {} } },
    })),
  );
  assertFalse("tools" in encode([said("user", "hi")], { toolChoice: "auto" }));
});

Deno.test("openAiChat.encode maps every tool choice", () => {
  const choose = (toolChoice: DialectRequest["toolChoice"]) =>
    encode([said("user", "hi")], { tools: [tool("f")], ...(toolChoice && { toolChoice }) }).tool_choice;
  assertEquals(choose(undefined), undefined);
  for (const word of ["auto", "none", "required"] as const) assertEquals(choose(word), word);
  assertEquals(choose({ name: "f" }), { type: "function", function: { name: "f" } });
  assertThrows(() => choose({ name: "g" }), TypeError, "toolChoice");
  assertThrows(() => encode([said("user", "hi")], { toolChoice: "required" }), TypeError, "toolChoice");
});

Deno.test("openAiChat.encode sends reasoning back under its field, in the running tool loop and to where it came from", () => {
  const loop = (model?: string) => [
    repliedBy(openAiChat, [thinking("t", "reasoning"), thinking("leaked"), use("c", "f")], model),
    results(["c", "x"]),
  ];
  const { messages } = encode([said("user", "a"), ...loop(), said("user", "b"), ...loop()]);
  assertFalse("reasoning" in messages[1]);
  assertEquals(messages[4].reasoning, "t");
  assertFalse("reasoning" in encode([said("user", "a"), ...loop("other")]).messages[1]);
  assertFalse(
    "reasoning" in encode([said("user", "a"), ...loop()], { compat: { echoReasoning: "never" } }).messages[1],
  );
});

Deno.test("openAiChat.encode sends reasoning on every turn if told so, empty where there is none", () => {
  const { messages } = encode([
    said("user", "a"),
    replied("x"),
    said("user", "b"),
    repliedBy(openAiChat, [thinking("t", "reasoning_content"), "y"]),
    said("user", "c"),
    repliedBy(openAiChat, [thinking("foreign", "reasoning_content"), "z"], "other"),
    said("user", "d"),
  ], { compat: { echoReasoning: "always" } });
  assertEquals([1, 3, 5].map((i) => messages[i].reasoning_content), ["", "t", ""]);
});

Deno.test("openAiChat.encode never writes reasoning into a field of the message that means something else", () => {
  const { messages } = encode([said("user", "a"), repliedBy(openAiChat, [thinking("t", "content"), use("c", "f")])]);
  assertEquals(messages[1].content, null);
});

Deno.test("openAiChat.encode sends vendor records and keys back to their origin only", () => {
  const details = [{ type: "reasoning.encrypted", data: "x" }];
  const content = [
    thinking("", undefined, details),
    use("c", "f", "{}", { extra: { extra_content: { s: 1 }, id: "forged" } }),
  ];
  const [, ours] = encode([said("user", "a"), repliedBy(openAiChat, content)]).messages;
  assertEquals(ours.reasoning_details, details);
  assertEquals(ours.tool_calls[0].extra_content, { s: 1 });
  assertEquals(ours.tool_calls[0].id, "c");
  for (const message of [repliedBy(openAiChat, content, "other"), replied(...content)]) {
    const [, theirs] = encode([said("user", "a"), message]).messages;
    assertFalse("reasoning_details" in theirs);
    assertFalse("extra_content" in theirs.tool_calls[0]);
  }
});

Deno.test("openAiChat.encode leaves vendor blocks of Anthropic out", () => {
  const { messages } = encode([
    said("user", "a"),
    replied({ type: "opaque", value: { type: "server_tool_use" } }, "x"),
  ]);
  assertEquals(messages[1], { role: "assistant", content: "x" });
});

Deno.test("openAiChat.encode sends well-formed text only, keys included", () => {
  const lone = "a\ud83d";
  const text = encodeText(openAiChat, [
    said("system", lone),
    said("user", lone),
    replied(lone, use("c", lone, `{"${lone}":"\\ud83d","ok":"\\ud83d\\ude00"}`)),
    results(["c", lone]),
    replied(use("d", "f", `{"x":"${lone}`, { invalid: true })),
  ], { tools: [tool("f", { type: "object", properties: { [lone]: {} } })] });
  assert(text.isWellFormed());
  const seen: string[] = [];
  JSON.parse(text, (key, value) => {
    seen.push(key);
    if (typeof value === "string") {
      seen.push(value, ...(key === "arguments" ? [JSON.stringify(JSON.parse(value))] : []));
    }
    return value;
  });
  assert(
    seen.length > 20 &&
      seen.every((string) => string.isWellFormed() && !/\\ud8/.test(string.replace("\\ud83d\\ude00", ""))),
  );
});

Deno.test("openAiChat completes paths, and sends a key only if there is one", () => {
  assertEquals(["", "/v1", "/proxy/v2"].map(openAiChat.basePath), ["/v1", "/v1", "/proxy/v2"]);
  assertEquals(openAiChat.headers("k"), { authorization: "Bearer k" });
  assertEquals(openAiChat.headers(), {});
});

Deno.test("openAiChat.hint names the option to look at, where the endpoint itself does not", () => {
  const hint = (status: number, text: string) => openAiChat.hint?.(status, text)?.replace("look at the option ", "");
  assertEquals(hint(422, "stream_options: Extra inputs are not permitted"), "compat.streamUsage");
  assertEquals(
    hint(400, "Unsupported parameter: 'max_tokens' …\nUse 'max_completion_tokens' instead."),
    "compat.maxTokensField",
  );
  assertEquals(hint(400, "The reasoning_content must be passed back"), "compat.echoReasoning");
  assertEquals(hint(400, "reasoning_content is not allowed in input"), "compat.echoReasoning");
  assertEquals(hint(404, "404 page not found"), "baseUrl, its path");
  for (
    const [status, text] of [
      [404, "The\nmodel 'x' not found"],
      [400, "Unsupported value: 'temperature'"],
      [400, "reasoning_effort is unknown"],
      [500, "stream_options"],
      [400, "no"],
    ] as const
  ) assertEquals(hint(status, text), undefined, text);
});
