/**
 * What the hostile endpoint does: every attack that was thought of, and controls that a client must pass.
 * @module
 */
import { Buffer } from "node:buffer";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { anthropicEncoding, openAiEncoding } from "../support/replies.ts";
import type { CallScript, End, Part } from "../support/writer.ts";
import { type Answer, type Asked, type Attack, type Piece, says } from "./endpoint.ts";

const KiB = 1024, MiB = 1024 * KiB;
const LOREM = "lorem ipsum dolor sit amet ";

/** Every trick that a terminal might fall for, between two words that a safe program still shows. */
export const ESCAPES = [
  "safe-start",
  "\x1b[31mred\x1b[0m",
  "\x1b[2J\x1b[H\x1b[9A\x1b[2K",
  "\x1b]0;title\x07\x1b]52;c;Y3Vyc2U=\x07\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\",
  "\x1b]1337;File=inline=1:AAAA\x07\x1bP+q544e\x1b\\\x1b_Gf=100;AAAA\x1b\\",
  "\x1b[6n\x1b[c\x1bc\x1b[?1049h\x1b[?1000h\x1b[?2004h",
  "\u009b31m\u009d0;c1\u009c\u0090c1\u009c",
  "a\b\bz over\rwritten\x07\x0e\x0f\x7f\0",
  "\u202egnp.exe\u202c\u2066i\u2069\u200f\u061c",
  "\u{e0068}\u{e0069} zero\u200bwidth\u2060join\ufeff line\u2028para\u2029",
  "\x1b]unended safe-end",
].join(" ");

/** Values of every kind but the one that is due. */
const ODD = [123, true, null, { a: 1 }, ["x"], [{ type: "text", text: "in a part" }], -0, 1e300];

/** What arguments must not be. */
export const BAD_ARGUMENTS = ["not json", '{"unclosed":"', "[1,2]", "5", '"str"', '{"n":NaN}', '{"a":1}{"b":2}'];

function* forever(piece: Piece, pauseMs = 0): Iterable<Piece> {
  for (;;) {
    yield piece;
    if (pauseMs > 0) yield pauseMs;
  }
}

function* chain(...parts: (Iterable<Piece> | Piece)[]): Iterable<Piece> {
  for (const part of parts) {
    if (typeof part === "object" && !(part instanceof Uint8Array)) yield* part;
    else yield part;
  }
}

function* slowly(text: string, pauseMs: number): Iterable<Piece> {
  for (const letter of text) yield* [letter, pauseMs];
}

function isOpenAi({ writer }: Asked): boolean {
  return writer.dialect.name === "openai_chat";
}

