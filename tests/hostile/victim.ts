/**
 * Runs the library against an attack, and keeps everything that can be seen of it.
 * @module
 */
import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  Conversation,
  createProvider,
  type Limits,
  type Provider,
  type ProviderOptions,
  type RunResult,
  type ToolUseBlock,
} from "@pawl/pawl";
import type { Writer } from "../support/writer.ts";
import type { HostileEndpoint, Seen } from "./endpoint.ts";
import { CANARY } from "./leaks.ts";
import { type Clock, LIMITS, rightOf, TOOL } from "./right.ts";

/**
 * The bounds for a run in this process: the one clock that an attack is to meet is short; the others are long, since all that other tests
 * do in this process counts as waiting.
 */
export function limitsFor(clock?: Clock): Partial<Limits> {
  const long = { headersTimeoutMs: 20_000, idleTimeoutMs: 20_000, progressTimeoutMs: 20_000, totalTimeoutMs: 20_000 };
  return { ...LIMITS, ...long, maxRetryDelayMs: 250, ...clock && { [clock]: 400 } };
}

/** What came of an attack. */
export interface Ran {
  events: AgentEvent[];
  result?: RunResult;
  error?: unknown;
  conversation: Conversation;
  provider: Provider;
  agent: Agent;
  /** Calls that ran, and the input that the tool was given. */
  ran: { call: ToolUseBlock; input: Record<string, unknown> }[];
  /** Bytes that were read of bodies, decoded. */
  read: number;
  ms: number;
  /** Its requests. */
  seen: Seen[];
}

/** A `fetch` that counts what is read, over the same kinds of readers. */
export function countingFetch(count: (bytes: number) => void): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body } = response;
    if (!body) return response;
    const counted = {
      cancel: () => body.cancel(),
      getReader(options?: { mode: "byob" }) {
        const reader = body.getReader(options!) as ReadableStreamBYOBReader;
        return {
          cancel: () => reader.cancel(),
          async read(view: Uint8Array<ArrayBuffer>) {
            const chunk = await reader.read(view);
            count(chunk.value?.length ?? 0);
            return chunk;
          },
        };
      },
    };
    return Object.defineProperty(response, "body", { value: counted });
  };
}

/** A provider for an attack. */
export function providerFor(
  endpoint: HostileEndpoint,
  attack: string,
  { dialect }: Writer,
  more: Partial<ProviderOptions> = {},
): Provider {
  return createProvider({
    dialect,
    baseUrl: endpoint.baseUrl(attack, dialect.name),
    model: "hostile",
    maxTokens: 1024,
    apiKey: CANARY,
    limits: limitsFor(rightOf(attack, dialect.name).clock),
    ...more,
  });
}

/** Runs an agent with one tool against an attack. */
export async function suffer(
  endpoint: HostileEndpoint,
  attack: string,
  writer: Writer,
  options: AgentOptions & { signal?: AbortSignal; onEvent?(event: AgentEvent, ran: Ran): void } = {},
): Promise<Ran> {
  const { signal, onEvent, ...more } = options;
  const conversation = new Conversation();
  conversation.addUserMessage("hello");
  const first = endpoint.seen.length;
  const ran: Ran["ran"] = [];
  const count = (bytes: number): void => void (outcome.read += bytes);
  const provider = providerFor(endpoint, attack, writer, { fetch: countingFetch(count) });
  const agent = new Agent(provider, {
    tools: [{
      name: TOOL,
      description: "Looks something up",
      inputSchema: { type: "object", properties: {} },
      run(input, { call }) {
        ran.push({ call, input });
        return "found";
      },
    }],
    ...more,
  });
  const outcome: Ran = { events: [], conversation, provider, agent, ran, read: 0, ms: 0, seen: [] };
  const began = performance.now();
  const run = agent.stream(conversation, { ...signal && { signal } });
  try {
    for (;;) {
      const { value, done } = await run.next();
      if (done) {
        outcome.result = value;
        break;
      }
      outcome.events.push(value);
      onEvent?.(value, outcome);
    }
  } catch (error) {
    outcome.error = error;
  }
  outcome.ms = performance.now() - began;
  const { name } = writer.dialect;
  outcome.seen = endpoint.seen.slice(first).filter(({ path, elsewhere }) => elsewhere || isOf(path, name));
  return outcome;
}

function isOf(path: string, dialect: string): boolean {
  return path.endsWith("/messages") === (dialect === "anthropic_messages");
}
