/**
 * Attacks by size: what has no end, and what unfolds.
 * @module
 */
import { Buffer } from "node:buffer";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { type Answer, type Asked, type Attack, says } from "./endpoint.ts";
import { chain, endless, event, forever, isOpenAi, KiB, LOREM, MiB, reply, textDelta, whole } from "./wording.ts";

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

function pings(asked: Asked, times: number, pauseMs = 0): Answer {
  const ping = isOpenAi(asked) ? event({ id: "r", choices: [] }) : event({ type: "ping" }, "ping");
  const [begin = ""] = asked.writer.events({ parts: [], end: "cut" });
  return { body: chain(begin, forever(ping.repeat(times), pauseMs)) };
}

/** Replies without an end. */
export const ENDLESS: Record<string, Attack> = {
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

/** Encodings that unfold, or lie. */
export const ENCODINGS: Record<string, Attack> = {
  "gzip-bomb": bomb("gzip"),
  "deflate-bomb": bomb("deflate"),
  "br-bomb": bomb("br"),
  "zstd-bomb": bomb("zstd"),
  "encoding-lie": {
    does: "says gzip and is not",
    answer: (asked) => ({ ...says(asked, "plain"), headers: { "content-encoding": "gzip" } }),
  },
};
