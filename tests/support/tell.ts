/**
 * Plays scripted replies through a provider or an agent, and tells what came out in a form that dialects can be compared in.
 * @module
 */
import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  Conversation,
  createProvider,
  isPawlError,
  type ProviderOptions,
  type StreamEvent,
  type StreamOptions,
} from "@pawl/pawl";
import { checkReply, checkRun, joinDeltas } from "./grammar.ts";
import { memoryFetch } from "./memory_fetch.ts";
import type { Answer } from "./replay_server.ts";
import type { Chunking } from "./wire_case.ts";
import { type ReplyScript, write, type Writer } from "./writer.ts";

/** What came of it. */
export interface Told {
  events: AgentEvent[];
  /** A PawlError as plain data, or the text of anything else. */
  error?: unknown;
  /** What a run returned. */
  result?: unknown;
}

/** How it is played. */
export interface TellOptions {
  chunking?: Chunking;
  seed?: number;
  byob?: boolean;
  provider?: Partial<ProviderOptions>;
  call?: StreamOptions;
  agent?: AgentOptions;
  prompt?: string;
}

/** A provider of a dialect that answers with these. */
export function scripted(writer: Writer, answers: readonly Answer[], options: TellOptions = {}) {
  return createProvider({
    dialect: writer.dialect,
    baseUrl: writer.baseUrl,
    model: "m-1",
    maxTokens: 100,
    maxRetries: 0,
    fetch: memoryFetch(answers, { byob: options.byob ?? false }),
    ...options.provider,
  });
}

function promptOf({ prompt = "Go on" }: TellOptions): Conversation {
  const conversation = new Conversation();
  conversation.addUserMessage(prompt);
  return conversation;
}

/** Plays one reply through `provider.stream`. Its events pass the grammar. */
export async function tellReply(writer: Writer, reply: ReplyScript, options: TellOptions = {}): Promise<Told> {
  const provider = scripted(writer, [write(writer, reply, options.chunking, options.seed)], options);
  const events: StreamEvent[] = [];
  try {
    for await (const event of provider.stream(promptOf(options), options.call)) events.push(event);
  } catch (error) {
    checkReply(events, error);
    return plain({ events: joinDeltas(events), error: plainError(error) });
  }
  checkReply(events);
  return plain({ events: joinDeltas(events) });
}

/** Plays replies, one a round, through an agent. Its events pass the grammar. */
export async function tellRun(
  writer: Writer,
  replies: readonly ReplyScript[],
  options: TellOptions = {},
): Promise<Told> {
  const answers = replies.map((reply, i) => write(writer, reply, options.chunking, (options.seed ?? 1) + i));
  const agent = new Agent(scripted(writer, answers, options), options.agent);
  const stream = agent.stream(promptOf(options));
  const events: AgentEvent[] = [];
  try {
    for (;;) {
      const { value, done } = await stream.next();
      if (done) {
        checkRun(events);
        return plain({ events: joinDeltas(events), result: value });
      }
      events.push(value);
    }
  } catch (error) {
    checkRun(events, error);
    return plain({ events: joinDeltas(events), error: plainError(error) });
  }
}

function plainError(error: unknown): unknown {
  if (!isPawlError(error)) return String(error);
  const { code, message, status, retryable, retryAfterMs, partial } = error;
  return { code, message, status, retryable, retryAfterMs, partial };
}

/** What only one dialect has: where reasoning came from, its proofs, the endpoint's own words. */
const OWN_TO_A_DIALECT = new Set(["field", "origin", "signature", "rawStopReason"]);

/** Plain data without what is one dialect's own. */
function plain(told: Told): Told {
  return JSON.parse(JSON.stringify(told, (key, value) => OWN_TO_A_DIALECT.has(key) ? undefined : value));
}
