import { assert, assertEquals, assertThrows } from "@std/assert";
import { isPawlError, type PawlErrorCode } from "../../src/model/error.ts";
import type { StreamEvent } from "../../src/model/event.ts";
import { type Limits, resolveLimits } from "../../src/model/limits.ts";
import type { ContentBlock, StopReason } from "../../src/model/message.ts";
import { createMessageBuilder, type MessageBuilder } from "../../src/provider/message_builder.ts";

function builder(options: { limits?: Partial<Limits>; splitText?: boolean; sent?: number } = {}): MessageBuilder {
  return createMessageBuilder({ limits: resolveLimits(options.limits), progress() {} }, {
    origin: { dialect: "toy", model: "m" },
    redact: (text) => text.replaceAll("sk-secret-0123456789", "[redacted]"),
    splitText: options.splitText ?? false,
    sent: [{ role: "user", content: [{ type: "text", text: "x".repeat(options.sent ?? 0) }] }],
  });
}

/** One line an event: what a reader can take in at a glance. */
function told(events: readonly StreamEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case "message_start":
        return "start";
      case "block_start":
        return `+${event.index} ${event.blockType}${
          event.toolName === undefined ? "" : ` ${event.toolId} ${event.toolName}`
        }`;
      case "content_delta":
        return `${event.index}: ${event.delta}`;
      case "block_complete":
        return `-${event.index} ${shown(event.block)}`;
      case "message_complete":
        return `= ${event.stopReason} ${event.message.content.map(shown).join(" | ")}`;
      default:
        return event.type;
    }
  });
}

function shown(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return `"${block.text}"`;
    case "thinking":
      return `(${block.text}${block.signature ? `~${block.signature}` : ""}${
        block.redacted ? `#${block.redacted}` : ""
      })`;
    case "tool_use":
      return `${block.name}#${block.id}${block.invalid ? "!" : ""}${block.input}`;
    default:
      return JSON.stringify(block);
  }
}

function tell(script: (sink: MessageBuilder) => void, options?: Parameters<typeof builder>[0]): string[] {
  const sink = builder(options);
  script(sink);
  sink.finish(true);
  return told(sink.take());
}

function fails(code: PawlErrorCode, script: (sink: MessageBuilder) => void, options?: Parameters<typeof builder>[0]) {
  const error = assertThrows(() => tell(script, options));
  assert(isPawlError(error, code), String(error));
  return error;
}

Deno.test("MessageBuilder: text and thinking close when the next block starts", () => {
  assertEquals(
    tell((sink) => {
      sink.thinking("r", "why");
      sink.thinking("r", " so");
      sink.text("t", "be");
      sink.text("t", "cause");
      sink.thinking("r", "hm");
      sink.stop("end_turn");
    }),
    [
      "start",
      "+0 thinking",
      "0: why",
      "0:  so",
      "-0 (why so)",
      "+1 text",
      "1: be",
      "1: cause",
      '-1 "because"',
      "+2 thinking",
      "2: hm",
      "-2 (hm)",
      '= end_turn (why so) | "because" | (hm)',
    ],
  );
});

Deno.test("MessageBuilder: empty pieces open nothing", () => {
  assertEquals(
    tell((sink) => {
      sink.begin();
      sink.text("t", "");
      sink.thinking("r", "");
      sink.note("r", "signature", "");
      sink.stop("end_turn");
    }),
    ["start", "= end_turn "],
  );
});

