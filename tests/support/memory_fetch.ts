/**
 * A `fetch` without a network, for the runs that a socket would slow down or whose chunk borders it would blur.
 * @module
 */
import type { Answer } from "./replay_server.ts";

/** How a body is handed out. */
export interface MemoryOptions {
  /** A byte stream, as the runtime's own bodies are: it can be read into a buffer of the reader. */
  byob?: boolean;
  /** Called with every request. */
  onRequest?: (url: string, init: RequestInit) => void;
}

/**
 * Tells whether a body in memory behaves as one from a socket: encodings, lengths, redirects and ends by closing belong to HTTP.
 */
export function fitsMemory({ status, headers, framing }: Pick<Answer, "status" | "headers" | "framing">): boolean {
  return framing !== "close" && (status < 300 || status > 399) && status !== 204 &&
    !("content-encoding" in headers) && !("content-length" in headers);
}

/** A `fetch` that gives the answers in order, and fails loudly when there are no more. */
export function memoryFetch(answers: readonly Answer[], options: MemoryOptions = {}): typeof fetch {
  let next = 0;
  return (input, init = {}) => {
    options.onRequest?.(String(input), init);
    const answer = answers[next++];
    if (answer === undefined) throw new Error("memoryFetch: no answer is left");
    init.signal?.throwIfAborted();
    const body = bodyOf(answer, init.signal ?? undefined, options.byob ?? false);
    return Promise.resolve(new Response(body, { status: answer.status, headers: answer.headers }));
  };
}

function bodyOf({ steps }: Answer, signal: AbortSignal | undefined, byob: boolean): ReadableStream<Uint8Array> {
  let at = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let onAbort: (() => void) | undefined;
  const stop = () => {
    stopped = true;
    clearTimeout(timer);
    if (onAbort) signal?.removeEventListener("abort", onAbort);
  };
  type Controller = ReadableByteStreamController | ReadableStreamDefaultController<Uint8Array>;
  const source = {
    start(controller: Controller) {
      onAbort = () => {
        stop();
        controller.error(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort);
    },
    async pull(controller: Controller) {
      for (;;) {
        const step = steps[at++];
        if (stopped) return;
        if (step === undefined) {
          stop();
          controller.close();
          // A pending read into a buffer settles only when the buffer is given back.
          (controller as ReadableByteStreamController).byobRequest?.respond(0);
          return;
        }
        if (step instanceof Uint8Array) return controller.enqueue(step.slice());
        if ("abort" in step) {
          stop();
          return controller.error(new TypeError("error reading a body from connection"));
        }
        await new Promise<void>((resolve) => timer = setTimeout(resolve, step.delay_ms));
      }
    },
    cancel: stop,
  };
  return byob
    ? new ReadableStream({ ...source, type: "bytes" })
    : new ReadableStream(source as UnderlyingDefaultSource<Uint8Array>, { highWaterMark: 0 });
}
