/**
 * What an endpoint says about a failure: the one extractor for bodies of HTTP errors and for errors inside a stream.
 * @module
 */
import { cut } from "../model/error.ts";
import { hidden } from "./visible.ts";

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

/** Where texts are found, the best first; an `error` that is an object comes before all. */
const TEXT_KEYS =
  "message error_message error_msg status_msg msg detail error_description error errors Message title raw"
    .split(" ");

/** Of a page nothing is of use, and it ends where the text ends; nor of gzip that nobody labelled (quirk H-14). */
const MARKUP = /\x1b\[[\d;?]*[a-z]|(<([!?]|html|head|body)|^\x1f)[^]*|<[a-z/][^<>]*>/gi;
const URLS = /[\w+.-]{0,20}:\/\/[^\s"<>]*/g;

/** By what OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, Mistral, Anthropic, Bedrock, Groq, Gemini, Kimi, Cohere, TGI, Qwen, SiliconFlow say. */
const OVERFLOW = new RegExp(
  // The same words with a time are a rate limit.
  "^(?!.*(rate.?limit|per.minute|wait)).*(context[ _-]?(length|window|size|limit)|" +
    "(prompt|input|messages|conversation)(?=\\b|_to)[^.:]{0,60}(exceed|too.l|longer|length|max_seq|only supp)|" +
    "reduce \\w+ (length|size|prompt)|(?<!output )token limit|too many (\\w+ )?tokens|`inputs` (tokens|must)|超长)",
  "i",
);

/** Words in a code or type that blame the request, the key or the account. */
const PERMANENT =
  /valid|bad.?req|malform|unprocess|support|auth|permi|forbid|denied|not.?found|large|conte[nx]t|quota|bill|credit|pay|safety/i;

/**
 * Finds out what an endpoint says, in any shape seen in the wild (quirks H-05, H-06, O-84…O-87, A-27). Never throws; the work is
 * bounded by the size of the value, the recursion by eight levels.
 *
 * @param value Parsed JSON, or the text of a body or event: JSON, server-sent events, a page (of which nothing is taken), or plain text.
 */
export function readError(value: unknown): ErrorReport {
  const report: ErrorReport = { text: "" };
  const said = clean(find(typeof value === "string" ? payloadOf(value) : value, 0));
  report.text = cut(said || report.type || report.code || "", 400);
  return report;

  /** The text in a value of any shape; codes and types on the way go into the report, the innermost first. */
  function find(value: unknown, depth: number): string {
    const inner = (part: unknown) => find(part, depth + 1);
    if (typeof value === "string") {
      const parsed = parse(value);
      return parsed === undefined ? value : inner(parsed) || (report.type || report.code ? "" : value);
    }
    if (!(value instanceof Object) || depth > 8) return "";
    if (Array.isArray(value)) return value.slice(0, 3).map(inner).filter(Boolean).join("; ");
    const fields = value as Record<string, unknown>;
    let text = "";
    for (const key of new Set([typeof fields.error === "object" ? "error" : "message", ...TEXT_KEYS])) {
      text ||= inner(fields[key]);
    }
    // FastAPI names the offending field beside the text.
    if (Array.isArray(fields.loc)) return `${fields.loc.filter((part) => typeof part !== "object").join(".")}: ${text}`;
    // OpenRouter's own message says nothing; what the provider behind it said stands there.
    text = [text, inner(fields.metadata)].filter(Boolean).join(": ");
    for (const key in fields) {
      const word = typeof fields[key] === "object" ? "" : String(fields[key]);
      if (!/(code|status|type)$/i.test(key) || /^(error|true|false|)$/.test(word)) continue;
      if (/^[45]\d\d$/.test(word)) report.status ??= Number(word);
      else report[/code$/i.test(key) ? "code" : "type"] ??= cut(clean(word), 64);
    }
    return text;
  }
}

/**
 * Quotes an endpoint: cleaned, without keys, one line of at most 200 characters.
 *
 * @param text What it wrote.
 * @param redact Takes keys out; it sees the text before it is cut, so that none is cut in two.
 */
export function excerpt(text: string, redact: (text: string) => string): string {
  return cut(redact(clean(text)), 200);
}

/**
 * Whether an error says that the conversation does not fit the model's context (rule R-43).
 *
 * @param report What {@linkcode readError} found.
 */
export function isOverflow({ code, type, text }: ErrorReport): boolean {
  return OVERFLOW.test(`${code} ${type} ${text}`);
}

/**
 * Whether the request may succeed later: by its status, else by the words of its code and type; one that tells neither may be repeated.
 *
 * @param report What {@linkcode readError} found.
 */
export function isRetryable({ status, code, type }: Partial<ErrorReport>): boolean {
  return status ? [408, 409, 429].includes(status) || status >= 500 : !PERMANENT.test(`${code} ${type}`);
}

/** The first key whose pattern fits. */
export function keyOf<K extends string>(patterns: Partial<Record<K, RegExp>>, text: string): K | undefined {
  return (Object.keys(patterns) as K[]).find((key) => patterns[key]!.test(text));
}

/** The part of a body or event that tells the error: of server-sent events the first that says anything. */
function payloadOf(text: string): string {
  const [event] = /(?:^(?:data|error):(?! ?(?:\[DONE])?$).*\r?\n?)+/m.exec(text) ?? [text];
  return event.replace(/^(?:data|error): ?/gm, "");
}

/** What a JSON text holds, if it is one that may hold more. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It only looks like JSON: then it is text.
    return undefined;
  }
}

/** One line without markup, invisible characters and URLs, of no more than may become one. */
function clean(text: string): string {
  return text.slice(0, 8192).replace(MARKUP, " ").replace(hidden(), " ").replace(URLS, "[url]").replace(/\s+/g, " ")
    .trim();
}
