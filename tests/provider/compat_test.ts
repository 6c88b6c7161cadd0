import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { type Compat, Conversation, isPawlError, type PawlError } from "@pawl/pawl";
import { memoryFetch } from "../support/memory_fetch.ts";
import { anthropic, FROM, openAi, reply, result, results, text, use } from "../support/requests.ts";
import { scripted } from "../support/tell.ts";
import { steps } from "../support/wire_case.ts";
import { WRITERS } from "../support/writer.ts";

const LOOP = [
  "hi",
  reply([{ type: "thinking", text: "t", field: "reasoning_content" }, use("functions.f:0", "f")], FROM.openai),
  results(result("functions.f:0", "x")),
];

function sent(compat: Compat, turns = LOOP, model = "syn-model") {
  return openAi(turns, { provider: { compat, model } }).body;
}

Deno.test("compat.streamUsage: false leaves stream_options out", () => {
  assertEquals(sent({}).stream_options, { include_usage: true });
  assertEquals(sent({ streamUsage: true }).stream_options, { include_usage: true });
  assertFalse("stream_options" in sent({ streamUsage: false }));
});

Deno.test("compat.maxTokensField: auto goes by the model, the rest by its word", () => {
  assertEquals(sent({}, ["hi"], "gpt-5-mini").max_completion_tokens, 4096);
  assertEquals(sent({ maxTokensField: "auto" }, ["hi"], "qwen3").max_tokens, 4096);
  assertEquals(sent({ maxTokensField: "max_completion_tokens" }, ["hi"], "qwen3").max_completion_tokens, 4096);
  assertEquals(sent({ maxTokensField: "max_tokens" }, ["hi"], "o3").max_tokens, 4096);
});

Deno.test("compat.emptyContent: null, or an empty text", () => {
  assertEquals(sent({}).messages[1].content, null);
  assertEquals(sent({ emptyContent: "null" }).messages[1].content, null);
  assertEquals(sent({ emptyContent: "empty" }).messages[1].content, "");
});

Deno.test("compat.echoReasoning: same-field in the loop that goes on, never, always", () => {
  assertEquals(sent({}).messages[1].reasoning_content, "t");
  assertFalse("reasoning_content" in sent({ echoReasoning: "never" }).messages[1]);
  const over = [...LOOP, reply([text("done")], FROM.openai), "next"];
  assertFalse("reasoning_content" in sent({}, over).messages[1]);
  const always = sent({ echoReasoning: "always" }, over).messages;
  assertEquals([always[1].reasoning_content, always[3].reasoning_content], ["t", ""]);
  const unsigned = ["hi", reply([{ type: "thinking", text: "t" }, text("a")], FROM.anthropic), "b"];
  const echo = (echoReasoning: Compat["echoReasoning"]) =>
    anthropic(unsigned, { provider: { compat: echoReasoning ? { echoReasoning } : {} }, breaks: ["R-22"] }).text;
  assertStringIncludes(echo("always"), '"thinking":"t"');
  for (const off of ["same-field", "never", undefined] as const) assertFalse(echo(off).includes('"thinking":"t"'));
});

Deno.test("compat.toolIds: verbatim, or nine letters and digits", () => {
  const [, assistant, tool] = sent({}).messages;
  assertEquals([assistant.tool_calls[0].id, tool.tool_call_id], ["functions.f:0", "functions.f:0"]);
  const [, mapped, answer] = sent({ toolIds: "mistral9" }).messages;
  assertMatch(mapped.tool_calls[0].id, /^[a-zA-Z0-9]{9}$/);
  assertEquals(answer.tool_call_id, mapped.tool_calls[0].id);
  const own = ["hi", reply([use("aB3dE6gH9", "f")]), results(result("aB3dE6gH9", "x"))];
  assertEquals(sent({ toolIds: "mistral9" }, own).messages[2].tool_call_id, "aB3dE6gH9");
});

Deno.test("compat.mergeRoles: neighbours are joined, and no user turn follows a tool", () => {
  const turns = ["a", "b", reply([text("c")]), reply([text("d")]), "e"];
  assertEquals(sent({}, turns).messages.length, 5);
  assertEquals(sent({ mergeRoles: true }, turns).messages.map(({ content }: { content: string }) => content), [
    "a\n\nb",
    "cd",
    "e",
  ]);
  const roles = sent({ mergeRoles: true }, [...LOOP, "and?"]).messages.map(({ role }: { role: string }) => role);
  assertEquals(roles.join(" "), "user assistant tool assistant user");
});

async function failure(status: number, body: unknown): Promise<PawlError> {
  const [writer] = WRITERS as [(typeof WRITERS)[number]];
  const answer = {
    status,
    headers: { "content-type": "application/json" },
    steps: steps([JSON.stringify(body)], "whole"),
  };
  const requests: string[] = [];
  const fetch = memoryFetch([answer], { onRequest: (url) => requests.push(url) });
  const conversation = new Conversation();
  conversation.addUserMessage("hi");
  try {
    for await (const _ of scripted(writer, [], { provider: { fetch } }).stream(conversation));
  } catch (error) {
    assertEquals(requests.length, 1, "no silent retry");
    assert(isPawlError(error));
    return error;
  }
  throw new Error("it must fail");
}

Deno.test("an HTTP error says which switch to set", async () => {
  const hints: [number, unknown, string][] = [
    [
      422,
      { detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted: stream_options" }] },
      "streamUsage",
    ],
    [400, { error: { message: "Unknown parameter: stream_options" } }, "streamUsage"],
    [
      400,
      { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." } },
      "maxTokensField",
    ],
    [
      400,
      { error: { message: "The reasoning_content in the thinking mode must be passed back to the API." } },
      "echoReasoning",
    ],
  ];
  for (const [status, body, hint] of hints) {
    const { message, code } = await failure(status, body);
    assertEquals(code, "http_status");
    assertStringIncludes(message, hint);
  }
});
