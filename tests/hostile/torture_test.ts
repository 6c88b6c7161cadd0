/**
 * Aborts runs over real connections at every event, inside tools, and wherever a hostile endpoint stands still: each ends at once with
 * the reason, leaves no socket and no timer, and a conversation that can be sent again. tests/agent/torture_test.ts does the same
 * without sockets, in finer steps.
 * @module
 */
import { assert, assertEquals, assertLessOrEqual, assertStrictEquals } from "@std/assert";
import { Agent, type AgentEvent, Conversation, type Tool, type ToolContext } from "@pawl/pawl";
import { assertAnswered, resultsOf } from "../agent/fake_provider.ts";
import { checkRun } from "../support/grammar.ts";
import { type ReplyScript, type Writer, WRITERS } from "../support/writer.ts";
import { ATTACKS } from "./attacks.ts";
import { type Answer, type Asked, type Attack, HostileEndpoint } from "./endpoint.ts";
import { providerFor } from "./victim.ts";

const MAX_MS = 1000;
const NOT_RUN = "error: not run: interrupted";
const CUT = "error: interrupted while running, it may have taken effect";

const SCRIPT: ReplyScript[] = [
  {
    parts: [
      { thinking: ["let ", "me see"] },
      { text: ["Look", "ing"] },
      { call: { id: "c1", name: "a", args: ['{"x":', "1}"] } },
      { call: { id: "c2", name: "b", args: ["{}"] } },
      { call: { id: "c3", name: "nope", args: ["{}"] } },
    ],
    end: "tool_use",
  },
  { parts: [{ call: { id: "c4", name: "a", args: ["{}"] } }], end: "tool_use" },
  { parts: [{ text: ["the ", "end"] }], end: "end_turn" },
];
/** The first request is refused and repeated. */
const REQUESTS = SCRIPT.length + 1;

/** Where an endpoint stands still: in the answer to a request, behind so many events; before the head with -1. */
interface Stall {
  request: number;
  behind: number;
}

/** Stands still at a place, and says when it does. */
function stalling(stall: Stall | undefined, onStall: () => void): Attack {
  return {
    does: "answers a run, or stands still in it",
    answer({ writer, nth }: Asked): Answer {
      const isHere = stall?.request === nth;
      if (isHere) setTimeout(onStall, 5);
      if (isHere && stall.behind < 0) return { head: false, body: "", end: "open" };
      if (nth === 0) {
        const body = [writer.errorBody("overloaded_error", "later")];
        return { status: 500, headers: { "content-type": "application/json" }, body, end: isHere ? "open" : "whole" };
      }
      const events = writer.events(SCRIPT[nth - 1]!);
      return isHere ? { body: events.slice(0, stall.behind), end: "open" } : { body: events };
    },
  };
}

class Stage {
  readonly controller = new AbortController();
  readonly conversation = new Conversation();
  readonly reason = { why: "enough" };
  readonly events: AgentEvent[] = [];
  readonly started: string[] = [];
  readonly #writer: Writer;
  readonly #endpoint: HostileEndpoint;
  #abortedAt = 0;
  #seenThen = 0;

  constructor(writer: Writer, stall?: Stall) {
    this.#writer = writer;
    this.#endpoint = new HostileEndpoint({ ok: ATTACKS.ok!, run: stalling(stall, () => this.abort()) });
    this.conversation.addUserMessage("go");
  }

  abort(): void {
    this.#abortedAt = performance.now();
    this.#seenThen = this.events.length;
    this.controller.abort(this.reason);
  }

