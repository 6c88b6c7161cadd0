/**
 * Makes and drains exchanges for tests.
 * @module
 */
import { type Limits, resolveLimits } from "../../src/model/limits.ts";
import {
  createExchange,
  type Exchange,
  type ExchangeOptions,
  type HttpRequest,
  type RetryNotice,
} from "../../src/wire/http.ts";

export const KEY = "sk-test-SECRET-0123456789";

export type Settings = Partial<Omit<ExchangeOptions, "limits">> & { limits?: Partial<Limits> };

export function exchangeWith(url: string, { limits, ...options }: Settings = {}): Exchange {
  const request: HttpRequest = {
    method: "POST",
    url,
    headers: {
      accept: "text/event-stream",
      "accept-encoding": "identity;q=1, *;q=0",
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
    },
    body: "{}",
  };
  return createExchange(request, {
    limits: resolveLimits({ maxRetryDelayMs: 20, ...limits }),
    maxRetries: 0,
    redact: (text) => text.replaceAll(KEY, "[redacted]"),
    ...options,
  });
}

/** Reads on: what `take` gives, or throws what `failure` makes of it. */
export async function read(exchange: Exchange): Promise<string | undefined> {
  try {
    return exchange.take(await exchange.next());
  } catch (error) {
    throw exchange.failure(error);
  }
}

/** Everything that came of an exchange. */
export interface Outcome {
  notices: RetryNotice[];
  pieces: string[];
  text: string;
  /** What was thrown. */
  // deno-lint-ignore no-explicit-any -- tests look into errors of every kind
  error?: any;
}

/** Sends, repeats, reads to the end, and closes. */
export async function outcomeOf(exchange: Exchange, onText?: (text: string) => unknown): Promise<Outcome> {
  const outcome: Outcome = { notices: [], pieces: [], text: "" };
  try {
    for (let notice; (notice = await exchange.send());) outcome.notices.push(notice);
    for (let text; (text = await read(exchange)) !== undefined;) {
      outcome.pieces.push(text);
      outcome.text += text;
      await onText?.(text);
    }
  } catch (error) {
    outcome.error = error;
  } finally {
    exchange.close();
  }
  return outcome;
}

/** A `fetch` with a body of these chunks. */
export function fetchOf(chunks: Iterable<unknown>, init?: ResponseInit): typeof fetch {
  return () => Promise.resolve(new Response(ReadableStream.from(chunks) as ReadableStream, init));
}
