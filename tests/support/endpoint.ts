/**
 * A model endpoint of our own on 127.0.0.1: both dialects, streamed or whole, speaking what a script says. The demo and
 * the end-to-end tests run against it; it needs no key, no network and no model.
 *
 *     const endpoint = startEndpoint();
 *     … `${endpoint.url}/v1` for openai_chat, endpoint.url for anthropic_messages …
 *     await endpoint.close();
 *
 * @module
 */
import { anthropicEncoding, type Encoding, openAiEncoding, type Turn } from "./replies.ts";
import { type Heard, type Said, scriptedTurn } from "./scripted_model.ts";

/** What may be set about an endpoint. */
export interface EndpointOptions {
  /** Says what the model answers; {@linkcode scriptedTurn} unless given. A `Response` is sent as it is. */
  script?: (heard: Heard, request: Request) => Turn | Response | Promise<Turn | Response>;
  /** The models it has; one, `scripted`, unless given. Any other is a 404. */
  models?: string[];
  /** The key it wants; none unless given. */
  key?: string;
  /** Pause between two events of a stream, in milliseconds; 0 unless given. */
  pauseMs?: number;
}

/** A running endpoint. */
export interface Endpoint {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly url: string;
  /** `127.0.0.1:PORT`, as in `--allow-net`. */
  readonly host: string;
  /** Every request for a reply so far, in order. */
  readonly heard: Heard[];
  close(): Promise<void>;
}

const CHARACTERS_PER_TOKEN = 4;

type Json = Record<string, unknown>;

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: Json) => typeof part.text === "string" ? part.text : textOf(part.content)).join("\n");
}

function hearOpenAi(body: Json): Heard {
  const all = (body.messages ?? []) as Json[];
  const messages: Said[] = [];
  for (const { role, content } of all) {
    if (role === "system" || role === "developer") continue;
    const text = textOf(content);
    const before = messages.at(-1);
    if (role !== "tool") messages.push({ role: String(role), text, results: [] });
    else if (before?.results.length) before.results.push(text);
    else messages.push({ role: "user", text, results: [text] });
  }
  const tools = ((body.tools ?? []) as Json[]).map(({ function: declared }) => {
    const { name, parameters } = declared as Json;
    return { name: String(name), schema: (parameters ?? {}) as Json };
  });
  return {
    ...heardFields(body),
    dialect: "openai_chat",
    system: textOf(all.filter(({ role }) => role === "system" || role === "developer")),
    messages,
    tools,
    maxTokens: (body.max_completion_tokens ?? body.max_tokens) as number | undefined,
  };
}

function hearAnthropic(body: Json): Heard {
  const messages = ((body.messages ?? []) as Json[]).map(({ role, content }): Said => {
    const parts = Array.isArray(content) ? content as Json[] : [];
    const results = parts.filter(({ type }) => type === "tool_result").map((part) => textOf(part.content));
    return { role: String(role), text: textOf(content), results };
  });
  const { type, name } = (body.tool_choice ?? {}) as Json;
  return {
    ...heardFields(body),
    dialect: "anthropic_messages",
    system: textOf(body.system),
    messages,
    tools: ((body.tools ?? []) as Json[]).map((tool) => ({
      name: String(tool.name),
      schema: (tool.input_schema ?? {}) as Json,
    })),
    toolChoice: name ?? type,
    maxTokens: body.max_tokens as number | undefined,
  };
}

function heardFields(body: Json): Pick<Heard, "model" | "toolChoice" | "stream" | "body"> {
  return { model: String(body.model), toolChoice: body.tool_choice, stream: body.stream === true, body };
}

interface Route {
  hear(body: Json): Heard;
  encoding: Encoding;
  failure(status: number, type: string, message: string): Response;
}

const ROUTES: Record<string, Route> = {
  "/v1/chat/completions": {
    hear: hearOpenAi,
    encoding: openAiEncoding,
    failure: (status, type, message) => Response.json({ error: { message, type, code: type } }, { status }),
  },
  "/v1/messages": {
    hear: hearAnthropic,
    encoding: anthropicEncoding,
    failure: (status, type, message) => Response.json({ type: "error", error: { type, message } }, { status }),
  },
};

function streamed(events: string[], pauseMs: number): Response {
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pauseMs > 0 && next > 0) await new Promise((done) => setTimeout(done, pauseMs));
      const event = events[next++];
      if (event === undefined) controller.close();
      else controller.enqueue(encoder.encode(event));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/**
 * Starts an endpoint on a free port of 127.0.0.1.
 *
 * @param options Its script, models, key and pace
 * @returns The running endpoint; close it
 */
export function startEndpoint(options: EndpointOptions = {}): Endpoint {
  const { script = scriptedTurn, models = ["scripted"], key, pauseMs = 0 } = options;
  const heard: Heard[] = [];

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const route = ROUTES[pathname];
    const given = request.headers.get("x-api-key") ?? request.headers.get("authorization")?.replace(/^Bearer /, "");
    if (key !== undefined && given !== key) {
      return (route ?? ROUTES["/v1/messages"]!).failure(401, "authentication_error", "invalid api key");
    }
    if (pathname === "/v1/models" && request.method === "GET") {
      return Response.json({ object: "list", data: models.map((id) => ({ id, object: "model" })), has_more: false });
    }
    if (route === undefined || request.method !== "POST") return new Response("not found", { status: 404 });
    const asked = route.hear(await request.json());
    heard.push(asked);
    if (!models.includes(asked.model)) {
      return route.failure(404, "not_found_error", `model '${asked.model}' not found`);
    }
    const turn = await script(asked, request);
    if (turn instanceof Response) return turn;
    const { stream_options: wants } = asked.body as { stream_options?: { include_usage?: boolean } };
    const inputTokens = Math.ceil(JSON.stringify(asked.body).length / CHARACTERS_PER_TOKEN);
    const frame = { model: asked.model, serial: heard.length, inputTokens, usage: wants?.include_usage === true };
    return asked.stream
      ? streamed(route.encoding.stream(turn, frame), pauseMs)
      : Response.json(route.encoding.document(turn, frame));
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
  const host = `127.0.0.1:${server.addr.port}`;
  return { url: `http://${host}`, host, heard, close: () => server.shutdown() };
}
