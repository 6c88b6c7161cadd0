import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { anthropicMessages, Conversation, createProvider, openAiChat, PawlError, type Provider } from "@pawl/pawl";
import {
  anthropic,
  type Body,
  FROM,
  KEY,
  openAi,
  reply,
  result,
  results,
  system,
  text,
  tool,
  type Turn,
  use,
} from "../support/requests.ts";

function messages(sent: { body: Body }): Body {
  return sent.body.messages;
}

const LOOP: Turn[] = ["hi", reply([use("c1", "f"), use("c2", "g")]), results(result("c1", "x"), result("c2", "y"))];

Deno.test("R-01: a minimal turn is strings in OpenAI, a system field and user content in Anthropic", () => {
  const turns = [system("S"), "hi"];
  const { body, url } = openAi(turns);
  assertEquals(body.messages, [{ role: "system", content: "S" }, { role: "user", content: "hi" }]);
  assertEquals([body.stream, body.model, url], [true, "syn-model", "http://localhost:1/v1/chat/completions"]);
  const other = anthropic(turns);
  assertEquals(other.body.system, "S");
  assertEquals(other.body.messages, [{ role: "user", content: [{ type: "text", text: "hi" }] }]);
  assertEquals([other.body.stream, other.url], [true, "http://localhost:1/v1/messages"]);
});

Deno.test("R-02: usage is asked for in an OpenAI stream, unless switched off, and never in Anthropic", () => {
  assertEquals(openAi(["hi"]).body.stream_options, { include_usage: true });
  assertFalse("stream_options" in openAi(["hi"], { provider: { compat: { streamUsage: false } } }).body);
  assertFalse("stream_options" in anthropic(["hi"]).body);
});

Deno.test("R-03: all system texts go first, in one message or field, joined with a blank line", () => {
  const turns = [system("A"), "hi", reply([text("yes")]), system("B"), "and?", system(" ")];
  assertEquals(messages(openAi(turns)).map(({ role }: Body) => role), ["system", "user", "assistant", "user"]);
  assertEquals(messages(openAi(turns))[0].content, "A\n\nB");
  assertEquals(anthropic(turns).body.system, "A\n\nB");
  assertFalse("system" in anthropic(["hi"]).body);
});

Deno.test("R-04: without tools there is no key about tools", () => {
  for (const { body } of [openAi(["hi"]), anthropic(["hi"], { call: { tools: [], toolChoice: "auto" } })]) {
    for (const key of ["tools", "tool_choice", "parallel_tool_calls"]) assertFalse(key in body);
  }
});

Deno.test("R-05: calls in the history declare their names when no tools are given", () => {
  const empty = { type: "object", properties: {} };
  assertEquals(openAi(LOOP).body.tools, [
    { type: "function", function: { name: "f", parameters: empty } },
    { type: "function", function: { name: "g", parameters: empty } },
  ]);
  assertEquals(anthropic(LOOP).body.tools.map((t: Body) => [t.name, t.input_schema]), [["f", empty], ["g", empty]]);
  assertEquals(openAi(LOOP, { call: { tools: [tool("h")] } }).body.tools.length, 1);
});

Deno.test("R-06: a turn of calls alone has null content, or an empty one by switch; Anthropic has no empty text", () => {
  assertEquals(messages(openAi(LOOP))[1].content, null);
  assertEquals(messages(openAi(LOOP, { provider: { compat: { emptyContent: "empty" } } }))[1].content, "");
  assertEquals(
    messages(openAi(["hi", reply([text(" \n"), use("c1", "f")]), results(result("c1", "x"))]))[1].content,
    null,
  );
  assertEquals(messages(anthropic(LOOP))[1].content.map(({ type }: Body) => type), ["tool_use", "tool_use"]);
  assertEquals(Object.keys(messages(openAi(LOOP))[1]), ["role", "content", "tool_calls"]);
});

Deno.test("R-07: assistant content is one string, and reasoning is no part of it", () => {
  const turns = [
    "hi",
    reply([{ type: "thinking", text: "t", field: "reasoning" }, text("a"), use("c1", "f"), text("b")], FROM.openai),
    results(result("c1", "x")),
  ];
  const [, assistant] = messages(openAi(turns));
  assertEquals(assistant.content, "ab");
  assertEquals(assistant.reasoning, "t");
});

Deno.test("R-08: results follow their calls in order, as text; Anthropic has them first in one user turn", () => {
  const turns = [...LOOP.slice(0, 2), results(result("c2", "y"), result("c1", " ")), "and now?"];
  assertEquals(messages(openAi(turns)).slice(2), [
    { role: "tool", tool_call_id: "c1", content: "(no output)" },
    { role: "tool", tool_call_id: "c2", content: "y" },
    { role: "user", content: "and now?" },
  ]);
  assertEquals(messages(anthropic(turns)).slice(2), [{
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "c1", content: "(no output)" },
      { type: "tool_result", tool_use_id: "c2", content: "y" },
      { type: "text", text: "and now?" },
    ],
  }]);
});

