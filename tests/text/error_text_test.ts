import { assert, assertEquals } from "@std/assert";
import { type ErrorReport, excerpt, isOverflow, isRetryable, readError } from "../../src/text/error_text.ts";
import { createRedactor } from "../../src/text/redact.ts";
import { assertQuick, flood } from "./support.ts";

const SHAPES: ReadonlyArray<[value: unknown, report: ErrorReport]> = [
  // OpenAI and its clones
  [
    { error: { message: "No such model", type: "not_found_error", param: null, code: null } },
    { text: "No such model", type: "not_found_error" },
  ],
  [
    { error: { message: "Bad key", type: "invalid_request_error", code: "invalid_api_key" } },
    { text: "Bad key", type: "invalid_request_error", code: "invalid_api_key" },
  ],
  [{ error: { message: "backend crashed", type: "server_error", code: 500 } }, {
    text: "backend crashed",
    type: "server_error",
    status: 500,
  }],
  [{ error: { message: "no deployments", code: "429" } }, { text: "no deployments", status: 429 }],
  [{ choices: [], id: "x", error: { code: 400, message: "too much" } }, { text: "too much", status: 400 }],
  // Ollama, xAI
  [{ error: "runner has stopped" }, { text: "runner has stopped" }],
  [{ code: "Client specified an invalid argument", error: "Bad key" }, {
    text: "Bad key",
    code: "Client specified an invalid argument",
  }],
  [{ error: true, message: "both" }, { text: "both" }],
  // NestJS, Spring
  [{ statusCode: 400, error: "Bad Request", message: ["a must be b", "c"] }, { text: "a must be b; c", status: 400 }],
  // Gemini
  [[{ error: { code: 400, message: "Wrong", status: "INVALID_ARGUMENT" } }], {
    text: "Wrong",
    status: 400,
    type: "INVALID_ARGUMENT",
  }],
  // FastAPI, vLLM
  [{ detail: "Engine loop is dead" }, { text: "Engine loop is dead" }],
  [
    { detail: [{ type: "missing", loc: ["body", "messages", 0, "role"], msg: "Field required" }, { msg: "second" }] },
    { text: "body.messages.0.role: Field required; second" },
  ],
  [{ object: "error", message: "input is wrong", type: "BadRequestError", code: 400 }, {
    text: "input is wrong",
    type: "BadRequestError",
    status: 400,
  }],
  // Mistral
  [
    {
      object: "error",
      message: { detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs" }] },
      type: "invalid_request_error",
      code: null,
    },
    { text: "body.stream_options: Extra inputs", type: "invalid_request_error" },
  ],
  // SiliconFlow
  [{ code: 20012, message: "Model does not exist", data: null }, { text: "Model does not exist", code: "20012" }],
  // Venice
  [{ error_type: "context_length_exceeded", error_message: "163840 tokens" }, {
    text: "163840 tokens",
    type: "context_length_exceeded",
  }],
  // Anthropic
  [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" }, request_id: "r" }, {
    text: "Overloaded",
    type: "overloaded_error",
  }],
  [{ type: "error", error: { type: "overloaded_error" } }, { text: "overloaded_error", type: "overloaded_error" }],
  [{ type: "error", error: { message: "no type" } }, { text: "no type" }],
  [{ status: "error", message: "no status" }, { text: "no status" }],
  // OpenRouter
  [
    {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: { raw: '{"error":{"message":"tools[0].name is invalid","type":"x"}}', provider_name: "Syn" },
      },
    },
    { text: "Provider returned error: tools[0].name is invalid", status: 400, type: "x" },
  ],
  [{ error: { message: "Provider returned error", metadata: { raw: "plain" } } }, {
    text: "Provider returned error: plain",
  }],
  [{ error: { metadata: { raw: "alone" } } }, { text: "alone" }],
  [{ error: { message: "m", metadata: null } }, { text: "m" }],
  // Others
  [{ errors: [{ message: "one" }, { message: "two" }] }, { text: "one; two" }],
  [{ title: "Bad", detail: "worse", status: 422 }, { text: "worse", status: 422 }],
  [{ error: "invalid_grant", error_description: "expired" }, { text: "expired" }],
  [{ __type: "ThrottlingException", Message: "slow" }, { text: "slow", type: "ThrottlingException" }],
  [{ error: { message: '{"error":{"message":"wrapped","code":"inner"}}', code: "outer" } }, {
    text: "wrapped",
    code: "inner",
  }],
  // Text
  ["bare", { text: "bare" }],
  ['"bare string"', { text: "bare string" }],
  ["404 page not found\n", { text: "404 page not found" }],
  ['{"error":{"message":"in a body","code":503}}', { text: "in a body", status: 503 }],
  [' \n{"detail":"padded"}', { text: "padded" }],
  ['{"error":{"message":"broken', { text: '{"error":{"message":"broken' }],
  ['{"what":"else"}', { text: '{"what":"else"}' }],
  ["[1] looks like JSON", { text: "[1] looks like JSON" }],
  // Server-sent events
  ["event: error\ndata: upstream timed out\n\n", { text: "upstream timed out" }],
  ['event: error\r\ndata: {"error":{"message":"framed",\r\ndata: "code":500}}\r\n\r\ndata: [DONE]\r\n\r\n', {
    text: "framed",
    status: 500,
  }],
  ['error: {"code":400,"message":"field","type":"invalid_request_error"}\n\ndata: [DONE]', {
    text: "field",
    status: 400,
    type: "invalid_request_error",
  }],
  [": ping\n\ndata: [DONE]\n\ndata: late", { text: "late" }],
  [": nothing", { text: ": nothing" }],
  // Pages
  ["<html>\r\n<head><title>502 Bad Gateway</title></head><body>x</body></html>", { text: "" }],
  ["<!DOCTYPE html><p>no", { text: "" }],
  ["\n <?xml version='1.0'?><Error/>", { text: "" }],
  [{ error: { message: "Upstream said: <html><body>502</body></html>" } }, { text: "Upstream said:" }],
  [{ message: "a <b>bold</b> <a href='x'>claim</a> with 1 < 2" }, { text: "a bold claim with 1 < 2" }],
  // Nothing
  ["", { text: "" }],
  [{}, { text: "" }],
  [[], { text: "" }],
  [null, { text: "" }],
  [undefined, { text: "" }],
  [42, { text: "" }],
  [{ error: null }, { text: "" }],
  [{ error: {} }, { text: "" }],
  [{ error: { message: 5, code: {}, type: [] } }, { text: "" }],
  [{ code: "only_a_code" }, { text: "only_a_code", code: "only_a_code" }],
];

