/**
 * What an endpoint says about a failure: the one extractor for bodies of HTTP errors and for errors inside a stream.
 * @module
 */
import { HIDDEN } from "./visible.ts";

/** An error as an endpoint told it. */
export interface ErrorReport {
  /** One line of at most 400 characters without markup, control characters and URLs; keys are still in it. `""` if nothing was said. */
  text: string;
  /** The endpoint's own code, if it is no HTTP status. */
  code?: string;
  /** The kind of error, for example `overloaded_error`. */
  type?: string;
  /** The HTTP status that the error names, 400–599. */
  status?: number;
}

const MAX_TEXT = 400;
const MAX_EXCERPT = 200;
/** What is looked at of a string that is to become a line. */
const MAX_LOOK = 8192;
/** Of nested shapes: an error that wraps an error, JSON in a string. */
const MAX_DEPTH = 8;

/** Where texts are found, the best first; an `error` that is an object comes before all. */
const TEXT_KEYS = [
  "message",
  "error_message",
  "msg",
  "detail",
  "error_description",
  "error",
  "errors",
  "description",
  "reason",
  "Message",
  "title",
];
const STATUS_KEYS = ["code", "status", "status_code", "statusCode", "error_code"];
const TYPE_KEYS = ["type", "error_type", "__type"];

