/**
 * Aborts a run at every point where it can be aborted, and looks each time whether it ended at once, told the truth about each call, left
 * nothing open, and left a conversation that can be sent again.
 * @module
 */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { Conversation } from "../../src/model/conversation.ts";
import type { AgentEvent } from "../../src/model/event.ts";
import type { Tool } from "../../src/model/tool.ts";
import type { Receiver } from "../../src/provider/receiver.ts";
import { assertAnswered, FakeProvider, type Reply, resultsOf, says, tool, use } from "./fake_provider.ts";

const NOT_RUN = "error: not run: interrupted";
const CUT = "error: interrupted while running, it may have taken effect";
const GROUPINGS = ["event", "reply"] as const;

/** Three rounds of calls, a pause, and every kind of block. */
const SCRIPT: readonly Reply[] = [
  {
    retries: [{ type: "retry", attempt: 1, delayMs: 1, code: "unreachable" }],
    content: [
      { type: "thinking", text: "let me see" },
      { type: "text", text: "Looking" },
      use("a", {}, "c1"),
      use("b", {}, "c2"),
    ],
  },
  says("wait, ", { stopReason: "pause_turn" }),
  {
    content: [
      use("a", { x: 1 }, "c3"),
      use("nope", {}, "c4"),
      { ...use("a", "{", "c5"), invalid: true },
      use("b", {}, "c6"),
    ],
  },
  { content: [{ type: "opaque", value: 1 }, use("b", {}, "c7")] },
  says("the end"),
];
const RUNNABLE = ["c1", "c2", "c3", "c6", "c7"];

class Stage {
  readonly controller = new AbortController();
  readonly conversation = new Conversation();
  readonly reason = { why: "enough" };
  readonly started = new Set<string>();
  readonly ended = new Set<string>();
  readonly events: AgentEvent[] = [];
  provider: FakeProvider;
  listeners = 0;
  abortedAt = 0;
  seenThen = 0;