Deno.test("readError finds the text, code, type and status in every known shape", () => {
  for (const [value, report] of SHAPES) assertEquals(readError(value), report, JSON.stringify(value));
});

Deno.test("readError reads a body as it reads its JSON", () => {
  for (const [value, report] of SHAPES) {
    if (typeof value !== "object" || report.text === "") continue;
    assertEquals(readError(JSON.stringify(value)), report);
    assertEquals(readError(`event: error\ndata: ${JSON.stringify(value)}\n\n`), report);
  }
});

Deno.test("readError gives one clean line of at most 400 characters", () => {
  const said = (message: string) => readError({ error: { message } }).text;
  assertEquals(said("a\n\tb\r\n  c"), "a b c");
  assertEquals(said("\x1b[31mred\x1b[0m \x1b]0;title\x07 x\x00y\u202ez\u200bw"), "red ]0;title x y z w");
  assertEquals(said("see https://user:pw@h.example/v1?key=1#x for help"), "see [url] for help");
  assertEquals(said('url is "HTTP://10.0.0.1:80/a?b=c", sorry'), 'url is "[url]", sorry');
  assertEquals(said("ws+unix://x"), "[url]");
  assertEquals(said("e".repeat(400)), "e".repeat(400));
  assertEquals(said("e".repeat(401)), "e".repeat(399) + "…");
  assertEquals(said("😀".repeat(300)).isWellFormed(), true);
  assertEquals(said(" ".repeat(500) + "x"), "x");
  const { code, type } = readError({ code: "c\n".repeat(99), type: "https://h/" + "t".repeat(99) });
  assertEquals(code?.length, 64);
  assertEquals(type, "[url]");
});

Deno.test("readError never throws, whatever it gets", () => {
  let deep: unknown = { message: "too deep" };
  for (let i = 0; i < 100_000; i++) deep = i % 2 ? [deep] : { error: deep };
  assertEquals(readError(deep).text, "");
  let strings = "core";
  for (let i = 0; i < 12; i++) strings = JSON.stringify(strings);
  assert(readError(strings).text.includes("core"));
  const cycle: Record<string, unknown> = {};
  cycle.error =
    cycle.message =
    cycle.detail =
    cycle.metadata =
      cycle;
  assertEquals(readError(cycle).text, "");
  assertEquals(readError(new Error("thrown")).text, "thrown");
  for (const value of [NaN, 1n, Symbol("s"), () => {}, new Map(), Object.create(null), "\ud800", "<".repeat(1e5)]) {
    assertEquals(typeof readError(value).text, "string");
  }
  assertEquals(readError({ detail: [{ loc: [[[]], {}, "a", 1], msg: "m" }] }).text, "a.1: m");
});

// deno-fmt-ignore
const FLOODS = [
  "<", "<a", "<a ", "a://", "a", "a.", "\x1b[", " ", "[", '{"error":', "data: x\n\n", "prompt (", "input tokens ", "exceed the ",
];

