/**
 * Reads events without a network and without promises: for tests that need a hundred thousand replies.
 * @module
 */
import { DEFAULT_LIMITS, type MessageCompleteEvent, type StreamEvent } from "@pawl/pawl";
import { createMessageBuilder } from "../../src/provider/message_builder.ts";
import { createEventReader } from "../../src/provider/read.ts";
import { SseParser } from "../../src/wire/sse.ts";
import { checkReply, joinDeltas } from "./grammar.ts";
import type { ReplyScript, Writer } from "./writer.ts";

/** The events of a reply, neighbouring deltas joined, and the completed message. They have passed the grammar. */
export interface Decoded {
  events: StreamEvent[];
  complete: MessageCompleteEvent;
}

/** Reads a scripted reply that ends well. */
export function decode(writer: Writer, reply: ReplyScript, thinkTags: "auto" | "off" = "auto"): Decoded {
  const { name } = writer.dialect;
  const builder = createMessageBuilder({ limits: { ...DEFAULT_LIMITS }, progress() {} }, {
    origin: { dialect: name, model: "m-1" },
    redact: (text) => text,
    splitText: thinkTags === "auto",
    sent: [],
  });
  const reader = createEventReader(builder, writer.dialect.decoder(builder));
  const parser = new SseParser();
  const events: StreamEvent[] = [];
  for (const wire of writer.events(reply)) {
    for (const event of parser.feed(wire)) {
      const ended = reader.event(event);
      events.push(...builder.take());
      if (ended) builder.finish(true);
    }
  }
  events.push(...builder.take());
  checkReply(events);
  return { events: joinDeltas(events), complete: events[events.length - 1] as MessageCompleteEvent };
}
