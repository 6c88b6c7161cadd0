import { assert, assertEquals } from "@std/assert";
import { createRedactor } from "../../src/text/redact.ts";
import { assertQuick, flood, seeded } from "./support.ts";

const KEY = "sk-canary-0123456789abcdef";
const ODD = "p4ss/word+with=Signs&?~é";
/** Its base64url has both marks in it. */
const MARKS = "?>?>?>?>?>~~";

function percent(text: string, some: (i: number) => boolean, lower = false): string {
  return [...text].map((character, i) => {
    const escape = Array.from(
      new TextEncoder().encode(character),
      (byte) => "%" + byte.toString(16).padStart(2, "0").toUpperCase(),
    ).join("");
    return some(i) ? lower ? escape.toLowerCase() : escape : character;
  }).join("");
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

function base64url(text: string): string {
  return base64(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

Deno.test("createRedactor covers a key in every spelling", () => {
  assert(base64url(MARKS).includes("-") && base64url(MARKS).includes("_"));
  const redact = createRedactor([KEY, ODD, MARKS]);
  const rows: Array<[text: string, redacted: string]> = [
    [`key: ${KEY}.`, "key: [redacted]."],
    [KEY, "[redacted]"],
    [KEY + KEY, "[redacted]"],
    [`${KEY} ${KEY}`, "[redacted] [redacted]"],
    [`${KEY}, ${ODD}`, "[redacted], [redacted]"],
    [`Bearer ${KEY}`, "Bearer [redacted]"],
    [`"${base64(KEY)}"`, '"[redacted]"'],
    [`(${base64url(ODD)})`, "([redacted])"],
    [`(${base64url(MARKS)})`, "([redacted])"],
    [`(${base64(MARKS)})`, "([redacted])"],
    [`http://h/?key=${encodeURIComponent(ODD)}&x=1`, "http://h/?key=[redacted]&x=1"],
    [`<${percent(KEY, () => true)}>`, "<[redacted]>"],
    [`<${percent(KEY, () => true, true)}>`, "<[redacted]>"],
    [`<${percent(KEY, (i) => i % 3 === 1, true)}>`, "<[redacted]>"],
    [`<${percent(ODD, () => true)}>`, "<[redacted]>"],
    [`<${percent(ODD, (i) => i % 2 === 0)}>`, "<[redacted]>"],
    [`<${percent(base64(ODD), () => true)}>`, "<[redacted]>"],
    [`${KEY.slice(0, 13)}...`, "[redacted]..."],
    [`…${KEY.slice(5, 13)}…`, "…[redacted]…"],
    [`provided: ${[...KEY].join(" ")}. Header`, "provided: [redacted]. Header"],
    [`${KEY.slice(0, 9)}\n${KEY.slice(9)}`, "[redacted]"],
  ];
  for (const [text, redacted] of rows) assertEquals(redact(text), redacted, text);
});

Deno.test("createRedactor takes no percent sign for an escape that is none", () => {
  for (const key of ["abcdefg%4", "longer-than-that%4", "c0c%-X%9 9/:_%", "%zz%4g%%41%-1"]) {
    assertEquals(createRedactor([key])(`key: ${key}.`), "key: [redacted].", key);
  }
});

Deno.test("createRedactor covers every eight characters of a key, in base64 at every alignment too", () => {
  const redact = createRedactor([KEY, ODD]);
  for (const key of [KEY, ODD]) {
    for (let from = 0; from + 8 <= key.length; from++) {
      for (let to = from + 8; to <= key.length; to++) {
        const part = key.slice(from, to);
        assertEquals(redact(`^^${part}^^`), "^^[redacted]^^", part);
        for (const before of ["", "u", "us", "usr", "user", "user:"]) {
          for (const behind of ["", "x", "xy"]) {
            const whole = base64(before + part + behind);
            const left = redact(`^${whole}^`);
            // Only what also holds bits of the neighbours may stay.
            const [head = "", tail = ""] = left.split("[redacted]");
            const bits = 8 * new TextEncoder().encode(before).length;
            assert(head.length <= 1 + Math.ceil(bits / 6), `${left} of ${whole}`);
            const known = Math.floor((bits + 8 * new TextEncoder().encode(part).length) / 6);
            assert(left !== `^${whole}^` && tail.length <= whole.length - known + 1, `${left} of ${whole}`);
          }
        }
      }
    }
  }
});

Deno.test("createRedactor leaves shorter parts, other text and placeholders alone", () => {
  const redact = createRedactor([KEY, ODD, "ollama", "", "1234567"]);
  const texts = [
    "",
    "ollama 1234567",
    `${KEY.slice(0, 7)} and ${KEY.slice(9, 16)}`,
    `${ODD.slice(0, 7)}X${ODD.slice(7, 14)}`,
    "100 % of %zz and %4",
    "ordinary text — with 日本語, émojis 👩‍🚀 and\n\nlines",
    base64("nothing to see here, move along please"),
  ];
  for (const text of texts) assertEquals(redact(text), text, text);
  assertEquals(createRedactor([])(`plain ${"x".repeat(100)}`), `plain ${"x".repeat(100)}`);
});

Deno.test("createRedactor covers what looks like a key, whosever it is", () => {
  const redact = createRedactor([]);
  const rows: Array<[text: string, redacted: string]> = [
    ["provided: sk-proj-Ab12Cd34Ef56, see", "provided: sk-[redacted], see"],
    ["sk-abcdefghijklmnopqrstuv", "sk-[redacted]"],
    ["authorization: Bearer eyJhbGciOiJI.eyJzdWIi.SflKxw_-= x", "authorization: Bearer [redacted] x"],
    ["bearer\tabc123def456", "bearer\t[redacted]"],
    ["BEARER abcdefghijklmnopqrstuvwxyz", "BEARER [redacted]"],
    ["--proxy-bearer abc123def456", "--proxy-bearer [redacted]"],
    ["Bearer authentication failed", "Bearer authentication failed"],
    ["Bearer token", "Bearer token"],
    ["class sk-fading-circle and sk-circle10", "class sk-fading-circle and sk-circle10"],
    ["risk-Management2025 task-SCHEDULER-01", "risk-Management2025 task-SCHEDULER-01"],
  ];
  for (const [text, redacted] of rows) assertEquals(redact(text), redacted, text);
});

/** Covers what stands in the text character by character. */
function slowRedact(text: string, secret: string): string {
  const covered = Array.from(text, () => false);
  for (let i = 0; i + 8 <= text.length; i++) {
    if (secret.includes(text.slice(i, i + 8))) covered.fill(true, i, i + 8);
  }
  let result = "";
  for (let i = 0; i < text.length; i++) {
    if (!covered[i]) result += text[i];
    else if (!covered[i - 1]) result += "[redacted]";
  }
  return result;
}

Deno.test("createRedactor agrees with a slow search on random texts", () => {
  const random = seeded(11);
  const letters = "abc";
  for (let round = 0; round < 20_000; round++) {
    const secret = Array.from({ length: 8 + random(12) }, () => letters[random(3)]).join("");
    let text = "";
    while (text.length < 60) {
      const from = random(secret.length);
      text += random(2) === 0 ? letters[random(3)] : secret.slice(from, from + random(14));
    }
    assertEquals(createRedactor([secret])(text), slowRedact(text, secret), JSON.stringify({ secret, text }));
  }
});

Deno.test("createRedactor is linear in the text", () => {
  const redact = createRedactor([KEY, "a".repeat(64), ODD]);
  const pieces = [
    "a",
    KEY,
    [...KEY].join(" "),
    "%",
    "%2d",
    "%61",
    " ",
    "sk-",
    "sk-a",
    "Bearer ",
    "Bearer a",
    "plain text\n",
  ];
  for (const piece of pieces) assertQuick(piece, () => void redact(flood(piece)));
});
