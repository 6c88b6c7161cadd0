/**
 * Attacks on the transport: stalls, cuts, bytes that are none of what was promised.
 * @module
 */
import { type Attack, says } from "./endpoint.ts";
import { between, call, chain, forever, KiB, reply, slowly, textDelta, whole } from "./wording.ts";

/** Connections that do not do what HTTP asks. */
export const TRANSPORT: Record<string, Attack> = {
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
