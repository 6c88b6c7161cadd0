/**
 * One request and the body of its reply, with everything that may go wrong in between.
 * @module
 */
import { isPawlError, PawlError, type PawlErrorCode } from "../model/error.ts";
import { exceeded, type Limits } from "../model/limits.ts";
import { visible } from "../text/visible.ts";
import { Body } from "./body.ts";
import { type Clocks, createClocks } from "./clocks.ts";
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

/** A repetition that is to be announced, and then waited for. */
export interface RetryNotice {
  /** 1 for the first repetition. */
  attempt: number;
  /** How long to wait. */
  delayMs: number;
  /** What failed. */
  code: PawlErrorCode;
  /** HTTP status, if there was one. */
  status?: number;
}

/** An endpoint that does not finish the text of an error is not waited for. */
const ERROR_BODY_MS = 2_000;

/**
 * A request, its repetitions, and the body of the reply as text. Whoever makes one must close it.
 *
 * No redirect is followed: a runtime would carry `x-api-key` and the conversation to another origin (quirk H-16).
 */
export class Exchange {
  /** The bounds. */
  readonly limits: Limits;
  /** What the reply says that it is, made visible, at most 80 characters. */
  contentType = "";
  readonly #request: HttpRequest;
  readonly #options: ExchangeOptions;
  readonly #clocks: Clocks;
  /** Its reason is the first failure: that is what every wait ends with, and what is thrown from then on. */
  readonly #controller = new AbortController();
  /** Ends the wait for a head or a repetition, also where a `fetch` does not heed its signal. */
  readonly #failed: Promise<never>;
  #repetitions = 0;
  #encoding = "";
  #body: Body | undefined;