  agent(inTool?: (context: ToolContext) => unknown): Agent {
    const tools = ["a", "b"].map((name): Tool => ({
      name,
      description: `Does ${name}`,
      inputSchema: { type: "object", properties: {} },
      run: async (_, context) => {
        this.started.push(context.call.id);
        await inTool?.(context);
        return `result of ${context.call.id}`;
      },
    }));
    const provider = providerFor(this.#endpoint, "ok", this.#writer, {
      baseUrl: this.#endpoint.baseUrl("run", this.#writer.dialect.name),
      limits: { maxRetryDelayMs: 5 },
    });
    return new Agent(provider, { tools, toolTimeoutMs: 60_000, deadlineMs: 60_000 });
  }

  /** Runs as a stream. Returns what was thrown, or `undefined`. */
  async stream(agent: Agent, onEvent?: (index: number) => boolean | void): Promise<unknown> {
    try {
      for await (const event of agent.stream(this.conversation, { signal: this.controller.signal })) {
        this.events.push(event);
        if (onEvent?.(this.events.length - 1) === false) return undefined;
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** @param inFlight Events that may have been on their way to the caller when the abort came. */
  async check(outcome: unknown, inFlight = 0): Promise<void> {
    assertStrictEquals(outcome, this.reason);
    assertLessOrEqual(performance.now() - this.#abortedAt, MAX_MS);
    assertLessOrEqual(this.events.length - this.#seenThen, inFlight, "something follows an abort");
    checkRun(this.events, outcome);
    await this.checkLeft();
  }

  /** Nothing is open, every call has a true result, and the conversation can be sent. */
  async checkLeft(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((_, reject) =>
      timer = setTimeout(reject, MAX_MS, new Error("a connection was left open"))
    );
    await Promise.race([Promise.all(this.#endpoint.seen.map(({ over }) => over)), late]);
    clearTimeout(timer);
    assertAnswered(this.conversation);
    for (const { toolUseId: id, content } of resultsOf(this.conversation)) {
      if (content === NOT_RUN) assert(!this.started.includes(id), id);
      else if (content === CUT || content.startsWith("result")) assert(this.started.includes(id), id);
    }
    this.conversation.addUserMessage("go on");
    const message = await providerFor(this.#endpoint, "ok", this.#writer).streamStep(this.conversation, {});
    assertEquals(message.content, [{ type: "text", text: "all good" }]);
    await this.#endpoint[Symbol.asyncDispose]();
  }
}

async function whole(writer: Writer): Promise<number> {
  const stage = new Stage(writer);
  assertEquals(await stage.stream(stage.agent()), undefined);
  assertEquals(stage.started, ["c1", "c2", "c4"]);
  await stage.checkLeft();
  return stage.events.length;
}

const HANGING: Record<string, (stage: Stage, context: ToolContext) => unknown> = {
  "at once": (stage) => stage.abort(),
  "while it hangs": (stage) => {
    setTimeout(() => stage.abort());
    return new Promise(() => {});
  },
  "while it heeds its signal": (stage, { signal }) => {
    setTimeout(() => stage.abort());
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
  "while it fetches": (stage, { signal }) => {
    setTimeout(() => stage.abort(), 5);
    return fetchStalling(signal);
  },
};

/** A tool that waits for an endpoint which never answers. */
async function fetchStalling(signal: AbortSignal): Promise<unknown> {
  await using endpoint = new HostileEndpoint(ATTACKS);
  return await fetch(`http://${endpoint.host}/stall-before-headers/v1/messages`, {
    method: "POST",
    body: "{}",
    signal,
  });
}

let points = 0;

for (const writer of WRITERS) {
  const { name } = writer.dialect;

  Deno.test(`Agent.stream over sockets can be aborted while its caller holds any event, over ${name}`, async () => {
    const length = await whole(writer);
    assert(length > 25, `${length} events`);
    for (let at = 0; at < length; at++, points++) {
      const stage = new Stage(writer);
      await stage.check(await stage.stream(stage.agent(), (i) => void (i === at && stage.abort())));
    }
  });

  Deno.test(`Agent.stream over sockets can be left at any event, over ${name}`, async () => {
    const length = await whole(writer);
    for (let at = 0; at < length; at++, points++) {
      const stage = new Stage(writer);
      assertEquals(await stage.stream(stage.agent(), (i) => i < at), undefined);
      await stage.checkLeft();
    }
  });

  Deno.test(`Agent.runStep over sockets can be aborted in any callback, over ${name}`, async () => {
    for (let at = 0;; at++) {
      const stage = new Stage(writer);
      let told = 0;
      const tell = (): void => void (told++ === at && stage.abort());
      const callbacks = "MessageStart BlockStart ContentDelta BlockComplete MessageComplete ToolStart ToolResult Retry"
        .split(" ");
      const receiver = Object.fromEntries(callbacks.map((word) => [`on${word}`, tell]));
      const { signal } = stage.controller;
      const outcome = await stage.agent().runStep(stage.conversation, receiver, { signal }).catch((error) => error);
      if (told <= at) {
        assertEquals(outcome.text, "the end");
        await stage.checkLeft();
        break;
      }
      await stage.check(outcome);
      assertEquals(told, at + 1, "a callback follows an abort");
      points++;
    }
  });

  Deno.test(`a run can be aborted wherever the endpoint stands still, over ${name}`, async () => {
    for (let request = 0; request < REQUESTS; request++) {
      const length = request === 0 ? 0 : writer.events(SCRIPT[request - 1]!).length;
      for (let behind = -1; behind <= length; behind++) {
        const stage = new Stage(writer, { request, behind });
        const outcome = await stage.stream(stage.agent());
        // Behind its end mark a reply is over, and the run goes on: it may be at its end before the abort comes.
        if (outcome === undefined && behind === length) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          await stage.checkLeft();
          continue;
        }
        if (request === 0 && behind === 0) assertEquals(stage.events, [], "the refusal is not over");
        await stage.check(outcome, 1);
        points++;
      }
    }
  });

  Deno.test(`a run over sockets can be aborted inside any tool, over ${name}`, async () => {
    for (const [way, act] of Object.entries(HANGING)) {
      for (const at of ["c1", "c2", "c4"]) {
        const stage = new Stage(writer);
        const agent = stage.agent((context) => context.call.id === at ? act(stage, context) : undefined);
        await stage.check(await stage.stream(agent), 1);
        const { content } = resultsOf(stage.conversation).find(({ toolUseId }) => toolUseId === at)!;
        assert(content === CUT || content === `result of ${at}`, `${way}: ${content}`);
        points++;
      }
    }
  });
}

Deno.test("the abort points over sockets are counted", () => {
  console.log(`      ${points} abort points over sockets`);
  // None, where only this test was chosen.
  assert(points === 0 || points > 300);
});
