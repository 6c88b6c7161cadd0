/** Stand-in for `@std/streams`: lines of a text stream. */

/** Options of {@linkcode TextLineStream}. */
export interface TextLineStreamOptions {
  /** Whether a lone CR ends a line too; false unless given. */
  allowCR?: boolean;
}

/** Cuts text into lines at LF and CRLF (with `allowCR` at CR too); the last one needs no end, an empty one is none. */
export class TextLineStream extends TransformStream<string, string> {
  constructor(options: TextLineStreamOptions = {}) {
    const end = options.allowCR ? /\r\n|\n|\r(?!$)/g : /\r?\n/g;
    const ends = options.allowCR ? /[\r\n]/ : /\n/;
    let pieces: string[] = [];
    let trailingCr = false;
    super({
      transform(chunk, controller) {
        if (chunk === "") return;
        pieces.push(chunk);
        if (!trailingCr && !ends.test(chunk)) return;
        const text = pieces.join("");
        let start = 0;
        for (const { 0: mark, index } of text.matchAll(end)) {
          controller.enqueue(text.slice(start, index));
          start = index + mark.length;
        }
        pieces = start < text.length ? [text.slice(start)] : [];
        trailingCr = options.allowCR === true && text.endsWith("\r");
      },
      flush(controller) {
        const rest = pieces.join("");
        if (rest !== "") controller.enqueue(trailingCr ? rest.slice(0, -1) : rest);
      },
    });
  }
}