Deno.test("MessageBuilder: blank text is held at the start and after a call, and dropped if nothing follows", () => {
  assertEquals(
    tell((sink) => {
      sink.text("t", "\n");
      sink.text("t", " ");
      sink.thinking("r", "x");
      sink.text("t", "\n\n");
      sink.call(1, { id: "a", name: "f" });
      sink.input(1, "{}");
      sink.text("t", "\n");
      sink.call(2, { id: "b", name: "g" });
      sink.input(2, "{}");
      sink.text("t", "\n");
      sink.stop("tool_use");
    }),
    [
      "start",
      "+0 thinking",
      "0: x",
      "-0 (x)",
      "+1 text",
      "1: \n\n",
      '-1 "\n\n"',
      "+2 tool_use a f",
      "2: {}",
      "-2 f#a{}",
      "+3 tool_use b g",
      "3: {}",
      "-3 g#b{}",
      '= tool_use (x) | "\n\n" | f#a{} | g#b{}',
    ],
  );
  assertEquals(
    tell((sink) => {
      sink.text("t", "\n");
      sink.text("t", "a");
      sink.stop("end_turn");
    }),
    ["start", "+0 text", "0: \na", '-0 "\na"', '= end_turn "\na"'],
  );
});

Deno.test("MessageBuilder: a call opens with id, name and a first character, late ones included", () => {
  assertEquals(
    tell((sink) => {
      sink.call(0, { name: "f" });
      sink.input(0, '{"a"');
      sink.call(0, { id: "late" });
      sink.input(0, ":1}");
      sink.stop("tool_use");
    }),
    ["start", "+0 tool_use late f", '0: {"a"', "0: :1}", '-0 f#late{"a":1}', '= tool_use f#late{"a":1}'],
  );
});

Deno.test("MessageBuilder: a newcomer waits behind an unfinished call and comes out as one delta", () => {
  assertEquals(
    tell((sink) => {
      sink.call(0, { id: "a", name: "f" });
      sink.input(0, '{"x"');
      sink.call(1, { id: "b", name: "g" });
      sink.input(1, '{"y"');
      sink.text("t", "hel");
      sink.input(1, ":2}");
      sink.text("t", "lo");
      sink.input(0, ":1}");
      sink.stop("tool_use");
    }),
    [
      "start",
      "+0 tool_use a f",
      '0: {"x"',
      "0: :1}",
      '-0 f#a{"x":1}',
      "+1 tool_use b g",
      '1: {"y":2}',
      '-1 g#b{"y":2}',
      "+2 text",
      "2: hello",
      '-2 "hello"',
      '= tool_use f#a{"x":1} | g#b{"y":2} | "hello"',
    ],
  );
});

Deno.test("MessageBuilder: the wire's own end closes an unfinished call at once", () => {
  assertEquals(
    tell((sink) => {
      sink.call(0, { id: "a", name: "f" });
      sink.input(0, '{"x"');
      sink.end(0);
      sink.text("t", "so");
      sink.stop("end_turn");
    }),
    ["start", "+0 tool_use a f", '0: {"x"', '-0 f#a!{"x"', "+1 text", "1: so", '-1 "so"', '= tool_use f#a!{"x" | "so"'],
  );
});

Deno.test("MessageBuilder: what comes late to a closed call is judged anew in the message only", () => {
  const sink = builder();
  sink.call(0, { id: "a", name: "f" });
  sink.input(0, '{"x":1}');
  sink.text("t", "so");
  sink.input(0, '{"y":2}');
  sink.stop("end_turn");
  sink.finish(true);
  const events = sink.take();
  assertEquals(events.filter(({ type }) => type === "block_complete").length, 2);
  const last = events.at(-1);
  assert(last?.type === "message_complete");
  assertEquals(last.message.content[0], {
    type: "tool_use",
    id: "a",
    name: "f",
    input: '{"x":1}{"y":2}',
    invalid: true,
  });
});

