/**
 * Holds a request against the rules that every conversation must keep, whatever it is about (rules R-01…R-45).
 * @module
 */

/** What a provider sends: the parsed body and lower-case header names. */
export interface SentRequest {
  path: string;
  headers: Record<string, string>;
  // deno-lint-ignore no-explicit-any -- a body is looked at from all sides
  body: any;
}

type Json = Record<string, unknown>;

/** Collects what is wrong, each with its rule. */
class Findings {
  readonly all: string[] = [];

  check(rule: string, holds: boolean, what: string): void {
    if (!holds) this.all.push(`${rule}: ${what}`);
  }
}

/**
 * Lints a request.
 *
 * @param dialect `dialect.name`.
 * @param key The API key, which must be in neither path nor body.
 * @returns One line for each broken rule.
 */
export function lintRequest(dialect: string, { path, headers, body }: SentRequest, key?: string): string[] {
  const found = new Findings();
  const text = JSON.stringify(body);
  found.check("R-01", typeof body.model === "string" && body.model !== "", "no model");
  found.check("R-01", body.stream === true, "it is not streamed");
  found.check("R-01", Array.isArray(body.messages) && body.messages.length > 0, "no messages");
  found.check("R-24", headers["content-type"] === "application/json", `content-type ${headers["content-type"]}`);
  found.check("R-24", headers["accept-encoding"] !== "identity", "a bare identity");
  found.check("R-04", body.tools === undefined || body.tools.length > 0, "an empty list of tools");
  const choosing = ["tool_choice", "parallel_tool_calls"].filter((field) => field in body);
  found.check("R-04", "tools" in body || choosing.length === 0, `${choosing} without tools`);
  for (const field of ["strict", "store", "n", "user", "seed", "logprobs", "top_p", "parallel_tool_calls"]) {
    found.check("R-25", !(field in body), `"${field}" was not asked for`);
  }
  found.check("R-45", key === undefined || !`${path}${text}`.includes(key), "the key is in path or body");
  found.check("R-21", isWellFormed(body), "a lone surrogate");
  const names = ((body.tools ?? []) as Json[]).map((tool) => String(tool.name ?? (tool.function as Json)?.name));
  found.check("R-26", new Set(names).size === names.length, `tool names twice: ${names}`);
  for (const name of names) found.check("R-26", /^[\w-]{1,64}$/.test(name), `tool name ${JSON.stringify(name)}`);
  if (dialect === "openai_chat") lintOpenAi(found, headers, body);
  else lintAnthropic(found, headers, body);
  return found.all;
}

// deno-lint-ignore no-explicit-any -- a body is looked at from all sides
type Body = any;

