/**
 * What the hostile endpoint does: every attack that was thought of, and controls that a client must pass.
 * @module
 */
import { ESCAPES, SHAPES } from "./attacks_by_shape.ts";
import { ENCODINGS, ENDLESS } from "./attacks_by_size.ts";
import { TRANSPORT } from "./attacks_on_transport.ts";
import { type Attack, says } from "./endpoint.ts";
import { call, calls, document, failure, KiB, redirect, reply, whole } from "./wording.ts";

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