Deno.test("MessageBuilder: ids are verbatim if usable and new, else replaced", () => {
  const ids = (...given: (string | undefined)[]) => {
    const sink = builder();
    given.forEach((id, key) => {
      sink.call(key, { name: "f", ...(id !== undefined && { id }) });
      sink.input(key, "{}");
    });
    sink.stop("tool_use");
    sink.finish(true);
    const last = sink.take().at(-1);
    assert(last?.type === "message_complete");
    return last.message.content.map((block) => block.type === "tool_use" ? block.id : "");
  };
  assertEquals(ids("functions.f:0", "a"), ["functions.f:0", "a"]);
  for (
    const given of [["a", "a"], ["a", ""], ["a", undefined], ["a", "b c"], ["a", "é"], ["a", "x".repeat(257)], [
      "a",
      "\x1b[0m",
    ], ["call_1", "call_1"]]
  ) {
    const [first, second] = ids(...given);
    assertEquals(first, given[0]);
    assert(second !== first && /^[\x21-\x7e]{1,256}$/.test(second!), second);
  }
  assertEquals(ids("call_2", undefined).length, 2);
  assertEquals(new Set(ids(undefined, "call_1", undefined, "call_1", "call_3")).size, 5);
});

Deno.test("MessageBuilder: a name is cut at <|, and a call without one is refused", () => {
  assertEquals(
    tell((sink) => {
      sink.call(0, { id: "a", name: "query<|channel|>commentary" });
      sink.stop("tool_use");
    }),
    ["start", "+0 tool_use a query", "-0 query#a{}", "= tool_use query#a{}"],
  );
  for (const name of [undefined, "", "<|x|>"]) {
    fails("unsupported_tool_call", (sink) => {
      sink.call(0, { id: "a", ...(name !== undefined && { name }) });
      sink.input(0, "{}");
      sink.text("t", "x");
      sink.stop("tool_use");
    });
  }
});

Deno.test("MessageBuilder: thinking without text opens at its end if it has something to keep", () => {
  assertEquals(
    tell((sink) => {
      sink.note("r", "signature", "si");
      sink.note("r", "signature", "g");
      sink.end("r");
      sink.note("x", "redacted", "abc");
      sink.text("t", "a");
      sink.note("d", "details", [{ type: "reasoning.encrypted" }]);
      sink.stop("end_turn");
    }),
    [
      "start",
      "+0 thinking",
      "-0 (~sig)",
      "+1 thinking",
      "-1 (#abc)",
      "+2 text",
      "2: a",
      '-2 "a"',
      "+3 thinking",
      "-3 ()",
      '= end_turn (~sig) | (#abc) | "a" | ()',
    ],
  );
});

Deno.test("MessageBuilder: a late signature lands in the message", () => {
  assertEquals(
    tell((sink) => {
      sink.thinking(0, "x");
      sink.text(1, "y");
      sink.note(0, "signature", "sig");
      sink.end(0);
      sink.end(1);
      sink.stop("end_turn");
    }).at(-1),
    '= end_turn (x~sig) | "y"',
  );
});

Deno.test("MessageBuilder: an opaque block starts and completes, and keeps what comes later", () => {
  const value: Record<string, unknown> = { type: "server_tool_use" };
  assertEquals(
    tell((sink) => {
      sink.opaque(0, value);
      value.input = { q: 1 };
      sink.end(0);
      sink.text(1, "x");
      sink.stop("pause_turn");
    }),
    [
      "start",
      "+0 opaque",
      '-0 {"type":"opaque","value":{"type":"server_tool_use","input":{"q":1}}}',
      "+1 text",
      "1: x",
      '-1 "x"',
      '= pause_turn {"type":"opaque","value":{"type":"server_tool_use","input":{"q":1}}} | "x"',
    ],
  );
});

Deno.test("MessageBuilder: surrogate halves join over deltas, lone ones become U+FFFD", () => {
  assertEquals(
    tell((sink) => {
      sink.text("t", "go \ud83d");
      sink.text("t", "\ude80!");
      sink.text("t", "\ude80");
      sink.thinking("r", "\ud83d");
      sink.call(0, { id: "a", name: "f" });
      sink.input(0, '{"w":"\ud83d');
      sink.input(0, '\ude80"}');
      sink.text("t", "end \ud83d");
      sink.stop("end_turn");
    }),
    [
      "start",
      "+0 text",
      "0: go ",
      "0: 🚀!",
      "0: \ufffd",
      '-0 "go 🚀!\ufffd"',
      "+1 thinking",
      "1: \ufffd",
      "-1 (\ufffd)",
      "+2 tool_use a f",
      '2: {"w":"',
      '2: 🚀"}',
      '-2 f#a{"w":"🚀"}',
      "+3 text",
      "3: end ",
      "3: \ufffd",
      '-3 "end \ufffd"',
      '= tool_use (\ufffd) | f#a{"w":"🚀"} | "end \ufffd"'.replace("= tool_use ", '= tool_use "go 🚀!\ufffd" | '),
    ],
  );
});

