/**
 * Recordings: every exchange of a `fetch` as lines of JSON, and a `fetch` that answers from them.
 * @module
 */
import { PawlError } from "../model/error.ts";
import { bodyFailure, connectionFailure } from "./failure.ts";
import { bodyStream, readRequest, type ScriptedRequest } from "./scripted.ts";

/** A chunk of a body, with the milliseconds since the request was sent. */
export type RecordedChunk = { ms: number; text: string } | { ms: number; base64: string };

/** One exchange; a recording has one a line, as JSON. */
export interface RecordedExchange {
  /** What was sent; the path with its query, without the origin. */
  request: { method: string; path: string; headers: Record<string, string>; body: string };
  /** Absent if there was none. */
  response?: { status: number; headers: Record<string, string> };
  /** As they came, after the decoding of any content-encoding. */
  chunks: RecordedChunk[];
  /**
   * `complete`, or `left` by its reader; otherwise what failed: a connection (`connection refused` and so on) or the body (`truncated`,
   * `malformed_stream`).
   */
  end: string;
}

/** What is kept out of a recording. */
export interface RecordOptions {
  /** Header fields to blank, beside those that are known to carry credentials or cookies. */
  headers?: readonly string[];
  /** Takes secrets out of a text, as `provider.scrub` does: path, header values and both bodies pass it. */
  redact?: (text: string) => string;
}

const SECRET_HEADERS = ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "set-cookie"];

/** A chunk before it is written. */
interface Chunk {
  ms: number;
  bytes: Uint8Array;
}

/**
 * Records what passes a `fetch`.
 *
 * @param fetch What sends.
 * @param write Given one line for each exchange, without a line end, when it is over. What it throws fails the exchange, except after
 * the reader has left, when nobody is there to hear it.
 * @param options What to keep out.
 * @returns A `fetch` that does what the given one does.
 *
 * @example
 * ```ts
 * import { recordFetch, replayFetch, scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const lines: string[] = [];
 * const recorded = recordFetch(scriptedFetch(["data: a\n\n"]), (line) => void lines.push(line));
 * await (await recorded("http://localhost/v1/chat")).text();
 * const replayed = replayFetch(lines.join("\n"));
 * assertEquals(await (await replayed("http://elsewhere/v1/chat")).text(), "data: a\n\n");
 * ```
 */
export function recordFetch(
  fetch: typeof globalThis.fetch,
  write: (line: string) => void | Promise<void>,
  options: RecordOptions = {},
): typeof globalThis.fetch {
  const { redact = same } = options;
  const secrets = new Set([...SECRET_HEADERS, ...options.headers ?? []].map((name) => name.toLowerCase()));
  function clean(headers: Iterable<[string, string]>): Record<string, string> {
    return Object.fromEntries(
      Array.from(headers, ([name, value]) => [name, secrets.has(name) ? "[redacted]" : redact(value)]),
    );
  }

  return async (input, init) => {
    const { method, url, headers, body } = await readRequest(input, init);
    const request = {
      method,
      path: redact(pathOf(url)),
      headers: clean(Object.entries(headers)),
      body: redact(body),
    };
    const sent = performance.now();
    const chunks: Chunk[] = [];
    let isOver = false;
    async function finish(end: string, response?: Response): Promise<void> {
      if (isOver) return;
      isOver = true;
      const exchange: RecordedExchange = {
        request,
        ...(response && { response: { status: response.status, headers: clean(response.headers) } }),
        chunks: cleanChunks(chunks, redact),
        end,
      };
      await write(JSON.stringify(exchange));
    }

    let response: Response;
    try {
      response = await fetch(input, init);
    } catch (error) {
      await finish(init?.signal?.aborted ? "left" : connectionFailure(error).message.replace(/^.*: /, ""));
      throw error;
    }
    // Of a status beyond 599 no response can be made.
    if (!response.body || response.status > 599) {
      await finish("complete", response);
      return response;
    }
    const reader = response.body.getReader();
    const recorded = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            chunks.push({ ms: Math.round(performance.now() - sent), bytes: value.slice() });
            return controller.enqueue(value);
          }
        } catch (error) {
          const isEncoded = response.headers.has("content-encoding");
          await finish(init?.signal?.aborted ? "left" : bodyFailure(error, isEncoded).code, response);
          throw error;
        }
        await finish("complete", response);
        controller.close();
      },
      async cancel(reason) {
        await Promise.all([finish("left", response), reader.cancel(reason)]);
      },
    }, { highWaterMark: 0 });
    return new Response(recorded, response);
  };
}

