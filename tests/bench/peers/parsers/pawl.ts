/**
 * pawl's event parser alone, in the shape of the `Parser` of the side-by-side harness.
 *
 * @module
 */
import { SseParser } from "@pawl/pawl/sse";

export default {
  name: "pawl",
  mode: "sync",
  note: "SseParser.feed(bytes)",
  run(chunks: Uint8Array[]): { events: number; chars: number } {
    const seen = { events: 0, chars: 0 };
    const parser = new SseParser({ maxEventBytes: 2 ** 30 });
    for (const chunk of chunks) {
      for (const { data } of parser.feed(chunk)) {
        seen.events++;
        seen.chars += data.length;
      }
    }
    return seen;
  },
};