Deno.test("MessageBuilder: calls decide the stop reason, except behind length and refusal", () => {
  const stop = (reason: Parameters<MessageBuilder["stop"]>[0], withCall: boolean) =>
    tell((sink) => {
      sink.begin();
      if (withCall) sink.call(0, { id: "a", name: "f" });
      sink.stop(reason, "raw");
    }).at(-1)!.split(" ")[1];
  for (const reason of ["end_turn", "stop_sequence", "other", "pause_turn", "tool_use"] as const) {
    assertEquals(stop(reason, true), "tool_use");
  }
  for (const reason of ["max_tokens", "refusal"] as const) assertEquals(stop(reason, true), reason);
  for (const reason of ["end_turn", "max_tokens", "refusal", "pause_turn", "other"] as const) {
    assertEquals(stop(reason, false), reason);
  }
  const error = fails("malformed_stream", (sink) => {
    sink.text("t", "x");
    sink.stop("tool_use");
  });
  assert(isPawlError(error) && error.retryable);
});

Deno.test("MessageBuilder: a reply without an end is truncated, one with an end mark and nothing else is empty", () => {
  const ended = (protocolEnd: boolean, script: (sink: MessageBuilder) => void) => {
    const sink = builder();
    script(sink);
    sink.finish(protocolEnd);
  };
  const code = (protocolEnd: boolean, script: (sink: MessageBuilder) => void) => {
    const error = assertThrows(() => ended(protocolEnd, script));
    assert(isPawlError(error));
    return [error.code, error.retryable];
  };
  assertEquals(code(false, () => {}), ["truncated", true]);
  assertEquals(code(false, (sink) => sink.text("t", "half")), ["truncated", true]);
  assertEquals(code(true, () => {}), ["empty_reply", true]);
  assertEquals(code(true, (sink) => sink.begin()), ["empty_reply", true]);
  assertEquals(
    code(true, (sink) => {
      sink.call(0, { id: "a", name: "f" });
      sink.input(0, '{"x');
    }),
    ["truncated", true],
  );
  ended(true, (sink) => sink.begin(true));
  ended(false, (sink) => sink.stop("end_turn"));
});

Deno.test("MessageBuilder: every cap names itself, its value and its option", () => {
  const cap = (limits: Partial<Limits>, script: (sink: MessageBuilder) => void) => {
    const [[name, value]] = Object.entries(limits) as [[string, number]];
    const error = fails("response_too_large", (sink) => {
      script(sink);
      sink.stop("end_turn");
    }, { limits });
    assert(error.message.includes(`limits.${name} (${value}`), error.message);
  };
  cap({ maxBlocks: 2 }, (sink) => {
    for (let i = 0; i < 3; i++) sink.opaque(i, {});
  });
  cap({ maxToolInputBytes: 4 }, (sink) => {
    sink.call(0, { id: "a", name: "f" });
    sink.input(0, '"ééé"');
  });
  cap({ maxJsonDepth: 3 }, (sink) => {
    sink.call(0, { id: "a", name: "f" });
    sink.input(0, '{"a":[[[1]]]}');
  });
  const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  cap({ maxJsonDepth: 5 }, (sink) => sink.opaque(0, deep));
  cap({ maxJsonDepth: 5 }, (sink) => sink.note(0, "details", deep));
  cap({ maxJsonDepth: 5 }, (sink) => sink.call(0, { id: "a", name: "f", extra: { deep } }));
});