Deno.test("R-09: arguments go back as the raw JSON of one object", () => {
  const cases: [string, string][] = [
    ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
    ["", "{}"],
    ["null", "{}"],
    ['{ "a" : 1 }', '{ "a" : 1 }'],
    ['"{\\"a\\":1}"', '{"a":1}'],
  ];
  for (const [raw, wire] of cases) {
    const turns = ["hi", reply([use("c1", "f", raw)]), results(result("c1", "x"))];
    assertEquals(messages(openAi(turns))[1].tool_calls[0].function.arguments, wire);
    assertStringIncludes(anthropic(turns).text, `"input":${wire.replaceAll(" ", "")}`);
  }
});

Deno.test("R-10: reasoning goes back under its own field, in the loop that is going on", () => {
  const thought = (field: string) => reply([{ type: "thinking", text: "t", field }, use("c1", "f")], FROM.openai);
  for (const field of ["reasoning_content", "reasoning", "reasoning_text", "thinking"]) {
    const turns = ["hi", thought(field), results(result("c1", "x"))];
    assertEquals(messages(openAi(turns))[1][field], "t");
    const later = messages(openAi([...turns, reply([text("done")]), "next"]));
    assertFalse(field in later[1], "a turn before the last user text");
  }
  const always = { provider: { compat: { echoReasoning: "always" } } } as const;
  const sent = messages(
    openAi(["hi", thought("reasoning"), results(result("c1", "x")), reply([text("a")]), "b"], always),
  );
  assertEquals([sent[1].reasoning, sent[3].reasoning_content], ["t", ""]);
});

Deno.test("R-11: reasoning is not echoed where it did not arrive, or with never", () => {
  const turns = ["hi", reply([{ type: "thinking", text: "t", field: "reasoning" }, text("a")], FROM.openai), results()];
  assertFalse("reasoning" in messages(openAi(turns, { provider: { compat: { echoReasoning: "never" } } }))[1]);
  const leaked = [
    "hi",
    reply([{ type: "thinking", text: "t" }, use("c1", "f")], FROM.openai),
    results(result("c1", "x")),
  ];
  assertFalse(JSON.stringify(messages(openAi(leaked))).includes('"t"'));
  assertFalse(JSON.stringify(messages(openAi(["hi"]))).includes("reasoning"));
});

Deno.test("R-12: reasoning details go back unmodified, only to where they came from", () => {
  const details = [{ type: "reasoning.encrypted", data: "Z", index: 0 }, { type: "reasoning.text", text: "t" }];
  const turns = (origin: typeof FROM.openai): Turn[] => [
    "hi",
    reply([{ type: "thinking", text: "t", field: "reasoning", details }, use("c1", "f")], origin),
    results(result("c1", "x")),
  ];
  assertEquals(messages(openAi(turns(FROM.openai)))[1].reasoning_details, details);
  for (const origin of [FROM.other, FROM.anthropic]) {
    assertFalse("reasoning_details" in messages(openAi(turns(origin)))[1]);
    assertFalse("reasoning" in messages(openAi(turns(origin)))[1]);
  }
});

Deno.test("R-13: vendor keys of a call go back on the same call, only to where they came from", () => {
  const extra = { extra_content: { google: { thought_signature: "c2ln" } } };
  const turns = (origin: typeof FROM.openai): Turn[] => [
    "hi",
    reply([use("c1", "f", "{}", { extra }), use("c2", "f")], origin),
    results(result("c1", "x"), result("c2", "y")),
  ];
  const calls = messages(openAi(turns(FROM.openai)))[1].tool_calls;
  assertEquals(calls[0].extra_content, extra.extra_content);
  assertFalse("extra_content" in calls[1]);
  assertFalse(openAi(turns(FROM.other)).text.includes("extra_content"));
  assertFalse(anthropic(turns(FROM.openai)).text.includes("extra_content"));
});