/** Strings and keys, and what is inside arguments that are JSON text. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") {
    return value.isWellFormed() && (!holdsObject(value) || isWellFormed(JSON.parse(value)));
  }
  return typeof value !== "object" || value === null ||
    Object.entries(value).every(([key, inner]) => key.isWellFormed() && isWellFormed(inner));
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function holdsObject(json: unknown): boolean {
  try {
    return typeof json === "string" && isObject(JSON.parse(json));
  } catch {
    return false;
  }
}

function lintOpenAi(found: Findings, headers: Record<string, string>, body: Body): void {
  const { authorization } = headers;
  found.check("R-24", authorization === undefined || /^Bearer [\x21-\x7e]{5,}$/.test(authorization), "authorization");
  found.check("R-24", !("x-api-key" in headers) && !("anthropic-version" in headers), "headers of Anthropic");
  found.check("R-14", ("max_tokens" in body) !== ("max_completion_tokens" in body), "not exactly one output limit");
  for (const { type, function: declared } of body.tools ?? []) {
    found.check("R-26", type === "function" && declared?.parameters?.type === "object", "a tool without object schema");
    found.check("R-26", isObject(declared?.parameters?.properties), "a tool schema without properties");
  }
  let called: string[] = [];
  let calls = 0;
  for (const [i, message] of body.messages.entries()) {
    const at = `messages[${i}]`;
    const { role, content, tool_calls } = message;
    found.check("R-03", role !== "system" || i === 0, `${at}: a system message that is not the first`);
    found.check("R-03", ["system", "user", "assistant", "tool"].includes(role), `${at}: role ${role}`);
    if (role === "tool") {
      found.check("R-08", called.shift() === message.tool_call_id, `${at}: not the result that is due`);
      found.check("R-08", typeof content === "string" && content !== "", `${at}: a result that is no text`);
      continue;
    }
    found.check("R-18", called.length === 0, `${at}: calls without result before it: ${called}`);
    called = [];
    if (role === "user") {
      found.check("R-01", typeof content === "string" || content.some((part: Json) => part.type === "image_url"), at);
    }
    if (role !== "assistant") continue;
    found.check("R-06", "content" in message, `${at}: no key "content"`);
    found.check("R-06", tool_calls === undefined || tool_calls.length > 0, `${at}: an empty list of calls`);
    found.check("R-07", typeof content === "string" || (content === null && tool_calls), `${at}: content is no text`);
    found.check("R-27", tool_calls || content.trim() !== "", `${at}: an empty reply`);
    for (const { id, type, function: fn } of tool_calls ?? []) {
      calls++;
      found.check("R-09", type === "function" && fn.name !== "" && holdsObject(fn.arguments), `${at}: call ${id}`);
      found.check("R-17", id !== "" && !called.includes(id), `${at}: id ${id} is empty or twice`);
      called.push(id);
    }
  }
  found.check("R-18", called.length === 0, `calls without result at the end: ${called}`);
  found.check("R-05", calls === 0 || "tools" in body, "calls in the history and no tools");
}

function lintAnthropic(found: Findings, headers: Record<string, string>, body: Body): void {
  found.check("R-24", headers["anthropic-version"] === "2023-06-01", "anthropic-version");
  found.check("R-24", !("authorization" in headers), "an authorization header");
  found.check("R-14", Number.isInteger(body.max_tokens) && body.max_tokens > 0, "max_tokens");
  found.check("R-02", !("stream_options" in body), "stream_options");
  const budget = body.thinking?.budget_tokens;
  found.check("R-31", budget === undefined || (budget >= 1024 && budget < body.max_tokens), `budget ${budget}`);
  found.check("R-15", budget === undefined || (body.temperature ?? 1) === 1, "temperature beside thinking");
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  found.check("R-30", marks <= 4, `${marks} cache marks`);
  for (const { input_schema } of body.tools ?? []) {
    found.check("R-26", input_schema?.type === "object" && isObject(input_schema.properties), "a tool's input_schema");
  }
  let called: string[] = [];
  const ids = new Set<string>();
  for (const [i, { role, content }] of body.messages.entries()) {
    const at = `messages[${i}]`;
    const blocks: Json[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    found.check("R-29", role === (i % 2 === 0 ? "user" : "assistant"), `${at}: role ${role}`);
    found.check("R-27", blocks.length > 0, `${at}: no content`);
    const results = blocks.filter(({ type }) => type === "tool_result").map((block) => String(block.tool_use_id));
    found.check("R-08", blocks.slice(0, results.length).every(({ type }) => type === "tool_result"), `${at}: order`);
    found.check("R-18", results.join() === called.join(), `${at}: results ${results} for calls ${called}`);
    called = [];
    let hasCalls = false;
    for (const block of blocks) {
      const { type, text, signature, input, id } = block;
      if (type === "text") found.check("R-32", String(text).trim() !== "", `${at}: a blank text block`);
      if (type === "thinking") {
        found.check("R-22", signature !== "" && signature !== undefined, `${at}: unsigned thinking`);
        found.check("R-30", !("cache_control" in block), `${at}: a cache mark on thinking`);
        found.check("R-20", !hasCalls || budget !== undefined, `${at}: thinking behind a call`);
      }
      if (type === "tool_result") found.check("R-37", block.content !== "", `${at}: an empty result`);
      if (type !== "tool_use") continue;
      hasCalls = true;
      found.check("R-36", isObject(input), `${at}: input of ${id} is no object`);
      found.check("R-35", /^[\w-]{1,64}$/.test(String(id)) && !ids.has(String(id)), `${at}: id ${id}`);
      ids.add(String(id));
      called.push(String(id));
    }
    if (i === body.messages.length - 1 && role === "assistant") {
      const last = blocks[blocks.length - 1]!;
      found.check("R-33", last.type !== "text" || text(last) === text(last).trimEnd(), "blanks at the end");
      found.check("R-33", blocks.some(({ type }) => String(type).startsWith("server_")), "it ends with a reply");
    }
  }
  found.check("R-18", called.length === 0, `calls without result at the end: ${called}`);
  found.check("R-05", ids.size === 0 || "tools" in body, "calls in the history and no tools");
}

function text(block: Json): string {
  return String(block.text);
}

/** The value at `messages.-1.content.0.type`; negative numbers count from the end. */
export function valueAt(body: unknown, path: string): unknown {
  let value = body;
  for (const key of path.split(".")) {
    value = Array.isArray(value) ? value.at(Number(key)) : (value as Json | undefined)?.[key];
  }
  return value;
}
