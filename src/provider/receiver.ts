/**
 * Callbacks: a switch on top of the events.
 * @module
 */
import { race } from "../wire/race.ts";

export { createSpan, race } from "../wire/race.ts";
import type { AgentEvent, CompletionInfo, RetryEvent } from "../model/event.ts";
import type { BlockType, ContentBlock, Message, Role, ToolResultBlock, ToolUseBlock } from "../model/message.ts";

/** Given with the start of a call. */
export interface BlockMeta {
  /** Id of the call. */
  toolId: string;
  /** Name of the tool. */
  toolName: string;
}

/**
 * Callbacks for a reply or a run; each is optional, a returned promise is awaited.
 * The order is that of the events: start, then for each block its start, deltas and completion, then
 * the completed message. A callback that throws ends the run with its own error and closes the connection.
 */
export interface Receiver {
  /** A reply begins. */
  onMessageStart?(role: Role): void | Promise<void>;
  /** A block begins; `meta` comes with calls. */
  onBlockStart?(type: BlockType, index: number, meta?: BlockMeta): void | Promise<void>;
  /** A piece of text, reasoning or raw JSON arguments. Provisional. */
  onContentDelta?(index: number, delta: string): void | Promise<void>;
  /** A block is finished; it outranks its deltas. */
  onBlockComplete?(index: number, block: ContentBlock): void | Promise<void>;
  /** The reply is finished; the message outranks everything before. */
  onMessageComplete?(message: Message, info: CompletionInfo): void | Promise<void>;
  /** A tool function is about to run. */
  onToolStart?(call: ToolUseBlock): void | Promise<void>;
  /** A call has its answer. */
  onToolResult?(call: ToolUseBlock, result: ToolResultBlock): void | Promise<void>;
  /** A request failed and is sent again after `info.delayMs`. */
  onRetry?(info: RetryEvent): void | Promise<void>;
  /** Whatever the call is about to throw, an abort included; not the receiver's own exception. */
  onError?(error: unknown): void | Promise<void>;
}

/** Calls the one callback that an event belongs to. */
function deliver(receiver: Receiver, event: AgentEvent): void | Promise<void> {
  switch (event.type) {
    case "content_delta":
      return receiver.onContentDelta?.(event.index, event.delta);
    case "message_start":
      return receiver.onMessageStart?.(event.role);
    case "block_start": {
      const { blockType, index, toolId, toolName } = event;
      const meta = toolId ? { toolId, toolName: toolName! } : undefined;
      return receiver.onBlockStart?.(blockType, index, meta);
    }
    case "block_complete":
      return receiver.onBlockComplete?.(event.index, event.block);
    case "message_complete": {
      const { type: _, message, ...info } = event;
      return receiver.onMessageComplete?.(message, info);
    }
    case "tool_start":
      return receiver.onToolStart?.(event.call);
    case "tool_result":
      return receiver.onToolResult?.(event.call, event.result);
    case "retry":
      return receiver.onRetry?.(event);
  }
}

/**
 * Plays batches of events to a receiver.
 *
 * @param batches Events grouped as they arrived; closed if the receiver throws.
 * @param receiver Where they go.
 * @param signal Once aborted, nothing more is delivered.
 * @returns What the generator returns.
 */
export async function play<T>(
  batches: AsyncIterator<AgentEvent[], T, undefined>,
  receiver: Receiver,
  signal?: AbortSignal,
): Promise<T> {
  let delivering = false;
  try {
    for (;;) {
      const { value, done } = await batches.next();
      if (done) return value;
      for (const event of value) {
        signal?.throwIfAborted();
        delivering = true;
        const waiting = deliver(receiver, event);
        // Awaiting nothing would still cost a turn of the event loop for each delta.
        if (typeof waiting?.then === "function") await race(waiting, signal);
        delivering = false;
      }
    }
  } catch (error) {
    await batches.return?.();
    if (!delivering || signal?.aborted && error === signal.reason) await receiver.onError?.(error);
    throw error;
  }
}

/** Events on their way to a caller who takes one at a time. */
interface Telling<E> {
  /** Of the batch that is told; whoever tells one takes it from here. */
  rest: Iterator<E, undefined> & Iterable<E>;
  /** Calls that the generator has not answered yet: none may overtake them. */
  asked: number;
}

/** Stands by itself, since each closure that is a generator function brings a class of objects into the world. */
async function* tell<E, T>(
  telling: Telling<E>,
  batches: AsyncIterator<E[], T, undefined>,
  signal?: AbortSignal,
): AsyncGenerator<E, T, undefined> {
  try {
    for (;;) {
      const { value, done } = await batches.next();
      if (done) return value;
      telling.rest = value.values();
      for (const event of telling.rest) {
        telling.asked--;
        yield event;
        // Aborted while the caller held an event: the rest of its batch must not follow.
        signal?.throwIfAborted();
      }
    }
  } finally {
    telling.rest = [].values();
    await batches.return?.();
  }
}

/**
 * The same events, one at a time.
 *
 * @param batches Events grouped as they arrived; closed if the caller leaves.
 * @param signal Once aborted, nothing more is told.
 * @returns What the generator returns.
 */
export function eventsOf<E extends AgentEvent, T>(
  batches: AsyncIterator<E[], T, undefined>,
  signal?: AbortSignal,
): AsyncGenerator<E, T, undefined> {
  const telling: Telling<E> = { rest: [].values(), asked: 0 };
  const events = tell(telling, batches, signal), resume = events.next.bind(events), leave = events.return.bind(events);
  // To wake the generator costs as much as a third of an event, and the rest of a batch is here already.
  events.next = () => {
    const next = telling.asked === 0 && !signal?.aborted && telling.rest.next();
    if (next && !next.done) return Promise.resolve(next);
    telling.asked++;
    return resume();
  };
  events.return = (value) => {
    telling.asked++;
    return leave(value);
  };
  return events;
}