Deno.test("R-14: exactly one output limit, named after the model or by switch", () => {
  const limit = (model: string, maxTokensField?: "max_tokens" | "max_completion_tokens") =>
    Object.keys(openAi(["hi"], { provider: { model, compat: maxTokensField ? { maxTokensField } : {} } }).body)
      .filter((key) => key.startsWith("max_")).join();
  const newer = ["gpt-5", "GPT-5-mini", "o1", "o3-mini", "o4-mini-2025-04-16", "openai/o3"];
  for (const model of newer) assertEquals(limit(model), "max_completion_tokens", model);
  const older = ["gpt-4o", "gpt-4o-mini", "gpt-3.5-turbo", "openhermes", "olmo-7b", "qwen3"];
  for (const model of older) assertEquals(limit(model), "max_tokens", model);
  assertEquals(limit("gpt-5", "max_tokens"), "max_tokens");
  assertEquals(limit("qwen3", "max_completion_tokens"), "max_completion_tokens");
  assertEquals(anthropic(["hi"], { call: { maxTokens: 7 } }).body.max_tokens, 7);
  for (const dialect of [openAiChat, anthropicMessages]) {
    assertThrows(() => createProvider({ dialect, baseUrl: "http://localhost", model: "m" } as never), RangeError);
  }
});

Deno.test("R-15: sampling is sent only when set, 0 included; Anthropic refuses it beside thinking", () => {
  for (const encode of [openAi, anthropic]) {
    assertFalse("temperature" in encode(["hi"]).body);
    assertEquals(encode(["hi"], { provider: { temperature: 0 } }).body.temperature, 0);
    assertEquals(encode(["hi"], { provider: { temperature: 0 }, call: { temperature: 0.5 } }).body.temperature, 0.5);
  }
  const thinking = { thinking: "low", maxTokens: 2000 } as const;
  assertThrows(() => anthropic(["hi"], { provider: { ...thinking, temperature: 0 } }), TypeError, "temperature");
  assertEquals(anthropic(["hi"], { provider: { ...thinking, temperature: 1 } }).body.temperature, 1);
});

Deno.test("R-17: ids go verbatim to OpenAI, call and result together; nine characters by switch", () => {
  const kimi: Turn[] = [
    "hi",
    reply([use("functions.f:0", "f")]),
    results(result("functions.f:0", "x")),
    reply([use("functions.f:0", "f")]),
    results(result("functions.f:0", "y")),
  ];
  const sent = messages(openAi(kimi));
  assertEquals([1, 3].map((i) => sent[i].tool_calls[0].id), ["functions.f:0", "functions.f:0"]);
  assertEquals([2, 4].map((i) => [sent[i].tool_call_id, sent[i].content]), [
    ["functions.f:0", "x"],
    ["functions.f:0", "y"],
  ]);
  const mapped = messages(openAi(kimi, { provider: { compat: { toolIds: "mistral9" } } }));
  const ids = [1, 3].map((i) => mapped[i].tool_calls[0].id);
  for (const id of ids) assertMatch(id, /^[a-zA-Z0-9]{9}$/);
  assertEquals(new Set(ids).size, 2);
  assertEquals([2, 4].map((i) => mapped[i].tool_call_id), ids);
});

Deno.test("R-18: every call has a result, and no result is without a call", () => {
  const turns = [
    "hi",
    reply([use("c1", "f"), use("c2", "g")]),
    results(result("c1", "x"), result("c9", "stray")),
    "go on",
  ];
  const sent = messages(openAi(turns));
  assertEquals(sent.slice(2).map((m: Body) => [m.role, m.tool_call_id]), [["tool", "c1"], ["tool", "c2"], [
    "user",
    undefined,
  ]]);
  assertStringIncludes(sent[3].content, "error: ");
  const [first, second] = messages(anthropic(turns))[2].content;
  assertEquals([first.is_error, second.is_error, second.tool_use_id], [undefined, true, "c2"]);
  // Aborted before any result, and with the results at a wrong place.
  openAi(["hi", reply([use("c1", "f")])], {});
  anthropic(["hi", reply([use("c1", "f")])], {});
  const late = messages(openAi(["hi", reply([use("c1", "f")]), "wait", results(result("c1", "late"))]));
  assertEquals(late.slice(2).map(({ role, content }: Body) => [role, content]), [["tool", "late"], ["user", "wait"]]);
});

Deno.test("R-19: invalid arguments go back wrapped in an object, their result is an error", () => {
  const turns = (raw: string): Turn[] => [
    "hi",
    reply([use("c1", "f", raw, { invalid: true })]),
    results(result("c1", "error: not valid JSON", true)),
  ];
  const wrapped = { INVALID_JSON: '{"city":' };
  assertEquals(JSON.parse(messages(openAi(turns('{"city":')))[1].tool_calls[0].function.arguments), wrapped);
  const sent = messages(anthropic(turns('{"city":')));
  assertEquals(sent[1].content[0].input, wrapped);
  assertEquals(sent[2].content[0].is_error, true);
  const long = JSON.parse(messages(openAi(turns("x".repeat(5000))))[1].tool_calls[0].function.arguments);
  assertEquals(long.INVALID_JSON.length, 1000);
  const pair = JSON.parse(messages(openAi(turns("x".repeat(999) + "👋")))[1].tool_calls[0].function.arguments);
  assert(pair.INVALID_JSON.isWellFormed());
});