  /**
   * Nothing is sent yet.
   *
   * @param request Sent by {@linkcode Exchange.send}, not before.
   * @param options Bounds, retries, and how to speak of errors.
   */
  constructor(request: HttpRequest, options: ExchangeOptions) {
    const { limits, signal } = options;
    this.limits = limits;
    this.#request = request;
    this.#options = options;
    this.#clocks = createClocks(limits, (clock) => this.#fail(exceeded(clock, limits)));
    this.#failed = new Promise((_, reject) => {
      const own = this.#controller.signal;
      own.addEventListener("abort", () => {
        this.#release();
        this.#body?.cancel();
        reject(own.reason);
      });
    });
    // Not every failure falls into a wait.
    this.#failed.catch(() => {});
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener("abort", this.#onAbort);
  }

  /**
   * Sends the request once.
   *
   * @returns `undefined` when the head of a good reply has arrived; otherwise the repetition to announce and to wait for.
   * @throws {PawlError} `unreachable`, `permission`, `timeout`, `http_status`, `context_overflow`, `redirect`, `malformed_stream`.
   * @throws The signal's reason.
   */
  async send(): Promise<RetryNotice | undefined> {
    const { limits } = this;
    const { signal } = this.#controller;
    const { url, ...init } = this.#request;
    let response: Response;
    signal.throwIfAborted();
    try {
      const sent = (this.#options.fetch ?? fetch)(url, { ...init, redirect: "manual", credentials: "omit", signal });
      response = await this.#wait(sent.then((reply) => {
        // Too late: nobody else will end its connection.
        if (signal.aborted) reply.body?.cancel().catch(() => {});
        return reply;
      }));
    } catch (error) {
      signal.throwIfAborted();
      if (isPawlError(error)) throw this.#fail(error);
      return this.#again(connectionFailure(error, url));
    }
    const { status, headers, ok } = response;
    this.#encoding = headers.get("content-encoding") ?? "";
    const isKnown = /^(identity|none|gzip|br)?$/i.test(this.#encoding);
    const body = new Body(response, ok ? limits.maxResponseBytes : limits.maxErrorBytes, this.#encoding !== "");
    this.#body = body;
    if (!ok) {
      // A browser does not tell the status of a redirect.
      if (status < 400) {
        // Where it leads is not told: there may be a key in it.
        throw this.#fail(new PawlError("redirect", `Cannot follow a redirect: HTTP status ${status}`, { status }));
      }
      const text = isKnown ? await beginning(body) : "";
      signal.throwIfAborted();
      return this.#again(statusFailure(response, text, this.#options));
    }
    if (!isKnown) {
      const name = this.#clean(this.#encoding, 40);
      throw this.#fail(new PawlError("malformed_stream", `Cannot read the reply: its content-encoding is "${name}"`));
    }
    this.contentType = this.#clean(headers.get("content-type") ?? "", 80);
    this.#clocks.head();
    return undefined;
  }

  /**
   * Waits before a repetition.
   *
   * @throws As {@linkcode Exchange.send}.
   */
  async wait({ delayMs }: RetryNotice): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await this.#wait(new Promise((resolve) => timer = setTimeout(resolve, delayMs)));
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Reads on. What arrived within the bounds is handed out before an error is thrown.
   *
   * @returns Text without the byte order mark, perhaps empty; `undefined` at the end of the body.
   * @throws {PawlError} `truncated`, `malformed_stream`, `response_too_large`, `timeout`.
   * @throws The signal's reason.
   */
  async read(): Promise<string | undefined> {
    const { signal } = this.#controller;
    const body = this.#body;
    signal.throwIfAborted();
    if (!body) return undefined;
    this.#clocks.begin();
    try {
      const { done, value } = await body.next();
      signal.throwIfAborted();
      if (done) {
        this.#body = undefined;
        this.#release();
        return undefined;
      }
      const text = body.take(value);
      this.#clocks.end();
      if (body.left < 0) this.#fail(exceeded("maxResponseBytes", this.limits));
      return text;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#fail(bodyFailure(error, this.#encoding !== ""));
    }
  }

  /** Content has arrived: the progress clock starts anew. */
  progress(): void {
    this.#clocks.content();
  }

  /** Gives up what is not finished, and leaves no timer, connection or listener. May be called at any time, and again. */
  close(): void {
    this.#controller.abort();
  }

  readonly #onAbort = (): void => {
    this.#fail(this.#options.signal!.reason);
  };

  /** The first failure counts. Returns what is to be thrown. */
  #fail(reason: unknown): unknown {
    this.#controller.abort(reason);
    return this.#controller.signal.reason;
  }

  #release(): void {
    this.#clocks.stop();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** The repetition of a request that failed, if there may be one; never sooner than after 250 ms unless the cap is shorter. */
  #again(error: PawlError): RetryNotice {
    const { code, status, retryable, retryAfterMs = 0 } = error;
    const { limits: { maxRetryDelayMs: cap }, maxRetries } = this.#options;
    if (!retryable || this.#repetitions >= maxRetries || retryAfterMs > cap) throw this.#fail(error);
    const attempt = ++this.#repetitions;
    const delayMs = Math.max(retryAfterMs, Math.min(cap, Math.ceil(250 + Math.random() * 250 * 2 ** attempt)));
    return { attempt, delayMs, code, ...(status !== undefined && { status }) };
  }

  /** Waits for the endpoint. */
  async #wait<T>(event: Promise<T>): Promise<T> {
    this.#clocks.begin();
    try {
      return await Promise.race([event, this.#failed]);
    } finally {
      this.#clocks.end();
      this.#controller.signal.throwIfAborted();
    }
  }

  #clean(text: string, length: number): string {
    return this.#options.redact(visible(text)).slice(0, length);
  }
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

/**
 * Reads a body to its end.
 *
 * @param exchange After {@linkcode Exchange.send}.
 * @param maxBytes Bound of what is left, in UTF-16 units.
 * @throws {PawlError} `response_too_large`, naming `limits.maxJsonBytes`, and as {@linkcode Exchange.read}.
 * @throws The signal's reason.
 */
export async function readAll(exchange: Exchange, maxBytes: number): Promise<string> {
  let text = "";
  for (let next: string | undefined = ""; next !== undefined; next = await exchange.read()) {
    text += next;
    if (text.length > maxBytes) throw exceeded("maxJsonBytes", exchange.limits);
  }
  return text;
}