Deno.test("readError and isOverflow are linear in the text", () => {
  for (const text of FLOODS.map(flood)) {
    assertQuick(text.slice(0, 20), () => {
      for (const value of [text, { error: text }, { error: { message: text, metadata: { raw: text } } }]) {
        isOverflow(readError(value));
      }
      isOverflow({ text });
    });
  }
});

Deno.test("excerpt cleans, takes keys out, and only then cuts", () => {
  const redact = createRedactor(["sk-replay-SECRET-0001"]);
  assertEquals(excerpt("provided:\n sk-replay-SECRET-0001", redact), "provided: [redacted]");
  const text = excerpt("x".repeat(190) + " sk-replay-SECRET-0001 and more and more", redact);
  assertEquals(text.length, 200);
  assertEquals(text, "x".repeat(190) + " [redacte…");
});

Deno.test("isOverflow knows how servers say that the context is too small", () => {
  const overflows = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
    "Your input exceeds the context window of this model",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "the request exceeds the available context size, try increasing it",
    "request (9000 tokens) exceeds the available context size (8192 tokens)",
    "Context size has been exceeded.",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192",
    "input is longer than the context length",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens",
    "prompt too long; exceeded max context length by 12 tokens",
    "the input length exceeds the context length",
    "The number of tokens to keep from the initial prompt is greater than the context length",
    "input is too long for requested model",
    "prompt token count of 9000 exceeds the limit of 8192",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 262144 (requested: 300000)",
    "Input tokens exceed the configured limit of 272000 tokens.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
    "Range of input length should be [1, 30720]",
    "Prompt exceeds max length",
    "length of prompt_tokens (163280) must be less than max_seq_len (32768).",
    "prompt_too_long: tokenized prompt has 20771 tokens, max prompt/context tokens is 20119",
    "Unable to submit request because the input token count is 32825 but model only supports up to 32768.",
    "Prompt 超长",
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
  ];
  for (const text of overflows) {
    assert(isOverflow({ text }), text);
    assert(isOverflow(readError({ error: { message: text } })), text);
    assert(isOverflow({ text: text.toUpperCase() }) || text.includes("超"), text);
  }
  const others = [
    "",
    "Overloaded",
    "Rate limit reached for model on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "Number of request tokens has exceeded your per-minute rate limit",
    "Too many tokens, please wait before trying again.",
    "Too many tokens per minute",
    "Too many requests",
    "You exceeded your current quota",
    "max_tokens: must be at least 1",
    "messages.5.content.1: `thinking` blocks in the latest assistant message cannot be modified.",
    "model 'syn:7b' not found",
    "tools[0].function.name is invalid",
    "Extra inputs are not permitted",
    "Input should be a valid string",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
    "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576",
    "tools.0.input_schema: the description is too long",
    "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64",
    "body.temperature: Input should be less than or equal to 2",
  ];
  for (const text of others) assert(!isOverflow({ text }), text);
});

Deno.test("isRetryable goes by status, else by the words of code and type", () => {
  const rows: Array<[value: unknown, retryable: boolean]> = [
    [{ error: { code: 429 } }, true],
    [{ error: { code: "500" } }, true],
    [{ error: { code: 400, type: "overloaded_error" } }, false],
    [{ error: { code: 503, type: "invalid_request_error" } }, true],
    ["plain", true],
    [{ error: "plain" }, true],
    [{ error: { code: 1301, message: "x" } }, true],
  ];
  for (const type of ["overloaded_error", "api_error", "server_error", "rate_limit_error", "timeout_error"]) {
    rows.push([{ type: "error", error: { type } }, true]);
  }
  for (
    const type of [
      "unavailable_error",
      "InternalServerError",
      "APIConnectionError",
      "RESOURCE_EXHAUSTED",
      "ThrottlingException",
      "TooManyRequests",
      "requests",
    ]
  ) rows.push([{ error: { type } }, true]);
  for (
    const type of [
      "invalid_request_error",
      "authentication_error",
      "permission_error",
      "not_found_error",
      "request_too_large",
      "context_length_exceeded",
      "exceed_context_size_error",
      "insufficient_quota",
      "billing_error",
      "BadRequestError",
      "INVALID_ARGUMENT",
      "model_not_found",
      "content_filter",
      "UnprocessableEntityError",
    ]
  ) {
    rows.push([{ error: { type } }, false], [{ error: { code: type, type: "server_error" } }, false]);
    rows.push([{ error: { code: "something", type } }, false]);
  }
  for (const [value, retryable] of rows) assertEquals(isRetryable(readError(value)), retryable, JSON.stringify(value));
});

Deno.test("isRetryable takes the statuses 408, 409, 429 and all from 500 on", () => {
  const retryable = [];
  for (let status = 300; status < 600; status++) {
    if (isRetryable({ text: "", type: "server_error", status })) retryable.push(status);
  }
  assertEquals(retryable, [408, 409, 429, ...Array.from({ length: 100 }, (_, i) => 500 + i)]);
});