Deno.test("R-20: Anthropic gets its thinking back unmodified and in order, redacted and empty blocks too", () => {
  const content = [
    { type: "thinking" as const, text: " t \n", signature: "s1" },
    { type: "thinking" as const, text: "", redacted: "ZW5j" },
    { type: "thinking" as const, text: "", signature: "s2" },
    text("a"),
    use("c1", "f"),
  ];
  const turns = ["hi", reply(content, FROM.anthropic), results(result("c1", "x"))];
  const { body } = anthropic(turns, { provider: { thinking: { budgetTokens: 2000 } } });
  assertEquals(body.messages[1].content, [
    { type: "thinking", thinking: " t \n", signature: "s1" },
    { type: "redacted_thinking", data: "ZW5j" },
    { type: "thinking", thinking: "", signature: "s2" },
    { type: "text", text: "a" },
    { type: "tool_use", id: "c1", name: "f", input: {} },
  ]);
  assertEquals(body.thinking, { type: "enabled", budget_tokens: 2000 });
  // A loop that began without reasoning goes on without: its last turn would have to start with thinking.
  const bare = anthropic(["hi", reply([use("c1", "f")], FROM.anthropic), results(result("c1", "x"))], {
    provider: { thinking: { budgetTokens: 2000 } },
  });
  assertFalse("thinking" in bare.body);
});

Deno.test("R-21: every string of a request is well-formed, keys and tool output too", () => {
  const lone = "a\ud83d";
  const turns = [
    system(lone),
    lone,
    reply([text(lone), use("c1", "f", `{"k\ud83d":"\\ud83d","ok":"\\ud83d\\ude80"}`)]),
    results(result("c1", "\ude80b")),
  ];
  for (const sent of [openAi(turns), anthropic(turns)]) {
    assertStringIncludes(JSON.stringify(sent.body), "\ufffd");
  }
  assertStringIncludes(JSON.stringify(JSON.parse(messages(openAi(turns))[2].tool_calls[0].function.arguments)), "🚀");
});

Deno.test("R-22: unsigned thinking is dropped in Anthropic unless the switch says always", () => {
  const turns = [
    "hi",
    reply([{ type: "thinking", text: "t" }, use("c1", "f")], FROM.anthropic),
    results(result("c1", "x")),
  ];
  assertEquals(messages(anthropic(turns))[1].content.map(({ type }: Body) => type), ["tool_use"]);
  const always = anthropic(turns, { provider: { compat: { echoReasoning: "always" } }, breaks: ["R-22"] });
  assertEquals(messages(always)[1].content[0], { type: "thinking", thinking: "t", signature: "" });
  const never = anthropic(
    ["hi", reply([{ type: "thinking", text: "t", signature: "s" }, text("a")], FROM.anthropic), "b"],
    { provider: { compat: { echoReasoning: "never" } } },
  );
  assertEquals(messages(never)[1].content, [{ type: "text", text: "a" }]);
});

Deno.test("R-23: neighbouring turns of one role are joined in Anthropic, and by switch in OpenAI", () => {
  const turns = ["a", "b", reply([text("c")]), reply([text("d")]), "e"];
  assertEquals(messages(openAi(turns)).map(({ role }: Body) => role).join(" "), "user user assistant assistant user");
  assertEquals(messages(anthropic(turns)).map(({ role }: Body) => role).join(" "), "user assistant user");
  const strict = messages(openAi(turns, { provider: { compat: { mergeRoles: true } } }));
  assertEquals(strict.map(({ content }: Body) => content), ["a\n\nb", "cd", "e"]);
  const behindTool = messages(openAi([...LOOP, "and?"], { provider: { compat: { mergeRoles: true } } }));
  assertEquals(behindTool.map(({ role }: Body) => role).join(" "), "user assistant tool tool assistant user");
});

Deno.test("listModels asks for JSON, and a request without a body names no type of one", async () => {
  let sent: RequestInit | undefined;
  const provider = createProvider({
    dialect: openAiChat,
    baseUrl: "http://localhost/v1",
    model: "m",
    maxTokens: 1,
    fetch: (_url, init) => {
      sent = init;
      return Promise.resolve(Response.json({ data: [{ id: "a" }] }));
    },
  });
  assertEquals(await provider.listModels(), ["a"]);
  const fields = new Headers(sent?.headers);
  assertEquals([sent?.method, fields.get("accept"), fields.has("content-type")], ["GET", "application/json", false]);
});

