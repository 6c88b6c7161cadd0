/**
 * One request and the body of its reply, with everything that may go wrong in between.
 * @module
 */
import { isPawlError, type PawlError, type PawlErrorCode } from "../model/error.ts";
import type { Limits } from "../model/limits.ts";
import { visible } from "../text/visible.ts";
import { Body } from "./body.ts";
import { Clocks } from "./clocks.ts";
import {
  bodyFailure,
  connectionFailure,
  redirected,
  statusFailure,
  type StatusOptions,
  timeout,
  tooLarge,
  unknownEncoding,
} from "./failure.ts";
import { retryDelay } from "./retry.ts";

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
  readonly #controller = new AbortController();
  #repetitions = 0;
  /** From the first request to the end of the body or a failure. */
  #isLive = false;
  #encoded = false;
  #body: Body | undefined;
  /** Ends the present wait for a head or a repetition, also where a `fetch` does not heed its signal. */
  #reject: ((reason: unknown) => void) | undefined;
  /** Why no more can be had; an abort may have any reason, `undefined` too. */
  #failure: { reason: unknown } | undefined;

  /**
   * Nothing is sent yet.
   *
   * @param request Sent by {@linkcode Exchange.send}, not before.
   * @param options Bounds, retries, and how to speak of errors.
   */
  constructor(request: HttpRequest, options: ExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.limits = options.limits;
    this.#clocks = new Clocks(options.limits, (clock) => this.#fail(timeout(clock, this.limits)));
  }

  /**
   * Sends the request once.
   *
   * @returns `undefined` when the head of a good reply has arrived; otherwise the repetition to announce and to wait for.
   * @throws {PawlError} `unreachable`, `permission`, `timeout`, `http_status`, `context_overflow`, `redirect`, `malformed_stream`.
   * @throws The signal's reason.
   */
  async send(): Promise<RetryNotice | undefined> {
    const { signal } = this.#options;
    this.#check();
    if (!this.#isLive) {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", this.#onAbort);
      this.#isLive = true;
    }
    let response: Response;
    try {
      response = await this.#until<Response>((resolve, reject) => {
        const { url, ...init } = this.#request;
        const send = this.#options.fetch ?? fetch;
        send(url, { ...init, redirect: "manual", credentials: "omit", signal: this.#controller.signal }).then(
          (reply) => this.#failure ? discard(reply) : resolve(reply),
          reject,
        );
      });
    } catch (error) {
      this.#check();
      if (isPawlError(error)) throw this.#fail(error);
      return this.#again(connectionFailure(error, this.#request.url));
    }
    const { status, headers, type } = response;
    const encoding = headers.get("content-encoding")?.trim() ?? "";
    const known = /^(identity|none|(gzip|br))?$/i.exec(encoding);
    this.#encoded = known?.[2] !== undefined;
    if (type === "opaqueredirect" || status >= 300 && status < 400) {
      discard(response);
      throw this.#fail(redirected(status));
    }
    if (!response.ok) {
      const text = known ? await this.#errorText(response) : "";
      return this.#again(statusFailure(response, text, this.#options));
    }
    if (!known) {
      discard(response);
      throw this.#fail(unknownEncoding(this.#clean(encoding, 40)));
    }
    this.contentType = this.#clean(headers.get("content-type") ?? "", 80);
    this.#open(response, this.limits.maxResponseBytes);
    this.#clocks.head();
  }

  /**
   * Waits before a repetition.
   *
   * @throws As {@linkcode Exchange.send}.
   */
  async wait(notice: RetryNotice): Promise<void> {
    this.#check();
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await this.#until<void>((resolve) => timer = setTimeout(resolve, notice.delayMs));
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Reads on. What arrived within the bounds is handed out before an error is thrown.
   *
   * @returns Text without the byte order mark, cut behind a line end where the runtime lets us; `undefined` at the end of the body.
   * @throws {PawlError} `truncated`, `malformed_stream`, `response_too_large`, `timeout`.
   * @throws The signal's reason.
   */
  async read(): Promise<string | undefined> {
    for (;;) {
      this.#check();
      const body = this.#body;
      if (!body) return undefined;
      let text: string;
      this.#clocks.begin();
      try {
        const { done, value } = await body.next();
        const clock = this.#clocks.end();
        this.#check();
        if (done) {
          this.#body = undefined;
          this.#release();
          return body.rest() || undefined;
        }
        text = body.take(value);
        if (body.left < 0) this.#fail(tooLarge("maxResponseBytes", this.limits));
        else if (clock) this.#fail(timeout(clock, this.limits));
      } catch (error) {
        this.#clocks.end();
        this.#check();
        this.#fail(bodyFailure(error, this.#encoded));
        text = body.rest();
      }
      if (text !== "") return text;
    }
  }

  /** Content has arrived: the progress clock starts anew. */
  progress(): void {
    this.#clocks.content();
  }

  /** Gives up what is not finished, and leaves no timer, connection or listener. May be called at any time, and again. */
  close(): void {
    if (!this.#failure) this.#fail(new DOMException("The exchange is closed", "AbortError"));
  }

  readonly #onAbort = (): void => {
    this.#fail(this.#options.signal!.reason);
  };

  #check(): void {
    if (this.#failure) throw this.#failure.reason;
  }

  /** The first failure counts; it ends every wait. Returns what is to be thrown. */
  #fail(reason: unknown): unknown {
    if (!this.#failure) {
      this.#failure = { reason };
      if (this.#isLive) {
        this.#reject?.(reason);
        this.#body?.cancel();
        this.#controller.abort();
        this.#release();
      }
    }
    return this.#failure.reason;
  }

  #release(): void {
    this.#isLive = false;
    this.#clocks.stop();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** The repetition of a request that failed, if there may be one. */
  #again(error: PawlError): RetryNotice {
    const { maxRetryDelayMs } = this.limits;
    const wish = error.retryAfterMs ?? 0;
    if (!error.retryable || this.#repetitions >= this.#options.maxRetries || wish > maxRetryDelayMs) {
      throw this.#fail(error);
    }
    const delayMs = retryDelay(this.#repetitions++, wish, maxRetryDelayMs);
    const { code, status } = error;
    return { attempt: this.#repetitions, delayMs, code, ...(status !== undefined && { status }) };
  }

  async #until<T>(begin: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void): Promise<T> {
    this.#clocks.begin();
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#reject = reject;
        begin(resolve, reject);
      });
    } finally {
      this.#reject = undefined;
      this.#clocks.end();
    }
  }

  #open(response: Response, maxBytes: number): Body {
    const { maxEventBytes } = this.limits;
    return this.#body = new Body(response.body, { encoded: this.#encoded, maxBytes, maxLineBytes: maxEventBytes });
  }

  /** The beginning of an error's body; the connection is closed behind it. */
  async #errorText(response: Response): Promise<string> {
    const { maxErrorBytes, headersTimeoutMs } = this.limits;
    this.#clocks.begin();
    const text = await this.#open(response, maxErrorBytes).beginning(Math.min(ERROR_BODY_MS, headersTimeoutMs));
    this.#clocks.end();
    this.#body = undefined;
    this.#check();
    return text;
  }

  #clean(text: string, length: number): string {
    return this.#options.redact(visible(text)).slice(0, length);
  }
}

function discard(response: Response): void {
  // The reply is not wanted; how its connection ends does not matter.
  response.body?.cancel().catch(() => {});
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
    if (text.length > maxBytes) throw tooLarge("maxJsonBytes", exchange.limits);
  }
  return text;
}