function same(text: string): string {
  return text;
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** A secret may be cut by a chunk border; then the borders go. What is no text goes into base64, unless a secret shows in it. */
function cleanChunks(chunks: readonly Chunk[], redact: (text: string) => string): RecordedChunk[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = chunks.map(({ bytes }) => decoder.decode(bytes));
  const cleaned = texts.map(redact);
  const joined = cleaned.join("");
  if (redact(joined) !== joined) {
    const whole = chunks.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join("") + decoder.decode();
    return [{ ms: chunks[0]!.ms, text: redact(whole) }];
  }
  return chunks.map(({ ms, bytes }, i) => {
    const text = cleaned[i]!;
    const isText = text !== texts[i] || !text.includes("\ufffd") || isUtf8(bytes);
    return isText
      ? { ms, text }
      : { ms, base64: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
  });
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes) !== undefined;
  } catch {
    return false;
  }
}

/** How a recording is played. */
export interface ReplayOptions {
  /** Chunks come as long after the request as they did. Default: at once. */
  timing?: boolean;
  /** The redaction of the recording: requests pass it before they are compared. */
  redact?: (text: string) => string;
}

/**
 * Answers from a recording, exchange by exchange in its order, with the chunk borders that it has. It needs no network.
 *
 * @param recording Lines of JSON, or what they hold.
 * @param options Pace and redaction.
 * @returns A `fetch`. It rejects with a {@linkcode PawlError} that is not repeated and says what differs, if method, path or body of a request are
 * not as recorded, or no exchange is left.
 * @throws {TypeError} A line is no exchange.
 */
export function replayFetch(
  recording: string | readonly RecordedExchange[],
  options: ReplayOptions = {},
): typeof globalThis.fetch {
  const exchanges = typeof recording === "string" ? parse(recording) : recording;
  const { redact = same, timing = false } = options;
  let count = 0;
  return async (input, init) => {
    init?.signal?.throwIfAborted();
    const sent = await readRequest(input, init);
    const exchange = exchanges[count++];
    const difference = exchange ? compare(exchange.request, sent, redact) : `the recording has ${exchanges.length}`;
    if (!exchange || difference) throw new PawlError("unreachable", `Cannot replay request ${count}: ${difference}`);
    const { response, chunks, end } = exchange;
    if (!response) throw new TypeError(end);
    let passed = 0;
    const steps = chunks.map((chunk) => {
      const waitMs = timing ? chunk.ms - passed : 0;
      passed = chunk.ms;
      return { bytes: bytesOf(chunk), waitMs };
    });
    const { status, headers } = response;
    const isEmpty = status < 200 || status === 204 || status === 205 || status === 304;
    return new Response(
      isEmpty ? null : bodyStream(steps, {
        end: end === "truncated" ? "break" : end === "malformed_stream" ? "garble" : undefined,
        signal: init?.signal ?? undefined,
        isBytes: true,
      }),
      { status, headers },
    );
  };
}

function parse(recording: string): RecordedExchange[] {
  return recording.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    try {
      const exchange = JSON.parse(line);
      if (typeof exchange.request.body === "string" && Array.isArray(exchange.chunks)) return [exchange];
    } catch {
      // Told below, as a line of any other shape.
    }
    throw new TypeError(`Cannot replay a recording as its line ${i + 1} is no exchange`);
  });
}

function bytesOf(chunk: RecordedChunk): Uint8Array {
  return "text" in chunk
    ? new TextEncoder().encode(chunk.text)
    : Uint8Array.from(atob(chunk.base64), (character) => character.charCodeAt(0));
}

/** What differs, in words. */
function compare(
  recorded: RecordedExchange["request"],
  sent: ScriptedRequest,
  redact: (text: string) => string,
): string | undefined {
  const { method } = sent;
  if (method !== recorded.method) return `its method is ${method}, recorded was ${recorded.method}`;
  const path = redact(pathOf(sent.url));
  if (path !== recorded.path) return `its path is "${path}", recorded was "${recorded.path}"`;
  const body = redact(sent.body);
  if (body === recorded.body) return undefined;
  let at = 0;
  while (body[at] === recorded.body[at]) at++;
  const near = [body, recorded.body].map((text) => JSON.stringify(text.slice(Math.max(0, at - 20), at + 40)));
  return `its body differs at character ${at}: sent ${near[0]}, recorded ${near[1]}`;
}