Deno.test("listModels asks Anthropic for the longest page: by itself it lists 20", async () => {
  let asked = "";
  const fetch = (url: string | URL | Request) => {
    asked = String(url);
    return Promise.resolve(Response.json({ data: [{ id: "a" }], has_more: false }));
  };
  const provider = createProvider({ dialect: anthropicMessages, model: "m", maxTokens: 1, fetch });
  assertEquals(await provider.listModels(), ["a"]);
  assertEquals(asked, "https://api.anthropic.com/v1/models?limit=1000");
});

Deno.test("listModels joins the body, and is bounded by its own cap", async () => {
  const text = '{"data":[{"id":"a"}]}';
  function provider(maxJsonBytes: number): Provider {
    const stream = () => ReadableStream.from([text.slice(0, 9), text.slice(9)]).pipeThrough(new TextEncoderStream());
    const fetch = () => Promise.resolve(new Response(stream()));
    return createProvider({
      dialect: openAiChat,
      model: "m",
      maxTokens: 1,
      baseUrl: "http://x",
      limits: { maxJsonBytes },
      fetch,
    });
  }
  assertEquals(await provider(text.length).listModels(), ["a"]);
  for (const cap of [text.length - 1, 8, 1]) {
    const error = await assertRejects(() => provider(cap).listModels(), PawlError, `limits.maxJsonBytes (${cap})`);
    assertEquals(error.code, "response_too_large");
  }
});

Deno.test("listModels tells an error that comes with status 200, and no empty list in its place", async () => {
  // As LM Studio answers a path that it does not know, and Gemini's facade anything.
  const unknown = { error: `Unexpected endpoint or method. (GET /models) ${KEY}` };
  const exhausted = [{ error: { code: 429, message: "Resource exhausted", status: "RESOURCE_EXHAUSTED" } }];
  for (const [reply, said] of [[unknown, "Unexpected endpoint"], [exhausted, "Resource exhausted"]] as const) {
    const provider = createProvider({
      dialect: openAiChat,
      model: "m",
      maxTokens: 1,
      apiKey: KEY,
      baseUrl: "http://x",
      fetch: () => Promise.resolve(Response.json(reply)),
    });
    const error = await assertRejects(() => provider.listModels(), PawlError, said);
    assertEquals([error.code, error.message.includes(KEY)], ["backend", false]);
  }
  const healthy = { error: null, data: [{ id: "a", error: {} }] };
  const fetch = () => Promise.resolve(Response.json(healthy));
  const provider = createProvider({ dialect: openAiChat, model: "m", maxTokens: 1, baseUrl: "http://x", fetch });
  assertEquals(await provider.listModels(), ["a"]);
});

Deno.test("listModels repeats a request, and ends with the reason of its signal", async () => {
  const replies = [new Response(null, { status: 503 }), Response.json([{ id: "a" }])];
  const provider = createProvider({
    dialect: openAiChat,
    model: "m",
    maxTokens: 1,
    baseUrl: "http://x",
    limits: { maxRetryDelayMs: 1 },
    fetch: () => Promise.resolve(replies.shift()!),
  });
  assertEquals(await provider.listModels(), ["a"]);
  assertEquals(await provider.listModels({ signal: AbortSignal.abort("now") }).catch((reason) => reason), "now");
});

Deno.test("R-24: the header fields of each dialect, and no credential without a key", () => {
  const common = {
    "accept": "text/event-stream",
    "accept-encoding": "identity;q=1, *;q=0",
    "content-type": "application/json",
  };
  const { "user-agent": agent, ...open } = openAi(["hi"]).headers;
  assertMatch(agent!, /^pawl\/\d/);
  assertEquals(open, { ...common, authorization: `Bearer ${KEY}` });
  const { "user-agent": _, ...claude } = anthropic(["hi"]).headers;
  assertEquals(claude, { ...common, "anthropic-version": "2023-06-01", "x-api-key": KEY });
  for (const encode of [openAi, anthropic]) {
    const { headers } = encode(["hi"], { provider: { apiKey: "" } });
    assertFalse("authorization" in headers || "x-api-key" in headers);
    for (const apiKey of ["sk-tricky-1\n", "sk-tricky 2", "sk-trückig"]) {
      const error = assertThrows(() => encode(["hi"], { provider: { apiKey } }), TypeError);
      assertFalse(error.message.includes(apiKey.trim()));
    }
    const renamed = encode(["hi"], { provider: { extraHeaders: { "X-Title": "t", "User-Agent": "mine" } } }).headers;
    assertEquals([renamed["x-title"], renamed["user-agent"]], ["t", "mine"]);
  }
});