const EVENT_FIELD = /^(?:data|error): ?/;
const ANSI = /\x1b\[[\d;?]*[a-z]/gi;
const PAGE = /<(?:!doctype|html|head|body|script|style|title)\b[^]*/i;
const MARKUP = /<[a-z/!][^<>]*>/gi;
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"<>]*/gi;

const OVERFLOW = new RegExp(
  [
    // OpenAI, vLLM, SGLang, llama.cpp, LM Studio, Mistral, Ollama, OpenRouter, DeepSeek, MiniMax, codes
    "context[ _-]?(?:length|window|size|limit)",
    "max(?:imum)? (?:context|(?:prompt|input|model|sequence) length|input (?:tokens|limit))",
    // Anthropic, Bedrock, Ollama, vLLM
    "(?:prompt|input|messages?|conversation)(?: \\(.{0,40}\\))? (?:(?:is|are) )?(?:too (?:long|large)|longer than)",
    // Groq, Cerebras, OpenAI
    "reduce the (?:length|size) of",
    "reduce your prompt",
    // Gemini, Copilot, Zhipu, Kimi, Azure
    "(?:token count|input tokens?|prompt).{0,40} exceeds?\\b",
    "token limit exceeded|exceed\\w* (?:the |model )*token limit",
    // Cohere; the same words with a time are a rate limit
    "too many (?:input |prompt )?tokens(?! per|, (?:please )?wait)",
    // TGI, DashScope
    "`?inputs`? (?:tokens|must have less)",
    "range of input length",
    "超长",
  ].join("|"),
  "i",
);

/** Words in a code or type that say who is to blame; the first list wins. */
const PERMANENT = new RegExp(
  "invalid|bad.?request|malformed|unprocessable|validation|unsupported|not.?supported|auth|permission|forbidden|denied|" +
    "not.?found|too.?large|context|quota|billing|credit|payment|content.?(?:filter|policy)|safety",
  "i",
);
const TRANSIENT =
  /overload|api.?error|server|rate.?limit|time.?out|unavailable|exhausted|too.?many|throttl|connection/i;

/**
 * Finds out what an endpoint says, in any shape seen in the wild (quirks H-05, H-06, O-84…O-87, A-27). Never throws; the work is
 * bounded by the size of the value, the recursion by eight levels.
 *
 * @param value Parsed JSON, or the text of a body or event: JSON, server-sent events, a page (of which nothing is taken), or plain text.
 */
export function readError(value: unknown): ErrorReport {
  const report: ErrorReport = { text: "" };
  const said = textOf(typeof value === "string" ? payloadOf(value) : value, report, 0);
  report.text = cut(clean(said) || report.type || report.code || "", MAX_TEXT);
  return report;
}

/**
 * Quotes an endpoint: cleaned, without keys, one line of at most 200 characters.
 *
 * @param text What it wrote.
 * @param redact Takes keys out; it sees the text before it is cut, so that none is cut in two.
 */
export function excerpt(text: string, redact: (text: string) => string): string {
  return cut(redact(clean(text)), MAX_EXCERPT);
}

/**
 * Whether an error says that the conversation does not fit the model's context (rule R-43).
 *
 * @param text What the endpoint said; codes and types may be part of it.
 */
export function isOverflow(text: string): boolean {
  return OVERFLOW.test(text.slice(0, MAX_LOOK));
}

/**
 * Whether the request may succeed later, for an error inside a stream: by its status, else by the words of its code or type; one
 * that tells neither may be repeated.
 *
 * @param report What {@linkcode readError} found.
 */
export function isRetryable({ status, code, type }: ErrorReport): boolean {
  if (status !== undefined) return isRetryableStatus(status);
  for (const word of [code, type]) {
    if (word === undefined) continue;
    if (PERMANENT.test(word)) return false;
    if (TRANSIENT.test(word)) return true;
  }
  return true;
}

/**
 * Whether a request that failed with an HTTP status may succeed later.
 *
 * @param status HTTP status of an error.
 */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** The part of a body or event that tells the error: of server-sent events the first data, of a page nothing. */
function payloadOf(text: string): string {
  const body = text.trim().replaceAll("\r\n", "\n");
  if (body.startsWith("<")) return "";
  if (!/^(?:data|error|event|id|retry)?:/.test(body)) return body;
  for (const event of body.split("\n\n")) {
    const lines = event.split("\n").filter((line) => EVENT_FIELD.test(line));
    const data = lines.map((line) => line.replace(EVENT_FIELD, "")).join("\n");
    if (data !== "" && data !== "[DONE]") return data;
  }
  return body;
}

/** The text in a value of any shape; codes and types on the way go into the report, the innermost first. */
function textOf(value: unknown, report: ErrorReport, depth: number): string {
  if (typeof value === "string") {
    const parsed = parse(value);
    if (parsed === undefined) return value;
    return textOf(parsed, report, depth + 1) || (report.type || report.code ? "" : value);
  }
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return "";
  if (Array.isArray(value)) {
    return value.slice(0, 3).map((item) => textOf(item, report, depth + 1)).filter(Boolean).join("; ");
  }
  const fields = value as Record<string, unknown>;
  const first = typeof fields.error === "object" ? "error" : "message";
  let text = textOf(fields[first], report, depth + 1);
  for (const key of TEXT_KEYS) if (key !== first) text ||= textOf(fields[key], report, depth + 1);
  // FastAPI names the offending field beside the text.
  if (Array.isArray(fields.loc)) return `${fields.loc.filter(isWord).join(".")}: ${text}`;
  // OpenRouter's own message says nothing; what the provider behind it said stands there.
  const raw = textOf((fields.metadata as { raw?: unknown } | null | undefined)?.raw, report, depth + 1);
  if (raw) text = text ? `${text}: ${raw}` : raw;
  for (const key of STATUS_KEYS) note(fields[key], key, report);
  for (const key of TYPE_KEYS) {
    const type = fields[key];
    if (typeof type === "string" && type !== "error") report.type ??= cut(clean(type), 64);
  }
  return text;
}

function note(value: unknown, key: string, report: ErrorReport): void {
  if (!isWord(value) || value === "") return;
  const status = Number(value);
  if (status >= 400 && status < 600) report.status ??= status;
  else if (key.endsWith("code")) report.code ??= cut(clean(String(value)), 64);
  else if (typeof value === "string" && value !== "error") report.type ??= cut(clean(value), 64);
}

function isWord(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** What a JSON text holds, if it is one that may hold more. */
function parse(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // It only looks like JSON: then it is text.
    return undefined;
  }
}

function clean(text: string): string {
  return text.slice(0, MAX_LOOK).replace(ANSI, "").replace(HIDDEN, " ").replace(PAGE, " ").replace(MARKUP, " ")
    .replace(URLS, "[url]").replace(/\s+/g, " ").trim();
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max - 1).toWellFormed() + "…";
}
