/**
 * The parser of server-sent events as a stream: a file of its own, since no bundler leaves out a class that extends another.
 * @module
 */
import { type SseEvent, type SseOptions, SseParser } from "./sse.ts";

/**
 * {@linkcode SseParser} as a stream, for text from a `TextDecoderStream`.
 *
 * @example
 * ```ts
 * import { SseParserStream } from "@pawl/pawl/sse";
 * import { assertEquals } from "@std/assert";
 *
 * const events = ReadableStream.from(["data: a\n", "\ndata: b\n\n"]).pipeThrough(new SseParserStream());
 * assertEquals(await Array.fromAsync(events, (event) => event.data), ["a", "b"]);
 * ```
 */
export class SseParserStream extends TransformStream<string, SseEvent> {
  /**
   * Starts at the begin of a stream.
   *
   * @param options As of {@linkcode SseParser}.
   */
  constructor(options?: SseOptions) {
    const parser = new SseParser(options);
    super({
      transform(chunk, controller) {
        for (const event of parser.feed(chunk)) controller.enqueue(event);
      },
      flush(controller) {
        for (const event of parser.flush()) controller.enqueue(event);
      },
    });
  }
}