Deno.test("R-24: what is done to the header fields of one request does not reach the next", () => {
  const provider = createProvider({
    dialect: openAiChat,
    baseUrl: "http://localhost:1",
    model: "m",
    maxTokens: 1,
    apiKey: KEY,
  });
  const conversation = new Conversation();
  conversation.addUserMessage("hi");
  const { headers } = provider.encode(conversation);
  delete headers.authorization;
  assertEquals(provider.encode(conversation).headers.authorization, `Bearer ${KEY}`);
  const again = provider.encode(conversation).headers as { [name: symbol]: () => string };
  assertEquals(again[Symbol.for("nodejs.util.inspect.custom")]?.(), "[redacted]");
});

Deno.test("R-25: nothing is sent that was not asked for; extraBody is merged last", () => {
  assertEquals(Object.keys(openAi(["hi"]).body).sort(), [
    "max_tokens",
    "messages",
    "model",
    "stream",
    "stream_options",
  ]);
  assertEquals(Object.keys(anthropic(["hi"]).body).sort(), ["max_tokens", "messages", "model", "stream"]);
  for (const encode of [openAi, anthropic]) {
    const { body } = encode(["hi"], { provider: { extraBody: { top_k: 5, max_tokens: 3 } }, breaks: ["R-25"] });
    assertEquals([body.top_k, body.max_tokens], [5, 3]);
    const stop = encode(["hi"], { provider: { stop: ["END"] } }).body;
    assertEquals(stop.stop ?? stop.stop_sequences, ["END"]);
  }
});

Deno.test("R-26: tool schemas are object schemas with properties; names are checked once, before sending", () => {
  const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
  const call = { tools: [tool("f"), tool("g", schema)] };
  const [f, g] = openAi(["hi"], { call }).body.tools;
  assertEquals(f.function, { name: "f", description: "The tool f", parameters: { type: "object", properties: {} } });
  assertEquals(g.function.parameters, schema);
  assertEquals(anthropic(["hi"], { call }).body.tools[1], {
    name: "g",
    description: "The tool g",
    input_schema: schema,
  });
  for (const undefinedKey of ["type", "properties"]) {
    // The lint asks for both.
    const call = { tools: [tool("f", { type: "object", properties: {}, [undefinedKey]: undefined })] };
    assertEquals(openAi(["hi"], { call }).body.tools[0].function.parameters, { type: "object", properties: {} });
    anthropic(["hi"], { call });
  }
  for (const encode of [openAi, anthropic]) {
    for (const name of ["", "a b", "ü", "x".repeat(65)]) {
      assertThrows(() => encode(["hi"], { call: { tools: [tool(name)] } }), TypeError, "name");
    }
    assertThrows(() => encode(["hi"], { call: { tools: [tool("f"), tool("f")] } }), TypeError, "taken");
  }
});

Deno.test("R-26: tool choice in the words of each dialect", () => {
  const choice = (toolChoice: "auto" | "none" | "required" | { name: string }) => {
    const call = { tools: [tool("f")], toolChoice };
    return [openAi(["hi"], { call }).body.tool_choice, anthropic(["hi"], { call }).body.tool_choice];
  };
  assertEquals(choice("auto"), ["auto", { type: "auto" }]);
  assertEquals(choice("none"), ["none", { type: "none" }]);
  assertEquals(choice("required"), ["required", { type: "any" }]);
  assertEquals(choice({ name: "f" }), [{ type: "function", function: { name: "f" } }, { type: "tool", name: "f" }]);
  for (const encode of [openAi, anthropic]) {
    assertThrows(
      () => encode(["hi"], { call: { tools: [tool("f")], toolChoice: { name: "g" } } }),
      TypeError,
      "toolChoice",
    );
  }
});

Deno.test("R-27: an empty reply is not replayed, and the order is right without it", () => {
  for (const empty of [[], [text("")], [text(" \n")], [{ type: "thinking" as const, text: "t", signature: "s" }]]) {
    const turns = ["hi", reply(empty, FROM.anthropic), "there?"];
    assertEquals(messages(openAi(turns)).map(({ role }: Body) => role), ["user", "user"]);
    assertEquals(messages(anthropic(turns)), [
      { role: "user", content: [{ type: "text", text: "hi" }, { type: "text", text: "there?" }] },
    ]);
  }
});

Deno.test("R-28: what is replayed is the message, leaked reasoning cut out of text and nothing else", () => {
  const said = "The `<think>` tag";
  const turns = ["hi", reply([{ type: "thinking", text: "leaked" }, text(said)], FROM.openai), "and?"];
  for (const sent of [openAi(turns), anthropic(turns)]) {
    assertFalse(sent.text.includes("leaked"));
    assertStringIncludes(sent.text, said);
  }
});

