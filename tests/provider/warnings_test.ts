import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Agent, type ContentBlock, isPawlError, type MessageCompleteEvent, type Warning } from "@pawl/pawl";
import { scripted, tellReply, tellRun } from "../support/tell.ts";
import { conversationOf } from "../support/requests.ts";
import { type ReplyScript, write, WRITERS } from "../support/writer.ts";

const USAGE = { input: 1000, output: 5 };

function says(...text: string[]): ReplyScript {
  return { parts: [{ text }], end: "end_turn", usage: USAGE };
}

/** Calls as the templates of the usual models write them (quirks O-82, O-83). */
const LEAKS = [
  '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
  "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
  "<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather",
  '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">',
  '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city":"Oslo"}',
  '[TOOL_CALLS]weather[ARGS]{"city":"Oslo"}',
  '[TOOL_CALLS] [{"name": "weather", "arguments": {}}]',
  "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Forty-two.",
  '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>',
  '<invoke name="weather"><parameter name="city">Oslo</parameter></invoke>',
];

const HARMLESS = [
  "The weather in Oslo is fine.",
  "Use <b>bold</b> and a | b.",
  '{"name": "weather", "arguments": {"city": "Oslo"}}',
  "function weather(city) { return city; }",
  "[TOOL CALLS] is no mark.",
];

function complete(events: readonly { type: string }[]): MessageCompleteEvent {
  return events.find(({ type }) => type === "message_complete") as MessageCompleteEvent;
}

function kinds(warnings: Warning[] | undefined): string[] {
  return (warnings ?? []).map(({ kind }) => kind);
}

for (const writer of WRITERS) {
  const { name } = writer.dialect;

  Deno.test(`tool_call_text: a leaked call is delivered as text, warned about and never run, ${name}`, async () => {
    for (const leak of LEAKS) {
      const { message, stopReason, warnings } = complete((await tellReply(writer, says(...leak))).events);
      assertEquals(message.content, [{ type: "text", text: leak }]);
      assertEquals([stopReason, kinds(warnings)], ["end_turn", ["tool_call_text"]], leak);
    }
    for (const text of HARMLESS) {
      assertEquals(complete((await tellReply(writer, says(text))).events).warnings, undefined, text);
    }
  });

  Deno.test(`tool_call_text: nothing leaked runs in a loop, ${name}`, async () => {
    let ran = 0;
    const weather = {
      name: "weather",
      description: "Tells the weather",
      inputSchema: { type: "object" },
      run: () => String(ran++),
    };
    for (const leak of LEAKS) {
      const { result, error } = await tellRun(writer, [says(leak)], { agent: { tools: [weather] } });
      assertEquals(error, undefined);
      assertEquals((result as { text: string }).text, leak);
    }
    assertEquals(ran, 0);
  });

  Deno.test(`tool_call_text: a reply with a real call may quote one, ${name}`, async () => {
    const reply: ReplyScript = {
      parts: [{ text: [LEAKS[0]!] }, { call: { id: "c1", name: "weather", args: ["{}"] } }],
      end: "tool_use",
      usage: USAGE,
    };
    assertEquals(complete((await tellReply(writer, reply)).events).warnings, undefined);
  });

  Deno.test(`usage_missing: a reply without usage says so, and reports none, ${name}`, async () => {
    const { usage, warnings } = complete(
      (await tellReply(writer, { parts: [{ text: ["x"] }], end: "end_turn" })).events,
    );
    assertEquals(usage, undefined);
    assertEquals(kinds(warnings), ["usage_missing"]);
    assertEquals(complete((await tellReply(writer, says("x"))).events).warnings, undefined);
  });

  Deno.test(`context_cut: far too few counted tokens for the prompt, ${name}`, async () => {
    const reply = (input: number): ReplyScript => ({
      parts: [{ text: ["x"] }],
      end: "end_turn",
      usage: { input, output: 1 },
    });
    const prompt = "word ".repeat(4000);
    const { warnings } = complete((await tellReply(writer, reply(256), { prompt })).events);
    assertEquals(kinds(warnings), ["context_cut"]);
    assertStringIncludes(warnings![0]!.message, "256");
    // Ordinary ratios, CJK and code among them, are no reason.
    for (const input of [2000, 5000, 20000]) {
      assertEquals(complete((await tellReply(writer, reply(input), { prompt })).events).warnings, undefined);
    }
    const short = complete((await tellReply(writer, reply(1), { prompt: "hi" })).events);
    assertEquals(short.warnings, undefined);
  });

  Deno.test(`context_overflow: an error of its own wherever it is said, ${name}`, async () => {
    const texts = [
      "prompt is too long: 210000 tokens > 200000 maximum",
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      "request (40015 tokens) exceeds the available context size (32768 tokens), try increasing it",
      "The input token count (300000) exceeds the maximum number of tokens allowed",
    ];
    for (const message of texts) {
      const inStream = { parts: [{ text: ["so"] }], end: { type: "invalid_request_error", code: 400, message } };
      const told = (await tellReply(writer, inStream as ReplyScript)).error as { code: string; retryable: boolean };
      assertEquals([told.code, told.retryable], ["context_overflow", false], message);
      const http = { status: 400, type: "invalid_request_error", message };
      const answered = (await tellReply(writer, { parts: [], end: "cut", http })).error as {
        code: string;
        status: number;
      };
      assertEquals([answered.code, answered.status], ["context_overflow", 400], message);
    }
    const large = { status: 413, type: "request_too_large", message: "too large" };
    const { code, status } = (await tellReply(writer, { parts: [], end: "cut", http: large })).error as Record<
      string,
      unknown
    >;
    assertEquals([code, status], ["context_overflow", 413]);
    const other = { status: 400, type: "invalid_request_error", message: "temperature is out of range" };
    assertEquals(
      ((await tellReply(writer, { parts: [], end: "cut", http: other })).error as { code: string }).code,
      "http_status",
    );
  });
}

Deno.test("context_overflow: a finish at a full context is an error of the loop, not of the stream", async () => {
  const [, writer] = WRITERS as [never, (typeof WRITERS)[number]];
  const reply: ReplyScript = { parts: [{ text: ["so far"] }], end: "max_tokens", usage: USAGE };
  const events = writer.events(reply).map((wire) => wire.replace('"max_tokens"', '"model_context_window_exceeded"'));
  const answer = () => ({ ...write(writer, reply), steps: events.map((wire) => new TextEncoder().encode(wire)) });
  const conversation = conversationOf("hi");
  let last: MessageCompleteEvent | undefined;
  for await (const event of scripted(writer, [answer()]).stream(conversation)) {
    if (event.type === "message_complete") last = event;
  }
  assertEquals([last?.stopReason, last?.rawStopReason], ["max_tokens", "model_context_window_exceeded"]);
  try {
    await new Agent(scripted(writer, [answer()])).runStep(conversation);
    assert(false, "the loop must fail");
  } catch (error) {
    assert(isPawlError(error, "context_overflow"), String(error));
    assertEquals((error.partial as { text: string }).text, "so far");
    const { message } = error.partial as { message?: { content: ContentBlock[] } };
    assertEquals(message?.content, [{ type: "text", text: "so far" }]);
  }
});