Deno.test("MessageBuilder.fail tells the endpoint's words cleaned, redacted and classified", () => {
  const error = fails(
    "backend",
    (sink) => sink.fail({ error: { message: "over\nloaded sk-secret-0123456789\x1b[0m", type: "overloaded_error" } }),
  );
  assert(isPawlError(error) && error.retryable);
  assert(!/secret|[\n\x1b]/.test(error.message) && error.message.includes("loaded"), error.message);
  const overflow = fails(
    "context_overflow",
    (sink) => sink.fail({ error: { message: "prompt is too long: 9 tokens > 8 maximum" } }),
  );
  assert(isPawlError(overflow) && !overflow.retryable);
  fails("backend", (sink) => sink.fail("network_error"));
  fails("backend", (sink) => sink.fail(undefined));
});

Deno.test("MessageBuilder.partial holds what arrived, held and open blocks included, and never throws", () => {
  const sink = builder({ splitText: true, limits: { maxBlocks: 3 } });
  sink.thinking("r", "why");
  sink.call(0, { id: "a", name: "f" });
  sink.input(0, '{"x');
  sink.call(1, { id: "b" });
  sink.text("t", "<thi");
  sink.usage({ inputTokens: 3 });
  const { message, usage } = sink.partial();
  assertEquals(message.content.map(shown), ["(why)", 'f#a!{"x', '"<thi"']);
  assertEquals(message.origin, { dialect: "toy", model: "m" });
  assertEquals(usage, { inputTokens: 3 });
});

Deno.test("MessageBuilder: an empty id or model is none", () => {
  const sink = builder();
  sink.begin(true, "", "");
  sink.stop("end_turn");
  sink.finish(true);
  const last = sink.take().at(-1)!;
  assert(!("id" in last || "model" in last));
});

Deno.test("MessageBuilder: usage keeps the last numbers and leaves out what was not reported", () => {
  const sink = builder();
  sink.begin(true, "", 7);
  sink.begin(false, "r1", "m1");
  sink.begin(false, "r2", "m2");
  sink.usage({ inputTokens: 3, outputTokens: 1 });
  sink.usage({ outputTokens: 2, cachedInputTokens: undefined as unknown as number });
  sink.usage({ outputTokens: NaN, reasoningTokens: -1, inputTokens: "9" as unknown as number });
  sink.stop("end_turn", "stop");
  sink.finish(true);
  const last = sink.take().at(-1);
  assert(last?.type === "message_complete");
  assertEquals(last.usage, { inputTokens: 3, outputTokens: 2 });
  assertEquals([last.id, last.model, last.rawStopReason, last.warnings], ["r1", "m1", "stop", undefined]);
});

Deno.test("MessageBuilder warns of leaked calls, missing usage and a cut prompt", () => {
  const kinds = (script: (sink: MessageBuilder) => void, sent = 0) => {
    const sink = builder({ sent });
    script(sink);
    sink.stop("end_turn");
    sink.finish(true);
    const last = sink.take().at(-1);
    assert(last?.type === "message_complete");
    return (last.warnings ?? []).map(({ kind }) => kind);
  };
  const usage = { inputTokens: 10 };
  for (
    const leak of [
      '<tool_call>{"name":"f"}',
      "<function=f>",
      "<|tool_calls_section_begin|>",
      "[TOOL_CALLS]f[ARGS]{}",
      "<|channel|>analysis",
      "<｜DSML｜invoke",
    ]
  ) {
    assertEquals(
      kinds((sink) => {
        sink.text("t", `so ${leak}`);
        sink.usage(usage);
      }),
      ["tool_call_text"],
      leak,
    );
  }
  assertEquals(kinds((sink) => sink.text("t", "plain")), ["usage_missing"]);
  assertEquals(kinds((sink) => sink.usage(usage), 100), []);
  assertEquals(kinds((sink) => sink.usage(usage), 10_000), ["context_cut"]);
});