Deno.test("R-29, R-33: Anthropic begins and ends with the user", () => {
  const sent = messages(anthropic([reply([text("I begin")]), "hi", reply([text("I end \n")])]));
  assertEquals(sent.map(({ role }: Body) => role), ["user", "assistant", "user", "assistant", "user"]);
});

Deno.test("R-30: cache marks on system prompt, tools and the last turn, never on thinking", () => {
  const turns = [
    system("S"),
    "hi",
    reply([{ type: "thinking", text: "t", signature: "s" }, use("c1", "f")], FROM.anthropic),
    results(result("c1", "x")),
  ];
  const provider = { promptCache: true };
  const { body } = anthropic(turns, { provider, call: { tools: [tool("e"), tool("f")] } });
  const mark = { type: "ephemeral" };
  assertEquals(body.system, [{ type: "text", text: "S", cache_control: mark }]);
  assertEquals(body.tools.map((t: Body) => t.cache_control), [undefined, mark]);
  assertEquals(body.messages.at(-1).content.at(-1).cache_control, mark);
  assertEquals(JSON.stringify(body).split("cache_control").length - 1, 3);
  assertFalse(openAi(turns, { provider }).text.includes("cache_control"));
  assertFalse(anthropic(turns).text.includes("cache_control"));
});

Deno.test("R-31: a thinking budget is within its bounds, and no call is forced beside it", () => {
  const budget = (thinking: Body, maxTokens: number) =>
    anthropic(["hi"], { provider: { thinking, maxTokens } }).body.thinking;
  assertEquals(budget("low", 2000), { type: "enabled", budget_tokens: 1024 });
  assertEquals(budget("medium", 5000).budget_tokens, 4096);
  assertEquals(budget("high", 20000).budget_tokens, 16384);
  assertEquals(budget({ budgetTokens: 1500 }, 2000).budget_tokens, 1500);
  assertThrows(() => budget("high", 16384), RangeError, "from 1024 to 16383");
  assertThrows(() => budget({ budgetTokens: 1000 }, 2000), RangeError, "1024");
  assertThrows(() => budget("huge", 2000), RangeError, "thinking");
  const forced = { provider: { thinking: "low" }, call: { tools: [tool("f")], toolChoice: "required" } } as const;
  assertThrows(() => anthropic(["hi"], forced), TypeError, "toolChoice");
  const effort = (thinking: Body) => openAi(["hi"], { provider: { thinking } }).body.reasoning_effort;
  assertEquals([effort("low"), effort("high"), effort({ budgetTokens: 5000 })], ["low", "high", "medium"]);
});

Deno.test("R-32: blank text is no block, in user turns too", () => {
  const turns = ["hi", reply([text(" "), use("c1", "f"), text("\n")]), results(result("c1", "")), " "];
  assertEquals(messages(anthropic(turns)).map(({ content }: Body) => content.map(({ type }: Body) => type)), [
    ["text"],
    ["tool_use"],
    ["tool_result"],
  ]);
});

Deno.test("R-34: a name that no endpoint accepts is cleaned on the echo", () => {
  const turns = [
    "hi",
    reply([use("c1", "été/☃" + "x".repeat(80))]),
    results(result("c1", "error: unknown tool", true)),
  ];
  for (
    const name of [
      messages(openAi(turns))[1].tool_calls[0].function.name,
      messages(anthropic(turns))[1].content[0].name,
    ]
  ) {
    assertMatch(name, /^_t___x{59}$/);
  }
});

Deno.test("R-35: ids are unique over a conversation in Anthropic and of its alphabet, call and result together", () => {
  const turns = [
    "hi",
    reply([use("functions.f:0", "f"), use("functions.f:1", "f")]),
    results(result("functions.f:1", "b"), result("functions.f:0", "a")),
    reply([use("functions.f:0", "f")]),
    results(result("functions.f:0", "c")),
  ];
  const sent = messages(anthropic(turns));
  const answers = new Map<string, string>(
    sent.flatMap(({ content }: Body) => content).filter(({ type }: Body) => type === "tool_result")
      .map((block: Body) => [block.tool_use_id, block.content]),
  );
  const ids = sent.flatMap(({ content }: Body) => content).filter(({ type }: Body) => type === "tool_use").map((
    { id }: Body,
  ) => id);
  assertEquals(ids.map((id: string) => answers.get(id)), ["a", "b", "c"]);
  assertEquals(anthropic(turns).text, anthropic(turns).text, "the mapping is the same each time");
});