function event(json: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${
    typeof json === "string" ? json : JSON.stringify(json)
  }\n\n`;
}

/** A chunk of OpenAI's with a delta, or an event of Anthropic's. */
function piece(asked: Asked, delta: unknown, anthropic: { type: string }): string {
  return isOpenAi(asked)
    ? event({ id: "r", model: "hostile", choices: [{ index: 0, delta, finish_reason: null }] })
    : event(anthropic, anthropic.type);
}

/** A text delta whose JSON is written by hand around the text. */
function textDelta(asked: Asked, content: string): [before: string, after: string] {
  const delta = { type: "text_delta", text: "@" };
  const [before = "", after = ""] = piece(asked, { content: "@" }, block("delta", 0, { delta })).split("@");
  return [before + content, after];
}

function block(what: "start" | "delta" | "stop", index: unknown, more: object = {}): { type: string } {
  return { type: `content_block_${what}`, index, ...more } as { type: string };
}

function reply({ writer }: Asked, parts: Part[], end: End = "end_turn"): string {
  return writer.events({ parts, end }).join("");
}

/** A reply up to its first delta, and that delta: what can go on for ever. */
function endless(asked: Asked, part: Part, times: number, pauseMs = 0): Answer {
  const events = asked.writer.events({ parts: [part], end: "cut" });
  return { body: chain(events, forever(events.at(-1)!.repeat(times), pauseMs)) };
}

function call(name: string, args: string, id = "call_1"): Part & { call: CallScript } {
  return { call: { id, name, args: args === "" ? [""] : args.match(/[^]{1,4096}/g)! } };
}

function calls(asked: Asked, ...all: Part[]): Answer {
  return { body: reply(asked, all, "tool_use") };
}

/** A body that is no stream. */
function whole(status: number, type: string, body: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const fields = { "content-type": type, "content-length": String(bytes.length), ...headers };
  return { status, headers: fields, body: [bytes] };
}

function failure(asked: Asked, status: number, message: string, headers: Record<string, string> = {}): Answer {
  return whole(status, "application/json", asked.writer.errorBody("server_error", message), headers);
}

function document(asked: Asked, text: string): string {
  const encoding = isOpenAi(asked) ? openAiEncoding : anthropicEncoding;
  return JSON.stringify(encoding.document({ text }, { model: "hostile", serial: 1, usage: true }));
}

function redirect(location: string): Answer {
  return whole(307, "text/plain", "moved", { location });
}

/** 4 bytes for each 128 KiB: blocks of one repeated letter. */
function zstd(mib: number): Uint8Array {
  const blocks = Array.from({ length: mib * 8 }, (_, i) => [i === mib * 8 - 1 ? 3 : 2, 0, 0x10, 0x41]);
  return Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, ...blocks.flat()]);
}

const BOMBS: Record<string, (mib: number) => Uint8Array> = {
  gzip: (mib) => gzipSync(Buffer.alloc(mib * MiB, "A"), { level: 1 }),
  deflate: (mib) => deflateSync(Buffer.alloc(mib * MiB, "A"), { level: 1 }),
  br: (mib) => brotliCompressSync(Buffer.alloc(mib * MiB, "A"), { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
  zstd,
};
const made = new Map<string, Uint8Array>();

/** A bomb, made once: that takes a second. */
export function bombOf(encoding: string, mib: number): Uint8Array {
  const key = `${encoding} ${mib}`;
  if (!made.has(key)) made.set(key, BOMBS[encoding]!(mib));
  return made.get(key)!;
}

function bomb(encoding: string): Attack {
  return {
    does: `64 MiB in a few bytes of ${encoding}`,
    answer: ({ scale }) =>
      whole(200, "text/event-stream", bombOf(encoding, scale(64)), { "content-encoding": encoding }),
  };
}

/** Attacks that repeat the key in some form. */
function keyEcho(status: number, form: string, spell: (key: string) => string): Attack {
  return {
    does: `a ${status} that repeats the key ${form}, in body and headers`,
    answer(asked) {
      const key = spell(asked.key);
      return failure(asked, status, `Incorrect API key: ${key}. The header was: Authorization: Bearer ${key}`, {
        "x-echo-key": key,
        "www-authenticate": `Bearer realm="${key}"`,
        "x-request-id": key,
      });
    },
  };
}

const CONTROLS: Record<string, Attack> = {
  "ok": { does: "answers", answer: (asked) => says(asked, "all good") },
  "ok-tools": {
    does: "one call, then an answer",
    answer: (asked) => asked.nth > 0 ? says(asked, "tool done") : calls(asked, call(asked.tool, "{}")),
  },
  "ok-odd-framing": {
    does: "valid but unusual: byte order mark, CRLF, no blank behind the colon, unknown fields, 7 bytes a packet",
    answer(asked) {
      const text = "\ufeff: hello\n\n" + reply(asked, [{ text: ["all good €"] }]);
      const odd = text.replaceAll("event: ", "event:").replaceAll("data: ", "id: 7\nretry: 10\nfoo: bar\ndata:");
      const bytes = new TextEncoder().encode(odd.replaceAll("\n", "\r\n"));
      return { body: Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.subarray(7 * i, 7 * i + 7)) };
    },
  },
  "sse-as-json": {
    does: "a stream labelled as JSON",
    answer: (asked) => ({ ...says(asked, "all good"), headers: { "content-type": "application/json" } }),
  },
  "json-for-stream": {
    does: "one JSON document where a stream was asked for",
    answer: (asked) => whole(200, "application/json", document(asked, "all good")),
  },
  "status-weird": {
    does: "status 299",
    answer: (asked) => whole(299, "application/json", document(asked, "all good")),
  },
  "escape-tool": {
    does: "a call with terminal escapes in id and arguments, then an answer",
    answer(asked) {
      const input = JSON.stringify({ path: ESCAPES, "\x1b[31mkey": "v" });
      return asked.nth > 0 ? says(asked, "tool done") : calls(asked, call(asked.tool, input, "call_\x1b[31m1"));
    },
  },
  "set-cookie": {
    does: "a cookie in the first reply of two",
    answer: (asked) =>
      asked.nth > 0
        ? says(asked, "tool done")
        : { ...calls(asked, call(asked.tool, "{}")), headers: { "set-cookie": "track=me; Path=/" } },
  },
};

const ENDLESS: Record<string, Attack> = {
  "endless-no-newline": {
    does: "one line without end",
    answer: (asked) => ({ body: chain(textDelta(asked, "")[0], forever("A".repeat(64 * KiB))) }),
  },
  "endless-comments": { does: "comments", answer: () => ({ body: forever(": keep-alive\n\n".repeat(2000)) }) },
  "endless-comments-slow": {
    does: "a comment now and then",
    answer: () => ({ body: forever(": keep-alive\n\n", 50) }),
  },
  "endless-pings": { does: "pings, or chunks without a choice", answer: (asked) => pings(asked, 1000) },
  "endless-pings-slow": { does: "a ping now and then", answer: (asked) => pings(asked, 1, 50) },
  "endless-deltas": { does: "text", answer: (asked) => endless(asked, { text: [LOREM] }, 500) },
  "endless-deltas-slow": { does: "a text now and then", answer: (asked) => endless(asked, { text: [LOREM] }, 1, 50) },
  "endless-empty-deltas": { does: "deltas without text", answer: (asked) => endless(asked, { text: ["x", ""] }, 500) },
  "endless-empty-deltas-slow": {
    does: "an empty delta now and then",
    answer: (asked) => endless(asked, { text: ["x", ""] }, 1, 50),
  },
  "endless-data-lines": {
    does: "empty lines of data and never an event: there is no payload to count",
    answer: () => ({ body: forever("data:\n".repeat(10_000)) }),
  },
  "endless-error-body": {
    does: "a 500 whose body has no end",
    answer: () => ({
      status: 500,
      headers: { "content-type": "application/json" },
      body: chain('{"error":{"message":"', forever("A".repeat(64 * KiB))),
    }),
  },
  "endless-thinking": { does: "reasoning", answer: (asked) => endless(asked, { thinking: [LOREM] }, 500) },
  "endless-tool-args": {
    does: "arguments of a call",
    answer: (asked) =>
      endless(asked, { call: { id: "call_1", name: asked.tool, args: ['{"x":"', "A".repeat(16 * KiB)] } }, 1),
  },
  "events-after-done": {
    does: "a complete reply, then ghosts",
    answer: (asked) => ({
      body: chain(reply(asked, [{ text: ["the answer"] }]), forever(textDelta(asked, " GHOST").join(""), 50)),
    }),
  },
};

function pings(asked: Asked, times: number, pauseMs = 0): Answer {
  const ping = isOpenAi(asked) ? event({ id: "r", choices: [] }) : event({ type: "ping" }, "ping");
  const [begin = ""] = asked.writer.events({ parts: [], end: "cut" });
  return { body: chain(begin, forever(ping.repeat(times), pauseMs)) };
}

const ENCODINGS: Record<string, Attack> = {
  "gzip-bomb": bomb("gzip"),
  "deflate-bomb": bomb("deflate"),
  "br-bomb": bomb("br"),
  "zstd-bomb": bomb("zstd"),
  "encoding-lie": {
    does: "says gzip and is not",
    answer: (asked) => ({ ...says(asked, "plain"), headers: { "content-encoding": "gzip" } }),
  },
};

const TRANSPORT: Record<string, Attack> = {
  "stall-before-headers": { does: "accepts, then nothing", answer: () => ({ head: false, body: "", end: "open" }) },
  "slow-drip": {
    does: "the head, a letter at a time",
    answer: () => ({
      head: false,
      body: slowly(`HTTP/1.1 200 OK\r\nx-filler: ${"z".repeat(2000)}\r\n`, 100),
      end: "open",
    }),
  },
  "slow-drip-body": {
    does: "the body, a letter at a time: never idle, never done",
    answer: (asked) => ({ body: slowly(textDelta(asked, "z".repeat(9000)).join(""), 50), end: "open" }),
  },
  "stall-mid-stream": {
    does: "some text, then silence",
    answer: (asked) => ({ body: reply(asked, [{ text: ["before the stall"] }], "cut"), end: "open" }),
  },
  "stall-after-done": {
    does: "a complete reply on a connection that stays open",
    answer: (asked) => ({ ...says(asked, "complete"), end: "open" }),
  },
  "no-response": { does: "closes without a byte", answer: () => ({ head: false, body: "" }) },
  "reset-before-headers": { does: "resets without a byte", answer: () => ({ head: false, body: "" }), resets: true },
  "reset-mid-stream": {
    does: "resets behind some text",
    answer: (asked) => ({ body: chain(reply(asked, [{ text: ["before the reset"] }], "cut"), 100), end: "cut" }),
    resets: true,
  },
  "early-close": {
    does: "closes inside a chunked body",
    answer: (asked) => ({ body: reply(asked, [{ text: ["before the close"] }], "cut"), end: "cut" }),
  },
  "missing-done": {
    does: "ends well, but without a finish word or end mark",
    answer: (asked) => ({ body: reply(asked, [{ text: ["half an ans"] }], "cut") }),
  },
  "cut-tool-call": {
    does: "ends well, inside the arguments of a call",
    answer: (asked) => ({ body: reply(asked, [call(asked.tool, '{"path":"/important","mode":"del')], "cut") }),
  },
  "empty-200": { does: "200 and nothing", answer: () => whole(200, "text/event-stream", "") },
  "content-length-lie": {
    does: "promises a megabyte, and closes behind some text",
    answer: (asked) => ({
      headers: { "content-length": "1000000" },
      body: [reply(asked, [{ text: ["liar"] }], "cut"), 100],
    }),
  },
  "content-length-lie-long": {
    does: "sends more than it promises",
    answer: (asked) => ({ headers: { "content-length": "40" }, body: reply(asked, [{ text: ["liar"] }]) }),
  },
  "truncated-utf8": {
    does: "ends inside a character",
    answer(asked) {
      const bytes = new TextEncoder().encode(textDelta(asked, "cut \u{1f600}").join(""));
      return { body: [bytes.subarray(0, bytes.indexOf(0xf0) + 2)] };
    },
  },
  "invalid-utf8": {
    does: "bytes that are no UTF-8 inside valid events",
    answer(asked) {
      const bad = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x28]];
      const [before, after] = textDelta(asked, "");
      return { body: between(asked, bad.flatMap((bytes) => [before, Uint8Array.from(bytes), after])) };
    },
  },
  "lone-surrogates": {
    does: "halves of surrogate pairs, as JSON escapes",
    answer: (asked) => ({
      body: between(asked, ["\\ud83d", "\\ude00 and \\udfff"].map((half) => textDelta(asked, half).join(""))),
    }),
  },
  "garbage-bytes": {
    does: "256 KiB of noise",
    answer({ scale }) {
      let state = 0x9e3779b9;
      const noise = Uint8Array.from({ length: scale(256) * KiB }, () => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return state;
      });
      return { body: [noise] };
    },
  },
  "garbage-http": { does: "no HTTP", answer: () => ({ head: false, body: "\0\x01 no HTTP \x1b]0;pwn\x07\r\n\r\n" }) },
  "header-bomb": {
    does: "a head without end",
    answer: () => ({ head: false, body: chain("HTTP/1.1 200 OK\r\n", forever(`x-filler: ${"a".repeat(1000)}\r\n`)) }),
  },
  "informational-flood": {
    does: "1xx responses without end",
    answer: () => ({ head: false, body: forever("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(1000)) }),
  },
  "wrong-content-type": {
    does: "a page",
    answer: () =>
      whole(200, "text/html; charset=utf-8", "<!doctype html><script>alert(1)</script><h1>Sign in \x1b]0;x\x07</h1>"),
  },
  "many-tiny-writes": {
    does: "one long line, a byte a packet",
    answer(asked) {
      const [before, after] = textDelta(asked, "");
      const body = Array(asked.scale(4) * KiB).fill("A");
      return { body: between(asked, [before, ...body, after]) };
    },
  },
};

/** Pieces in the place of the text of a reply. */
function between({ writer }: Asked, pieces: Iterable<Piece>): Iterable<Piece> {
  const [, ...rest] = writer.events({ parts: [{ text: ["x"] }], end: "end_turn" });
  const isDelta = rest.findIndex((event) => event.includes('"x"'));
  const [begin = ""] = writer.events({ parts: [], end: "cut" });
  return chain(begin, rest.slice(0, isDelta), pieces, rest.slice(isDelta + 1));
}

const SHAPES: Record<string, Attack> = {
  "huge-event": {
    does: "one valid event of 64 MiB",
    answer(asked) {
      const [before, after] = textDelta(asked, "");
      const body = Array(asked.scale(64) * 16).fill("A".repeat(64 * KiB));
      return { body: between(asked, [before, ...body, after]) };
    },
  },
  "million-blocks": {
    does: "a million blocks",
    answer: (asked) => ({
      body: chain(
        asked.writer.events({ parts: [], end: "cut" }),
        blocks(asked, asked.scale(1_000_000)),
        reply(asked, []),
      ),
    }),
  },
  "sparse-index": {
    does: "indices that are no small numbers",
    answer(asked) {
      const indices = [1e9, 4294967294, -1, 1.5, "0", "__proto__", null, 9007199254740993, 1e300];
      const odd = indices.map((index, i) => oddBlock(asked, index, `call_${i}`)).join("");
      return { body: between(asked, [odd]) };
    },
  },
  "sparse-index-integers": {
    does: "indices that are integers, far apart",
    answer(asked) {
      const odd = [1e9, 4294967294, -1, 0].map((index, i) => oddBlock(asked, index, `call_${i}`)).join("");
      return asked.nth > 0 ? says(asked, "tool done") : { body: between(asked, [odd]) };
    },
  },
  "10k-tool-calls": {
    does: "ten thousand calls in one reply",
    answer: (asked) =>
      calls(asked, ...Array.from({ length: asked.scale(10_000) }, (_, i) => call(asked.tool, "{}", `c${i}`))),
  },
  "33-tool-calls": {
    does: "one call more than a reply may have",
    answer: (asked) => calls(asked, ...Array.from({ length: 33 }, (_, i) => call(asked.tool, "{}", `c${i}`))),
  },
  "infinite-tool-loop": {
    does: "every reply is one more call",
    answer: (asked) => calls(asked, call(asked.tool, "{}", `call_${asked.nth}`)),
  },
  "duplicate-ids": {
    does: "two calls with one id, and one without",
    answer: (asked) =>
      calls(asked, ...["call_same", "call_same", ""].map((id, n) => call(asked.tool, `{"n":${n}}`, id))),
  },
  "deep-json-args": {
    does: "arguments 20,000 levels deep",
    answer(asked) {
      const depth = asked.scale(20_000);
      return calls(asked, call(asked.tool, '{"a":'.repeat(depth) + "1" + "}".repeat(depth)));
    },
  },
  "deep-json-event": {
    does: "an event 20,000 levels deep",
    answer(asked) {
      const deep = "[".repeat(asked.scale(20_000)) + "]".repeat(asked.scale(20_000));
      return { body: between(asked, [textDelta(asked, '"').join("").replace('""', deep)]) };
    },
  },
  "proto-pollution-args": {
    does: "__proto__ and constructor in arguments, and names of tools that every object has",
    answer: (asked) =>
      calls(
        asked,
        call(
          asked.tool,
          '{"__proto__":{"polluted":"yes","toJSON":null},"constructor":{"prototype":{"polluted":"yes"}}}',
        ),
        call("__proto__", "{}", "__proto__"),
        call("constructor", "{}", "constructor"),
        call("toString", "{}", "hasOwnProperty"),
      ),
  },
  "tool-name-injection": {
    does: "names of tools that are shell, path, long; an id that is long",
    answer: (asked) =>
      calls(
        asked,
        call("rm -rf /; \x1b]0;pwn\x07", "{}", "call_1"),
        call("N".repeat(asked.scale(64) * KiB), "{}", "call_2"),
        call("../../etc/passwd", "{}", "call_3"),
        call("no_such_tool", "{}", "I".repeat(asked.scale(64) * KiB)),
      ),
  },
  "tool-without-name": { does: "a call without a name", answer: (asked) => calls(asked, call("", "{}")) },
  "bad-tool-args": {
    does: "arguments that are no JSON object, or two",
    answer: (asked) =>
      calls(
        asked,
        ...BAD_ARGUMENTS.map((text, i) => call(asked.tool, text, `c${i}`)),
        call(asked.tool, "null", "none"),
      ),
  },
  "length-with-tool": {
    does: "a call cut by the output limit",
    answer: (asked) => ({
      body: reply(asked, [call(asked.tool, '{"path":"/data/x","content":"half of')], "max_tokens"),
    }),
  },
  "non-string-fields": {
    does: "values of every other kind",
    answer: (asked) => ({ body: ODD.flatMap((v) => odd(asked, v)) }),
  },
  "non-object-events": {
    does: "events that are no objects, then a valid reply",
    answer(asked) {
      const data = [
        "null",
        "1",
        '"str"',
        "[]",
        "true",
        "{}",
        "",
        " ",
        "{",
        "}{",
        "undefined",
        "[DONE",
        "data: {}",
        "\0",
      ];
      return { body: chain(data.map((text) => event(text)), reply(asked, [{ text: ["survived"] }])) };
    },
  },
  "out-of-order": {
    does: "deltas without a start, two starts, events behind the end",
    answer: (asked) => disorder(asked),
  },
  "think-redos": {
    does: "100,000 opened think tags and 50,000 broken closers",
    answer(asked) {
      const text = "<think>".repeat(asked.scale(100_000)) + " </thin".repeat(asked.scale(100_000) / 2);
      return { body: reply(asked, [{ text: text.match(/[^]{1,8192}/g)! }]) };
    },
  },
  "json-redos": {
    does: "150,000 opened objects",
    answer: (asked) => ({
      body: reply(asked, [{ text: '{"a":'.repeat(asked.scale(150_000)).match(/[^]{1,8192}/g)! }]),
    }),
  },
  "escape-injection": {
    does: "text and reasoning made of terminal escapes, a character a delta",
    answer: (asked) => ({ body: reply(asked, [{ thinking: [...ESCAPES] }, { text: [...ESCAPES] }]) }),
  },
};

function* blocks(asked: Asked, count: number): Iterable<Piece> {
  for (let i = 0; i < count; i += 1000) {
    let batch = "";
    for (let n = i; n < Math.min(i + 1000, count); n++) {
      batch += isOpenAi(asked)
        ? event({ choices: [{ delta: n % 2 ? { content: "x" } : { reasoning_content: "y" } }] })
        : event(block("start", n, { content_block: { type: "text", text: "x" } })) + event(block("stop", n));
    }
    yield batch;
  }
}

function oddBlock(asked: Asked, index: unknown, id: string): string {
  if (!isOpenAi(asked)) {
    return event(block("start", index, { content_block: { type: "text", text: "x" } })) + event(block("stop", index));
  }
  const named = { index, id, type: "function", function: { name: asked.tool, arguments: "{}" } };
  return event({ choices: [{ index: 0, delta: { tool_calls: [named] } }] });
}

function odd(asked: Asked, v: unknown): string[] {
  const json = isOpenAi(asked)
    ? [
      {
        choices: [{ index: 0, delta: { role: v, content: v, reasoning_content: v, tool_calls: v }, finish_reason: v }],
        usage: v,
      },
      { choices: [{ index: v, delta: { tool_calls: [v, { index: v, id: v, function: { name: v, arguments: v } }] } }] },
      { choices: v },
      { choices: [v] },
      { choices: [{ index: 0, delta: v }] },
    ]
    : [
      { type: "message_start", message: v },
      block("start", 0, { content_block: v }),
      block("start", 1, { content_block: { type: "tool_use", id: v, name: v, input: v } }),
      block("delta", 0, { delta: v }),
      block("delta", 0, { delta: { type: "text_delta", text: v } }),
      { type: "message_delta", delta: v, usage: v },
      { type: v },
    ];
  return json.map((one) => event(one));
}

function disorder(asked: Asked): Answer {
  if (!isOpenAi(asked)) {
    const begin = asked.writer.events({ parts: [], end: "cut" });
    const text = { content_block: { type: "text", text: "" } };
    const events = [
      block("delta", 5, { delta: { type: "text_delta", text: "no start" } }),
      block("stop", 9),
      block("start", 0, text),
      block("start", 0, text),
      block("delta", 0, { delta: { type: "input_json_delta", partial_json: "{}" } }),
      { type: "message_stop" },
    ];
    return { body: chain(event(events[0]), event(events[1]), begin, events.slice(2).map((one) => event(one)), begin) };
  }
  const delta = (call: object, fn: object) => ({ tool_calls: [{ ...call, function: fn }] });
  const deltas = [
    delta({ index: 0 }, { arguments: '{"a"' }),
    delta({ index: 1, id: "b" }, { name: asked.tool, arguments: "{" }),
    delta({ index: 0, id: "a" }, { name: asked.tool, arguments: ":1}" }),
    delta({ index: 1 }, { arguments: "}" }),
  ];
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason }] });
  return {
    body: [
      ...deltas.map((one) => chunk(one)),
      chunk({}, "stop"),
      chunk({ content: "after finish" }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ],
  };
}

const ERRORS: Record<string, Attack> = {
  "redirect-cross-origin": {
    does: "307 to another port",
    answer: ({ elsewhere, path }) => redirect(`http://${elsewhere}${path}`),
  },
  "redirect-cross-host": {
    does: "307 to another host",
    answer: ({ elsewhere, path }) =>
      redirect(`http://${elsewhere.replace("127.0.0.1", "localhost")}${path}?key=secret-query`),
  },
  "redirect-same-origin": { does: "307 on the same origin", answer: ({ path }) => redirect(`/ok${path}`) },
  "redirect-loop": { does: "307 to itself", answer: ({ path }) => redirect(`/redirect-loop${path}`) },
  "redirect-file": { does: "307 to a file", answer: () => redirect("file:///etc/passwd") },
  "key-echo": keyEcho(401, "as it is", (key) => key),
  "key-echo-b64": keyEcho(401, "in base64", btoa),
  "key-echo-url": keyEcho(
    403,
    "percent-encoded",
    (key) => Array.from(key, (c) => `%${c.charCodeAt(0).toString(16)}`).join(""),
  ),
  "key-echo-half": keyEcho(401, "by half", (key) => `${key.slice(0, key.length / 2)}...`),
  "key-echo-400": keyEcho(400, "as it is", (key) => key),
  "key-echo-400-b64": keyEcho(400, "in base64", (key) => btoa(`x${key}`)),
  "key-echo-400-url": keyEcho(422, "percent-encoded", (key) => encodeURIComponent(key).replace("-", "%2D")),
  "key-echo-400-half": keyEcho(404, "by half", (key) => `${key.slice(0, key.length / 2)}...`),
  "key-echo-400-spaced": keyEcho(409, "spaced", (key) => [...key].join(" ")),
  "key-echo-stream": {
    does: "an error inside a stream that repeats the key",
    answer: (asked) => ({
      body: reply(asked, [], {
        type: "api_error",
        code: 500,
        message: `upstream refused ${asked.key} ${btoa(asked.key)}`,
      }),
    }),
  },
  "error-in-stream": {
    does: "text, then an error",
    answer: (asked) => ({
      body: reply(asked, [{ text: ["partial answer"] }], {
        type: "overloaded_error",
        code: 529,
        message: "full \x1b]0;pwn\x07",
      }),
    }),
  },
  "html-500": {
    does: "a page of 250 KiB as an error",
    answer: () =>
      whole(500, "text/html", `<html><body>${"<p>stack trace \x1b[31m at /srv/app.py</p>".repeat(5000)}</body></html>`),
  },
  "escape-error": {
    does: "a 400 of half a megabyte of terminal escapes",
    answer: (asked) => failure(asked, 400, `${ESCAPES} ${"E".repeat(asked.scale(512) * KiB)}`),
  },
  "escape-error-short": { does: "a 400 of terminal escapes", answer: (asked) => failure(asked, 400, ESCAPES) },
  "retry-after-huge": {
    does: "429 that asks to wait for 31 years",
    answer: (asked) =>
      failure(asked, 429, "slow down", {
        "retry-after": "999999999",
        "retry-after-ms": "1e15",
        "x-should-retry": "true",
      }),
  },
  "429-forever": {
    does: "429 that asks for haste, every time",
    answer: (asked) => failure(asked, 429, "slow down", { "retry-after": "0", "x-should-retry": "true" }),
  },
  "500-forever": {
    does: "500, every time",
    answer: (asked) => failure(asked, 500, "again", { "x-should-retry": "true" }),
  },
  "auth-challenge": {
    does: "401 that asks for a password",
    answer: (asked) =>
      failure(asked, 401, "who are you", { "www-authenticate": 'Basic realm="give me your password"' }),
  },
};

/** Every row, by the name that the path says. */
export const ATTACKS: Record<string, Attack> = {
  ...CONTROLS,
  ...ENDLESS,
  ...ENCODINGS,
  ...SHAPES,
  ...TRANSPORT,
  ...ERRORS,
};
