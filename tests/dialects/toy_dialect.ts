/**
 * A third dialect in one file: what a new provider costs. The protocol is invented; its path depends on the request, it has neither
 * roles nor tool results of its own, and it counts its calls.
 * @module
 */
import type { Decoder, Dialect, DialectRequest, EncodedRequest, MessageSink } from "../../src/provider/dialect.ts";
import { readHistory } from "../../src/provider/history.ts";
import { type Json, objectOf, textOf } from "../../src/provider/read.ts";

/** `POST {base URL}/toys/MODEL:talk`. */
export const toyTalk: Dialect = {
  name: "toy_talk",
  modelsPath: "/toys",
  basePath: (path) => path,
  headers: (key): Record<string, string> => key ? { "x-toy-key": key } : {},
  encode,
  decoder,
};

function encode(request: DialectRequest): EncodedRequest {
  const { system, turns, tools } = readHistory(request, toyTalk.name, ({ type }) => type === "thinking", true);
  return {
    path: `/toys/${encodeURIComponent(request.model)}:talk`,
    body: { system, turns, tools, room: request.maxTokens },
  };
}

const ENDS: Record<string, Parameters<MessageSink["stop"]>[0]> = {
  end_turn: "end_turn",
  tool_use: "tool_use",
  max_tokens: "max_tokens",
  refusal: "refusal",
};

function decoder(sink: MessageSink): Decoder {
  /** Texts and thoughts have no key of their own: any other content ends them. */
  let run = 0;
  let last = "";
  function keyOf(kind: string): string {
    if (kind !== last) run++;
    last = kind;
    return `${kind} ${run}`;
  }
  return {
    take(event: Json): boolean {
      const { say, think, call, args, end, bye, usage } = event;
      sink.begin(true, event.id, event.toy);
      if (say !== undefined) sink.text(keyOf("say"), textOf(say));
      if (think !== undefined) sink.thinking(keyOf("think"), textOf(think));
      if (call !== undefined) {
        last = "call";
        sink.call(call, { id: textOf(event.as), name: textOf(event.name) });
      }
      if (args !== undefined) sink.input(event.of, textOf(args));
      const { asked, told, known } = objectOf(usage);
      sink.usage({ inputTokens: asked, outputTokens: told, cachedInputTokens: known } as never);
      if (end !== undefined) sink.stop(ENDS[textOf(end)] ?? "other", textOf(end));
      return bye === true;
    },
    done: () => false,
  };
}
