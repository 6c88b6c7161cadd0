/**
 * One request and the body of its reply, with everything that may go wrong in between.
 * @module
 */
import { isPawlError, PawlError, type PawlErrorCode } from "../model/error.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import { excerpt } from "../text/error_text.ts";
import { type Body, type Chunk, createBody } from "./body.ts";
import { createClocks } from "./clocks.ts";
import { createSpan, race } from "./race.ts";
import { bodyFailure, connectionFailure, statusFailure, type StatusOptions } from "./failure.ts";

/** A request, final and validated. */
export interface HttpRequest {
  /** In capitals. */
  method: "GET" | "POST";
  /** http or https. */
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The same text each time. */
  body?: string;
}

/** How a request is sent and its reply read. */
export interface ExchangeOptions extends StatusOptions {
  /** Default: the global one. One that throws a `PawlError` ends the exchange with it. */
  fetch?: typeof fetch | undefined;
  /** Repetitions, at most. */
  maxRetries: number;
  /** Ends the exchange with its reason. */
  signal?: AbortSignal | undefined;
}

/** A repetition that is to be announced. */
export interface RetryNotice {
  /** 1 for the first repetition. */
  attempt: number;
  /** How long to wait. */
  delayMs: number;
  /** What failed. */
  code: PawlErrorCode;
  /** HTTP status, if there was one. */
  status?: number | undefined;
}

/** A request, its repetitions, and the body of the reply as text. Whoever makes one must close it. */
export interface Exchange {
  /** The bounds. */
  readonly limits: Limits;
  /** What the reply says that it is, as an excerpt. */
  readonly contentType: string;

  /**
   * Sends the request once; a repetition after its wait.
   *
   * @returns `undefined` when the head of a good reply has arrived; otherwise the repetition to announce before it is sent.
   * @throws {PawlError} `unreachable`, `permission`, `timeout`, `http_status`, `context_overflow`, `redirect`, `malformed_stream`.
   * @throws The signal's reason.
   */
  send(): Promise<RetryNotice | undefined>;

  /** Waits for the next chunk of the body. A rejection is for {@linkcode Exchange.failure}. */
  next(): Promise<Chunk>;

  /**
   * Takes a chunk. What arrived within the bounds is handed out before an error is thrown.
   *
   * @returns Text without the byte order mark, perhaps empty; `undefined` at the end of the body, which closes the exchange.
   * @throws The failure.
   */
  take(chunk: Chunk): string | undefined;

  /**
   * Ends the exchange as reading failed.
   *
   * @returns What to throw: a `PawlError` that is `truncated`, `malformed_stream`, `response_too_large` or `timeout`, or the signal's reason.
   */
  failure(error: unknown): unknown;

  /** Content has arrived: the progress clock starts anew. */
  progress(): void;

  /** Gives up what is not finished, and leaves no timer, connection or listener. May be called at any time, and again. */
  close(): void;
}

/** Why a reply ends that is given up or over. Made once, and not before it is needed: its stack costs as much as ten events. */
let closed: DOMException | undefined;

/** An endpoint that does not finish the text of an error is not waited for. */
const ERROR_BODY_MS = 2_000;

/**
 * Makes an exchange; nothing is sent yet. No redirect is followed: a runtime would carry `x-api-key` and the conversation to another
 * origin (quirk H-16).
 *
 * @param request What to send.
 * @param options Bounds, retries, and how to speak of errors.
 */
export function createExchange(request: HttpRequest, options: ExchangeOptions): Exchange {
  const { limits, maxRetries, redact, signal: caller } = options;
  // The reason of its end is the first failure: what every wait ends with, and what is thrown from then on.
  const { signal, end, close } = createSpan(caller);
  const clocks = createClocks(limits, (clock) => end(exceeded(clock, limits)), !options.fetch);
  let attempt = 0;
  let delayMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let encoding = "";
  let response: Response;
  let body!: Body;

  signal.addEventListener("abort", () => {
    clocks.stop();
    if (timer) clearTimeout(timer);
    close();
    body?.cancel();
  });

  /** Waits for the endpoint, also for a `fetch` that does not heed its signal. */
  async function until<T>(event: Promise<T>): Promise<T> {
    clocks.begin();
    try {
      return await race(event, signal);
    } finally {
      clocks.end();
      signal.throwIfAborted();
    }
  }

  /** The repetition of a request that failed, if there may be one; never sooner than after 250 ms unless the cap is shorter. */
  function again(error: PawlError): RetryNotice {
    const { code, status, retryable, retryAfterMs = 0 } = error;
    const cap = limits.maxRetryDelayMs;
    signal.throwIfAborted();
    if (!retryable || attempt >= maxRetries || retryAfterMs > cap) throw end(error);
    attempt++;
    delayMs = Math.max(retryAfterMs, Math.min(cap, Math.ceil(250 + Math.random() * 250 * 2 ** attempt)));
    return { attempt, delayMs, code, status };
  }

  const exchange: Exchange = {
    limits,
    get contentType() {
      return excerpt(response.headers.get("content-type") ?? "", redact);
    },
    progress: clocks.content,
    close: () => end(closed ??= new DOMException("The reply is closed", "AbortError")),

    async send(): Promise<RetryNotice | undefined> {
      const { url, ...init } = request;
      signal.throwIfAborted();
      if (delayMs > 0) await until(new Promise<void>((resolve) => timer = setTimeout(resolve, delayMs)));
      try {
        const sent = (options.fetch ?? fetch)(url, { ...init, redirect: "manual", credentials: "omit", signal });
        response = await until(sent.then((reply) => {
          encoding = reply.headers.get("content-encoding") ?? "";
          body = createBody(reply, reply.ok ? limits.maxResponseBytes : limits.maxErrorBytes, encoding !== "");
          // Too late: nobody else will end its connection.
          if (signal.aborted) body.cancel();
          return reply;
        }));
      } catch (error) {
        if (isPawlError(error)) throw end(error);
        return again(connectionFailure(error));
      }
      const { status, ok } = response;
      const isKnown = /^(identity|none|gzip|br)?$/i.test(encoding);
      if (!ok) {
        // Where it leads is not told: there may be a key in it. A browser does not even tell the status.
        if (status < 400) {
          throw end(new PawlError("redirect", `Cannot follow a redirect: HTTP status ${status}`, { status }));
        }
        return again(statusFailure(response, isKnown ? await beginning(body) : "", options));
      }
      if (!isKnown) {
        const said = excerpt(encoding, redact);
        throw end(new PawlError("malformed_stream", `Cannot read the reply: its content-encoding is "${said}"`));
      }
      clocks.head();
      return undefined;
    },

    next() {
      clocks.begin();
      return body.next();
    },

    take({ done, value }) {
      // A failure gives up the body, and so ends its reads.
      signal.throwIfAborted();
      if (done) {
        exchange.close();
        return undefined;
      }
      const text = body.take(value);
      clocks.end();
      if (!(body.left >= 0)) end(exceeded("maxResponseBytes", limits));
      return text;
    },

    failure: (error) => end(bodyFailure(error, encoding !== "")),
  };
  return exchange;
}

/** What of an error's body comes in time and within its bound; the connection is closed behind it. */
async function beginning(body: Body): Promise<string> {
  const timer = setTimeout(() => body.cancel(), ERROR_BODY_MS);
  let text = "";
  try {
    for (let chunk; body.left > 0 && !(chunk = await body.next()).done;) text += body.take(chunk.value);
  } catch {
    // The status of the reply is the error to tell, however its text ends.
  }
  clearTimeout(timer);
  body.cancel();
  return text;
}
