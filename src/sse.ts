/**
 * Server-sent events alone: a push parser and a stream, by the WHATWG grammar and bounded.
 *
 * @example
 * ```ts
 * import { SseParserStream } from "@pawl/pawl/sse";
 * import { assertEquals } from "@std/assert";
 *
 * const { body } = new Response("event: greeting\ndata: Hello\n\n"); // of a fetch
 * const events = body!.pipeThrough(new TextDecoderStream()).pipeThrough(new SseParserStream());
 * assertEquals(await Array.fromAsync(events), [{ event: "greeting", data: "Hello" }]);
 * ```
 *
 * @module
 */
export { type SseEvent, type SseOptions, SseParser } from "./wire/sse.ts";
export { SseParserStream } from "./wire/sse_stream.ts";