Deno.test("MessageBuilder turns leaked reasoning into thinking blocks", () => {
  const blocks = (pieces: string[], native = false) =>
    tell((sink) => {
      if (native) sink.thinking("r", "own");
      for (const piece of pieces) sink.text("t", piece);
      sink.stop("end_turn");
    }, { splitText: true }).at(-1)!.slice("= end_turn ".length);
  assertEquals(blocks(["<think>\nwhy\n</think>\n\nso"]), '(why) | "so"');
  assertEquals(blocks([..."<think>\nwhy\n</think>\n\nso"]), '(why) | "so"');
  assertEquals(blocks(["plan\n</think>\n\nHello"]), '(plan) | "Hello"');
  assertEquals(blocks(["a</think>b</think>c"]), '(a) | (b) | "c"');
  assertEquals(blocks(["answer <think>oops"]), '"answer " | (oops)');
  assertEquals(blocks(["</think>Hello"]), '"Hello"');
  assertEquals(blocks(["a</think>b"], true), '(own) | "a</think>b"');
  assertEquals(blocks(["say `<think>` and", " `</think>` so"]), '"say `<think>` and `</think>` so"');
});

Deno.test("MessageBuilder: block_complete outranks the start of a block that was reasoning", () => {
  assertEquals(
    tell((sink) => {
      sink.text("t", "plan ");
      sink.text("t", "</think>");
      sink.text("t", "Hello");
      sink.stop("end_turn");
    }, { splitText: true }),
    ["start", "+0 text", "0: plan ", "-0 (plan)", "+1 text", "1: Hello", '-1 "Hello"', '= end_turn (plan) | "Hello"'],
  );
});

Deno.test("MessageBuilder: blank text and closers without end stay linear", () => {
  const sink = builder({ splitText: true });
  sink.thinking("r", "x");
  sink.text("t", " ".repeat(500_000));
  const closers = "</think>".repeat(60_000);
  sink.text("t", closers);
  sink.stop("end_turn");
  sink.finish(true);
});

Deno.test("MessageBuilder: the first finish word that is no plain end counts, and an output limit above all", () => {
  const words = (...reasons: StopReason[]) => {
    const sink = builder();
    sink.call(0, { id: "a", name: "f" });
    for (const reason of reasons) sink.stop(reason, `raw ${reason}`);
    sink.finish(true);
    const last = sink.take().at(-1);
    assert(last?.type === "message_complete");
    return last.rawStopReason;
  };
  assertEquals(words("tool_use", "end_turn"), "raw tool_use");
  assertEquals(words("end_turn", "tool_use", "refusal"), "raw tool_use");
  assertEquals(words("tool_use", "max_tokens", "end_turn"), "raw max_tokens");
});

Deno.test("MessageBuilder: arguments without a call are those of one without name", () => {
  fails("unsupported_tool_call", (sink) => {
    sink.input("x", "{}");
    sink.stop("tool_use");
  });
  assertEquals(
    tell((sink) => {
      sink.text("x", "a");
      sink.input("x", "{");
      sink.call("x", { id: "i", name: "f" });
      sink.input("x", "}");
      sink.stop("tool_use");
    }).at(-1),
    '= tool_use "a" | f#i{}',
  );
});

Deno.test("MessageBuilder: a completed block is told as it was, however soon the rest of it comes", () => {
  const sink = builder();
  sink.call(0, { id: "a", name: "f" });
  sink.input(0, '{"p":1}');
  sink.thinking(1, "hm");
  sink.text(2, "so");
  sink.input(0, '{"r":2}');
  sink.note(1, "signature", "s");
  sink.finish(true);
  const completed = sink.take().filter(({ type }) => type === "block_complete" || type === "message_complete");
  assertEquals(told(completed), [
    '-0 f#a{"p":1}',
    "-1 (hm)",
    '-2 "so"',
    '= tool_use f#a!{"p":1}{"r":2} | (hm~s) | "so"',
  ]);
});
