/**
 * Random replies, and bytes that only look like one.
 * @module
 */
import fc from "fast-check";
import type { CallScript, End, ReplyScript } from "./writer.ts";

/** Words that matter to the splitter and to the scan of arguments, and some that do not. */
const WORDS = [
  "a",
  "word ",
  "\n",
  " ",
  "<think>",
  "</think>",
  "<thought>",
  "</Thought>",
  "<",
  "/think>",
  "<thi",
  "`",
  "```\n",
  '"',
  "é",
  "👋",
  "你",
  "[TOOL_CALLS]",
];
const pieces = fc.array(fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 }).map((w) => w.join("")), {
  minLength: 1,
  maxLength: 5,
});
const args = fc.oneof(
  fc.json({ maxDepth: 2 }).map((json) => `{"v":${json}}`),
  fc.constantFrom("", "{}", "null", '{}{"a":1}', '{"a":1}{"b":2}', '{"a":', "[1]", '"{\\"a\\":1}"', '{"a":"}{"}'),
);
const cutArgs = fc.tuple(args, fc.array(fc.nat(40), { maxLength: 4 })).map(([raw, cuts]) => {
  const at = [0, ...cuts.map((n) => Math.min(n, raw.length)).sort((a, b) => a - b), raw.length];
  return at.slice(1).map((end, i) => raw.slice(at[i], end)).filter((piece) => piece !== "");
});
const callScript = fc.record({
  id: fc.constantFrom("c1", "c2", "c3", "bad id"),
  name: fc.constantFrom("add", "fail", "x"),
  args: cutArgs,
});
/**
 * What comes behind a complete object while another call has begun is told by the message alone, and when that is the case the
 * protocols see differently if a call before it has no end yet.
 */
const interleavedCall = callScript.filter(({ args }) => !/\}\{/.test(args.join("").replace('"}{"', "")));
const part = fc.oneof(
  { weight: 4, arbitrary: fc.record({ text: pieces }) },
  { weight: 2, arbitrary: fc.record({ thinking: pieces }) },
  { weight: 3, arbitrary: fc.record({ call: callScript }) },
  { weight: 1, arbitrary: fc.record({ interleaved: fc.array(interleavedCall, { minLength: 2, maxLength: 3 }) }) },
);
const end = fc.oneof(
  fc.constantFrom<End>("end_turn", "tool_use", "max_tokens", "refusal", "other", "mark_only", "cut", "reset"),
  fc.constant<End>({ type: "api_error", code: 500, message: "Lost" }),
);
/** OpenAI's protocol has no border between two texts, so a reply has no such neighbours. */
export const randomReply: fc.Arbitrary<ReplyScript> = fc.record({
  parts: fc.array(part, { maxLength: 5 }).map((parts) =>
    parts.filter((p, i) => i === 0 || !["text", "thinking"].some((kind) => kind in p && kind in parts[i - 1]!))
  ),
  end,
}).map(({ parts, end: chosen }) => {
  // An end mark behind nothing is an empty reply; OpenAI's first chunk already holds a choice.
  const end = parts.length === 0 && chosen === "mark_only" ? "end_turn" : chosen;
  // Where a reply breaks off, OpenAI can tell that a block was finished only by what follows, and a call also by its arguments.
  const breaks = typeof end === "object" || ["cut", "reset", "mark_only"].includes(end);
  let calls = 0;
  const call = (script: CallScript) => ({
    ...script,
    // What two calls of one id mean, the protocols see differently.
    id: `${script.id}${calls++}`,
    args: breaks ? ['{"v":', "1}"] : script.args,
  });
  return {
    parts: parts.map((part) =>
      "call" in part
        ? { call: call(part.call) }
        : "interleaved" in part
        ? { interleaved: part.interleaved.map(call) }
        : !breaks
        ? part
        : "text" in part
        ? { text: [...part.text, "."] }
        : { thinking: [...part.thinking, "."] }
    ),
    end,
    usage: { input: 21, output: 7, cached: 5 },
  };
});

/** Turns bytes into what a broken server or proxy may send. */
export interface Mutation {
  /** Where, as a share of the length. */
  at: number;
  kind: "cut" | "drop" | "repeat" | "flip" | "insert";
  bytes: Uint8Array;
}

/** Random mutations. */
export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom("cut" as const, "drop" as const, "repeat" as const, "flip" as const, "insert" as const),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Applies mutations one after another. */
export function mutate(original: Uint8Array, list: readonly Mutation[]): Uint8Array {
  let data = original;
  for (const { at, kind, bytes } of list) {
    const start = Math.floor(at * data.length), end = Math.min(start + bytes.length, data.length);
    const [before, piece, after] = [data.subarray(0, start), data.subarray(start, end), data.subarray(end)];
    const parts = {
      cut: [before],
      drop: [before, after],
      repeat: [before, piece, piece, after],
      flip: [before, piece.map((byte, i) => byte ^ bytes[i]!), after],
      insert: [before, bytes, piece, after],
    }[kind];
    data = Uint8Array.from(parts.flatMap((part) => [...part]));
  }
  return data;
}
