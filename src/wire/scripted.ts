/**
 * An endpoint in memory, for tests.
 * @module
 */
import { PawlError } from "../model/error.ts";

/** One reply of a script. */
export interface ScriptedReply {
  /** Default 200. */
  status?: number;
  /** Added to the content type. */
  headers?: Record<string, string>;
  /**
   * Server-sent events, one a chunk: text is data as it is, anything else becomes JSON; a `type` in it names the event, as Anthropic
   * does.
   */
  events?: readonly unknown[];
  /** A body that is one JSON document. */
  json?: unknown;
  /** A body in these pieces. */
  chunks?: readonly (string | Uint8Array)[];
  /** What happens behind the last chunk: the connection breaks, or nothing until the reader leaves. Default: the body ends well. */
  end?: "break" | "stall";
  /** There is no reply at all: `connection refused`, `dns failure`, `tls failure`, `connection reset`, or anything. */
  failure?: string;
  /** `plain`: no byte stream, as in mocks; the bodies of runtimes are byte streams, which is the default. */
  stream?: "bytes" | "plain";
}

/** A request as it was sent. */
export interface ScriptedRequest {
  /** In capitals. */
  method: string;
  /** The whole of it. */
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** As text; empty if there was none. */
  body: string;
}

/** A `fetch` that answers from a script. */
export type ScriptedFetch = typeof fetch & {
  /** Everything asked so far. */
  readonly requests: readonly ScriptedRequest[];
};

/**
 * Makes a `fetch` that gives these replies in order, and needs no network.
 *
 * @param replies A text is a whole body; a function is asked with the request.
 * @returns A `fetch` that keeps what it was asked. It rejects with a {@linkcode PawlError} that is not repeated when the replies are used
 * up.
 *
 * @example
 * ```ts
 * import { scriptedFetch } from "@pawl/pawl/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const fetch = scriptedFetch(["data: a\n\n", { status: 500, json: { error: "overloaded" } }]);
 * assertEquals(await (await fetch("http://localhost/v1", { method: "POST", body: "{}" })).text(), "data: a\n\n");
 * assertEquals((await fetch("http://localhost/v1")).status, 500);
 * assertEquals(fetch.requests.map(({ body }) => body), ["{}", ""]);
 * ```
 */
export function scriptedFetch(
  replies: readonly (string | ScriptedReply | ((request: ScriptedRequest) => string | ScriptedReply))[],
): ScriptedFetch {
  const requests: ScriptedRequest[] = [];
  async function answer(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    init?.signal?.throwIfAborted();
    const request = await readRequest(input, init);
    const reply = replies[requests.push(request) - 1];
    if (reply === undefined) {
      throw new PawlError(
        "unreachable",
        `Cannot answer request ${requests.length}: the script has ${replies.length} replies`,
      );
    }
    const given = typeof reply === "function" ? reply(request) : reply;
    return respond(typeof given === "string" ? { chunks: [given] } : given, init?.signal ?? undefined);
  }
  return Object.assign(answer, { requests });
}

function respond(reply: ScriptedReply, signal: AbortSignal | undefined): Response {
  if (reply.failure !== undefined) throw new TypeError(reply.failure);
  const isJson = reply.json !== undefined;
  const pieces = isJson ? [JSON.stringify(reply.json)] : reply.chunks ?? reply.events?.map(frame) ?? [];
  const chunks = pieces.map((piece) => ({
    bytes: typeof piece === "string" ? new TextEncoder().encode(piece) : piece,
    waitMs: 0,
  }));
  const { status = 200 } = reply;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(
    hasBody ? bodyStream(chunks, { end: reply.end, signal, isBytes: reply.stream !== "plain" }) : null,
    { status, headers: { "content-type": isJson ? "application/json" : "text/event-stream", ...reply.headers } },
  );
}

function frame(event: unknown): string {
  if (typeof event === "string") return `data: ${event.replaceAll("\n", "\ndata: ")}\n\n`;
  const type = (event as { type?: unknown } | null)?.type;
  return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
}

/** A request as any `fetch` may be given one. */
export async function readRequest(input: string | URL | Request, init?: RequestInit): Promise<ScriptedRequest> {
  const { signal: _, ...rest } = init ?? {};
  const request = new Request(input instanceof Request ? input.clone() : input, rest);
  const body = await request.text();
  return { method: request.method, url: request.url, headers: Object.fromEntries(request.headers), body };
}

/** How a body in memory behaves. */
export interface BodyStreamOptions {
  /** What happens behind the last chunk, if it does not end well; `garble`: an encoding proves to be broken. */
  end: "break" | "stall" | "garble" | undefined;
  /** Of the request. */
  signal: AbortSignal | undefined;
  /** It is a byte stream. */
  isBytes: boolean;
}

/** A body that hands out one chunk for each read, and heeds the signal of its request as that of a runtime does. */
export function bodyStream(
  chunks: readonly { bytes: Uint8Array; waitMs: number }[],
  { end, signal, isBytes }: BodyStreamOptions,
): ReadableStream<Uint8Array> {
  const left = chunks.filter(({ bytes }) => bytes.length > 0).values();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort = () => {};
  const release = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  };
  type Controller = ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController;
  const source = {
    start(controller: Controller): void {
      abort = () => {
        release();
        controller.error(signal?.reason);
      };
      signal?.addEventListener("abort", abort);
    },
    async pull(controller: Controller): Promise<void> {
      const { value } = left.next();
      if (value) {
        if (value.waitMs > 0) await new Promise<void>((resolve) => timer = setTimeout(resolve, value.waitMs));
        controller.enqueue(value.bytes.slice());
        return;
      }
      if (end === "stall") return await new Promise(() => {});
      release();
      // The words by which the failure of a real body is told.
      if (end) controller.error(new TypeError(end === "break" ? "connection broken" : "invalid encoding"));
      else {
        controller.close();
        // A read into a buffer settles only when the buffer is given back.
        (controller as ReadableByteStreamController).byobRequest?.respond(0);
      }
    },
    cancel: release,
  };
  return isBytes ? new ReadableStream({ ...source, type: "bytes" }) : new ReadableStream(source, { highWaterMark: 0 });
}