  constructor(grouping: "event" | "reply" = "event", script: readonly Reply[] = SCRIPT) {
    this.provider = new FakeProvider([...script], grouping);
    this.conversation.addUserMessage("go");
    const { signal } = this.controller;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<AbortSignal["addEventListener"]>) => {
      this.listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<AbortSignal["removeEventListener"]>) => {
      this.listeners--;
      removeEventListener.apply(signal, args);
    };
  }

  abort(): void {
    this.abortedAt = performance.now();
    this.seenThen = this.events.length;
    this.controller.abort(this.reason);
  }

  options(
    more: AgentOptions = {},
    inTool?: (id: string, signal: AbortSignal) => Promise<unknown> | void,
  ): AgentOptions {
    const run: Tool["run"] = async (_, { call: { id }, signal }) => {
      this.started.add(id);
      await inTool?.(id, signal);
      this.ended.add(id);
      return `result of ${id}`;
    };
    return {
      tools: [tool("a", run), tool("b", run)],
      toolTimeoutMs: 10_000,
      deadlineMs: 60_000,
      ...more,
    };
  }

  async stream(options: AgentOptions, onEvent?: (event: AgentEvent, index: number) => void): Promise<unknown> {
    try {
      const run = new Agent(this.provider, options).stream(this.conversation, { signal: this.controller.signal });
      for await (const event of run) {
        this.events.push(event);
        onEvent?.(event, this.events.length - 1);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** @param inFlight Events that may have been on their way to the caller when the abort came. */
  async check(outcome: unknown, inFlight = 0): Promise<void> {
    assertStrictEquals(outcome, this.reason);
    assert(performance.now() - this.abortedAt < 1000);
    assert(this.events.length - this.seenThen <= inFlight, "nothing follows an abort");
    assertEquals([this.listeners, this.provider.open], [0, 0]);
    assertAnswered(this.conversation);
    for (const { toolUseId: id, content } of resultsOf(this.conversation)) {
      if (content === NOT_RUN) assert(!this.started.has(id), id);
      else if (content === CUT) assert(this.started.has(id), id);
      else if (RUNNABLE.includes(id)) assert(this.ended.has(id) && content === `result of ${id}`, content);
    }
    for (const id of this.started) {
      assert(resultsOf(this.conversation).some(({ toolUseId }) => toolUseId === id), `${id} ran and is not told`);
    }
    this.conversation.addUserMessage("go on");
    assertEquals((await new Agent(new FakeProvider([says("again")])).runStep(this.conversation)).text, "again");
  }
}

async function whole(): Promise<Stage> {
  const stage = new Stage();
  assertEquals(await stage.stream(stage.options()), undefined);
  assertEquals([stage.started.size, stage.listeners], [RUNNABLE.length, 0]);
  return stage;
}

Deno.test("a run can be aborted at any point", async (t) => {
  const { events } = await whole();
  let points = 0;

  async function section(name: string, body: () => Promise<void>): Promise<void> {
    const before = points;
    await t.step(name, body);
    console.log(`      ${points - before} abort points`);
  }

  await section("stream: while the caller holds an event", async () => {
    for (const grouping of GROUPINGS) {
      for (const at of events.keys()) {
        const stage = new Stage(grouping);
        await stage.check(await stage.stream(stage.options(), (_, i) => i === at && stage.abort()));
        points++;
      }
    }
  });

  await section("runStep: in a callback, at once, and while it is waited for", async () => {
    for (const waits of [false, true]) {
      for (const grouping of GROUPINGS) {
        for (const at of events.keys()) {
          const stage = new Stage(grouping);
          const told: unknown[] = [];
          const receiver = receiverOf((event) => {
            stage.events.push(event);
            if (stage.events.length - 1 !== at) return;
            if (!waits) return stage.abort();
            return new Promise<void>((resolve) => setTimeout(() => resolve(stage.abort())));
          }, (error) => void told.push(error));
          const outcome = await new Agent(stage.provider, stage.options())
            .runStep(stage.conversation, receiver, { signal: stage.controller.signal })
            .catch((error: unknown) => error);
          await stage.check(outcome);
          assertEquals(told.length, 1);
          assertStrictEquals(told[0], stage.reason);
          points++;
        }
      }
    }
  });

  await section("runStep: while a callback never settles", async () => {
    for (const at of events.keys()) {
      const stage = new Stage("reply");
      const told: unknown[] = [];
      const receiver = receiverOf((event) => {
        stage.events.push(event);
        if (stage.events.length - 1 !== at) return;
        setTimeout(() => stage.abort());
        return new Promise(() => {});
      }, (error) => void told.push(error));
      const outcome = await new Agent(stage.provider, stage.options())
        .runStep(stage.conversation, receiver, { signal: stage.controller.signal })
        .catch((error: unknown) => error);
      await stage.check(outcome);
      assertStrictEquals(told[0], stage.reason);
      points++;
    }
  });

  await section("while the endpoint is silent before an event", async () => {
    for (const [r, reply] of SCRIPT.entries()) {
      for (let hangAt = 0;; hangAt++) {
        const stage = new Stage("event", SCRIPT.with(r, { ...reply, hangAt }));
        // The run stands still once nothing happened for two turns of the event loop.
        let seen = -1;
        const timer = setInterval(() => {
          if (seen === stage.events.length) stage.abort();
          seen = stage.events.length;
        });
        const outcome = await stage.stream(stage.options());
        clearInterval(timer);
        if (outcome === undefined) break;
        await stage.check(outcome);
        points++;
      }
    }
  });

  await section(
    "inside a tool: at once, while it hangs, while it fails because of it, and right behind it",
    async () => {
      const ways: ((stage: Stage, signal: AbortSignal) => Promise<unknown> | void)[] = [
        (stage) => stage.abort(),
        (stage) => {
          setTimeout(() => stage.abort());
          return new Promise(() => {});
        },
        (stage, signal) => {
          setTimeout(() => stage.abort());
          return new Promise((_, reject) => signal.onabort = () => reject(new Error("stopped")));
        },
        (stage) => {
          stage.abort();
          throw new Error("sync");
        },
      ];
      for (let turns = 1; turns <= 12; turns++) ways.push((stage) => void later(turns, () => stage.abort()));
      for (const way of ways) {
        for (const at of RUNNABLE) {
          const stage = new Stage();
          const options = stage.options({}, (id, signal) => id === at ? way(stage, signal) : undefined);
          await stage.check(await stage.stream(options), 1);
          points++;
        }
      }
    },
  );

  for (const name of ["decide", "prepare"] as const) {
    await section(`inside ${name}: at once, and while it hangs`, async () => {
      for (const hangs of [false, true]) {
        for (let at = 0;; at++) {
          const stage = new Stage();
          let asked = 0;
          const hook = () => {
            if (asked++ !== at) return name === "decide" ? { allow: true } as const : undefined;
            if (!hangs) stage.abort();
            else {
              setTimeout(() => stage.abort());
              return new Promise<never>(() => {});
            }
          };
          const outcome = await stage.stream(stage.options({ [name]: hook }));
          if (outcome === undefined) break;
          await stage.check(outcome);
          points++;
        }
      }
    });
  }

  await t.step(`${points} abort points in all`, () => assert(points > 300));
});

/** Acts after so many turns of the microtask queue. */
function later(turns: number, act: () => void): void {
  queueMicrotask(turns === 1 ? act : () => later(turns - 1, act));
}

function receiverOf(
  tell: (event: AgentEvent) => void | Promise<void>,
  onError: (error: unknown) => void,
): Receiver {
  return {
    onMessageStart: (role) => tell({ type: "message_start", role: role as "assistant" }),
    onBlockStart: (blockType, index) => tell({ type: "block_start", index, blockType }),
    onContentDelta: (index, delta) => tell({ type: "content_delta", index, delta }),
    onBlockComplete: (index, block) => tell({ type: "block_complete", index, block }),
    onMessageComplete: (message, info) => tell({ type: "message_complete", message, ...info }),
    onToolStart: (call) => tell({ type: "tool_start", call }),
    onToolResult: (call, result) => tell({ type: "tool_result", call, result }),
    onRetry: (info) => tell(info),
    onError,
  };
}