Deno.test("R-36: input is an object in Anthropic, whatever the model sent", () => {
  for (const input of ["", "null", "[1]", '"x"', "{", '{"a":{"b":[1,2]}}']) {
    const turns = ["hi", reply([use("c1", "f", input, input.startsWith('{"') ? {} : {})]), results(result("c1", "x"))];
    const sent = messages(anthropic(turns))[1].content[0].input;
    assert(typeof sent === "object" && sent !== null && !Array.isArray(sent), input);
  }
  const big = anthropic([
    "hi",
    reply([use("c1", "f", '{"__proto__":{"a":1},"n":1234567890123456789}')]),
    results(result("c1", "x")),
  ]);
  assertStringIncludes(big.text, '{"__proto__":{"a":1},"n":1234567890123456789}');
});

Deno.test("R-37: a failed call is is_error and begins with error:, in OpenAI the text alone", () => {
  const turns = [
    "hi",
    reply([use("c1", "f"), use("c2", "f")]),
    results(result("c1", "boom", true), result("c2", "error: no", true)),
  ];
  assertEquals(messages(openAi(turns)).slice(2).map(({ content }: Body) => content), ["error: boom", "error: no"]);
  assertEquals(messages(anthropic(turns))[2].content.map((b: Body) => [b.content, b.is_error]), [
    ["error: boom", true],
    ["error: no", true],
  ]);
});

Deno.test("R-38: no beta is asked for", () => {
  const { headers, text } = anthropic(["hi"], { call: { tools: [tool("f")] } });
  assertFalse("anthropic-beta" in headers || text.includes("eager_input_streaming"));
});

const SEARCH = [
  {
    type: "opaque" as const,
    value: { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "x" } },
  },
  { type: "opaque" as const, value: { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] } },
];

Deno.test("R-39: a paused turn goes back as it is, with nothing behind it", () => {
  const sent = messages(anthropic(["hi", reply([text("Searching"), SEARCH[0]!], FROM.anthropic)]));
  assertEquals(sent.length, 2);
  assertEquals(sent[1].content, [{ type: "text", text: "Searching" }, SEARCH[0]!.value]);
});

Deno.test("R-40: vendor blocks go back verbatim, only to where they came from", () => {
  const turns = (origin: typeof FROM.openai) => ["hi", reply([...SEARCH, text("found")], origin), "and?"];
  const sent = messages(anthropic(turns(FROM.anthropic)));
  assertEquals(sent[1].content.slice(0, 2), SEARCH.map(({ value }) => value));
  assertEquals(messages(anthropic(turns(FROM.openai)))[1].content, [{ type: "text", text: "found" }]);
  assertFalse(openAi(turns(FROM.anthropic)).text.includes("web_search"));
});

Deno.test("R-41: a conversation moves between dialects, both ways, with thinking, tools and odd ids", () => {
  const fromAnthropic = [
    "hi",
    reply([
      { type: "thinking" as const, text: "secret", signature: "s" },
      { type: "thinking" as const, text: "", redacted: "ZW5j" },
      use("toolu_1", "f"),
    ], FROM.anthropic),
    results(result("toolu_1", "x")),
  ];
  const moved = openAi(fromAnthropic);
  assertFalse(/secret|ZW5j/.test(moved.text));
  assertEquals(messages(moved)[1].tool_calls[0].id, "toolu_1");
  const details = [{ type: "reasoning.text", text: "secret" }];
  const fromOpenAi = [
    "hi",
    reply(
      [{ type: "thinking" as const, text: "secret", field: "reasoning", details }, use("functions.f:0", "f")],
      FROM.openai,
    ),
    results(result("functions.f:0", "x")),
    reply([text("done")], FROM.openai),
    "next",
  ];
  const back = anthropic(fromOpenAi, { provider: { thinking: { budgetTokens: 2000 } } });
  assertFalse(back.text.includes("secret"));
  // Another model of the same dialect is another place, too.
  assertFalse(anthropic(fromAnthropic, { provider: { model: "other" } }).text.includes("secret"));
  anthropic([...fromAnthropic, reply([text("ok")], FROM.anthropic), ...fromOpenAi]);
  openAi([...fromAnthropic, reply([text("ok")], FROM.anthropic), ...fromOpenAi]);
});

Deno.test("R-45: the key is in a header and nowhere else", () => {
  for (const encode of [openAi, anthropic]) {
    const { url, text: body, headers } = encode(["hi"]);
    assertFalse(`${url}${body}`.includes(KEY));
    assertEquals(Object.values(headers).filter((value) => value.includes(KEY)).length, 1);
  }
});

Deno.test("images: user pictures in the words of each dialect", () => {
  const image = { type: "image" as const, mediaType: "image/png", data: "aGk=" };
  const turns: Turn[] = [{ role: "user", content: [text("what is this?"), image] }];
  assertEquals(messages(openAi(turns))[0].content, [
    { type: "text", text: "what is this?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
  ]);
  assertEquals(messages(anthropic(turns))[0].content, [
    { type: "text", text: "what is this?" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
  ]);
});
