import { assert, assertEquals, assertThrows } from "@std/assert";
import { isPawlError } from "../../src/model/error.ts";
import { decodeJsonObject } from "../../src/text/json_object.ts";
import { stripReasoning } from "../../src/text/reasoning.ts";
import { assertQuick, flood, type Random, seeded } from "./support.ts";

/** The object as JSON, or the code of the error. */
function decoded(text: string): string {
  try {
    return JSON.stringify(decodeJsonObject(text));
  } catch (error) {
    if (!isPawlError(error)) throw error;
    return error.code;
  }
}

const RIG: ReadonlyArray<[name: string, text: string, result: string]> = [
  [
    "think block with braces before the reply",
    '<think>A title. Maybe {"title": something} fits.</think>\n{"title":"real"}',
    '{"title":"real"}',
  ],
  [
    "prose with braces around the reply",
    'Here is the card (schema: {title, desc}):\n{"title":"real"}\nLet me know!',
    '{"title":"real"}',
  ],
  [
    "fenced reply after a think block",
    '<think>brace test {</think>\n```json\n{"title":"real"}\n```',
    '{"title":"real"}',
  ],
  ["a draft inside the think block is not the reply", '<think>{"title":"draft"}</think>', "not_json"],
  ["think block with no reply at all", "<think>still thinking</think>", "not_json"],
  ["braces that never parse", "reasoning { with braces } and no object", "invalid_json"],
  [
    "consumed opening think tag",
    'The user wants a card. Sketch: {"title":"sketch"}. Refine it.</think>\n{"title":"real"}',
    '{"title":"real"}',
  ],
  [
    "untagged reasoning sketch before a longer reply",
    'The shape is {"title":"sketch"}. Final answer:\n{"title":"real","desc":"the actual card"}',
    '{"title":"real","desc":"the actual card"}',
  ],
  [
    "the reply contains what was sketched",
    'One story looks like {"stories":[{"title":"example"}]}.</think>\n{"stories":[{"title":"a"},{"title":"b"},{"title":"c"}]}',
    '{"stories":[{"title":"a"},{"title":"b"},{"title":"c"}]}',
  ],
  [
    "title and priority after a think block",
    '<think>Something like {"title": ...}.</think>\n{"title":"Add rate limiting","prio":2}',
    '{"title":"Add rate limiting","prio":2}',
  ],
];

const MORE: ReadonlyArray<[text: string, result: string]> = [
  ["", "not_json"],
  ["null", "not_json"],
  ["[1,2]", "not_json"],
  ['"a"', "not_json"],
  ["}", "not_json"],
  ["{", "invalid_json"],
  ['"{"', "invalid_json"],
  ["{}", "{}"],
  [" \n{}\t", "{}"],
  ["[{}]", "{}"],
  ['[{"a":1},{"b":22}]', '{"b":22}'],
  ['{"a":1}{"b":2}', '{"a":1}'],
  ['{"a":1} {"b":22}', '{"b":22}'],
  ['{"a":1,"a":2}', '{"a":2}'],
  ['{"a":{"b":{"c":1}}', '{"b":{"c":1}}'],
  ['{"a":1,}', "invalid_json"],
  ['{"a":1,"b":{"c":1},}', '{"c":1}'],
  ["{'a':1}", "invalid_json"],
  ['{a:1} {"a":1}', '{"a":1}'],
  ['{"a":01}', "invalid_json"],
  ['{"a":1.}', "invalid_json"],
  ['{"a":-}', "invalid_json"],
  ['{"a":-0.5e+3}', '{"a":-500}'],
  ['{"a":tru}', "invalid_json"],
  ['{"a":[true,false,null,[],{}]}', '{"a":[true,false,null,[],{}]}'],
  ['{"a":[1,]}', "invalid_json"],
  ['{"a":"\n"}', "invalid_json"],
  ['{"a":"\\x"}', "invalid_json"],
  ['{"a":"\\u12g4"}', "invalid_json"],
  ['{"a":"\\"{\\u00e4"}', '{"a":"\\"{ä"}'],
  // An object inside a string counts only where the string turns out to be none.
  ['{"a":"{}"}', '{"a":"{}"}'],
  ['{"a":"{"b":1}"', '{"b":1}'],
  ['{ "a {"b":2}', '{"b":2}'],
  ['say "{"a":1}" or {"a":"{"} now', '{"a":"{"}'],
  // The search goes on behind an object that was read, as rig's does.
  ['{"a":"{"}":"long, long, long"}', '{"a":"{"}'],
  ['x {":{"a":1}, {"b":"}', '{"a":1}'],
  ['\u00a0{"a":1}', '{"a":1}'],
  ['{"a"\u00a0:1}', "invalid_json"],
];

Deno.test("decodeJsonObject gives rig's results on rig's table", () => {
  for (const [name, text, result] of RIG) assertEquals(decoded(text), result, name);
});

Deno.test("decodeJsonObject finds the longest object, or says why not", () => {
  for (const [text, result] of MORE) assertEquals(decoded(text), result, text);
});

Deno.test("decodeJsonObject keeps __proto__ as an own key", () => {
  const value = decodeJsonObject('{"__proto__":{"admin":true},"constructor":1}');
  assertEquals(Object.keys(value), ["__proto__", "constructor"]);
  assertEquals(Object.getPrototypeOf(value), Object.prototype);
  assertEquals(({} as { admin?: unknown }).admin, undefined);
});

Deno.test("decodeJsonObject fails with an error that quotes nothing of the reply", () => {
  for (const text of ["secret", "secret {"]) {
    const error = assertThrows(() => decodeJsonObject(text), Error, "Cannot read the reply as JSON");
    assert(isPawlError(error) && !error.retryable && !error.message.includes("secret"));
  }
});

Deno.test("decodeJsonObject takes 10,000 levels and no more, as rig does", () => {
  function nested(depth: number): string {
    return '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);
  }
  function depthOf(value: unknown): number {
    let depth = 0;
    for (; typeof value === "object" && value !== null; depth++) value = (value as { a?: unknown }).a;
    return depth;
  }
  assertEquals(depthOf(decodeJsonObject(nested(10_000))), 10_000);
  assertEquals(depthOf(decodeJsonObject(nested(10_001))), 10_000);
  assertEquals(depthOf(decodeJsonObject(`{"a":${nested(10_000)},"b":{"c":${nested(9_000)}}}`)), 10_000);
  assertEquals(depthOf(decodeJsonObject(`{"a":[${nested(9_999)}]}`)), 9_999);
  assertEquals(depthOf(decodeJsonObject(`{"a":[${nested(9_998)}]}`)), 2);
});

/** rig's search, as its documents tell it, with `JSON.parse` at every `{` and every end. */
function slowDecode(text: string): string {
  const reply = stripReasoning(text);
  if (!reply.includes("{")) return "not_json";
  let longest = "";
  for (let i = 0; i < reply.length; i++) {
    if (reply[i] !== "{") continue;
    const found = objectAt(reply, i);
    if (found.length > longest.length) longest = found;
    if (found !== "") i += found.length - 1;
  }
  return longest === "" ? "invalid_json" : JSON.stringify(JSON.parse(longest));
}

function objectAt(text: string, at: number): string {
  for (let end = text.indexOf("}", at); end >= 0; end = text.indexOf("}", end + 1)) {
    const candidate = text.slice(at, end + 1);
    try {
      JSON.parse(candidate);
      return candidate;
    } catch (error) {
      assert(error instanceof SyntaxError);
    }
  }
  return "";
}

// deno-fmt-ignore
const PIECES = [
  "{", "}", "{", "}", '"', '"', ":", ",", "[", "]", '"a"', '"b":', '{"a":', '"}', '"{', '{"', '":"', '\\"', "\\", "1", "0", "-", ".5",
  "e1", "true", "null", " ", "\n", "\t", "x", "{}", "[]", '{"a":1}', '"a":1,', "\\u00e4", "\\n", "<think>", "</think>", "```json\n", "é",
];

Deno.test("decodeJsonObject agrees with rig's search on 120,000 random texts", () => {
  const random = seeded(5);
  const seen = new Map<string, number>();
  for (let round = 0; round < 120_000; round++) {
    const few = round % 2 === 0 ? PIECES : Array.from({ length: 5 }, () => PIECES[random(PIECES.length)]!);
    const text = Array.from({ length: 2 + random(22) }, () => few[random(few.length)]!).join("");
    const result = slowDecode(text);
    assertEquals(decoded(text), result, text);
    const kind = result.endsWith("json") ? result : result.length > 7 ? "long" : "short";
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  }
  for (const kind of ["not_json", "invalid_json", "short", "long"]) assert((seen.get(kind) ?? 0) > 300, kind);
});

/** Writes random JSON and then breaks it in a place or two, so that walks get far before they die. */
function brokenJson(random: Random): string {
  function value(depth: number): string {
    switch (random(depth > 3 ? 4 : 7)) {
      case 0:
        return ["1", "-2.5e3", "true", "null"][random(4)]!;
      case 1:
        return JSON.stringify(['{"a":1}', '"{', "{", "}", '\\"{"', "x{y}z"][random(6)]);
      case 2:
        return '"s"';
      case 3:
        return "{}";
      case 4:
        return `[${Array.from({ length: random(3) }, () => value(depth + 1)).join(",")}]`;
      default:
        return `{${
          Array.from({ length: random(4) }, () =>
            `${["", " "][random(2)]}"${["a", "{", "}:"][random(3)]}":${value(depth + 1)}`)
        }}`;
    }
  }
  let text = value(0) + ["", " and ", '"'][random(3)] + value(0);
  for (let cuts = random(3); cuts > 0; cuts--) {
    const at = random(text.length);
    text = text.slice(0, at) + ["", '"', "{", ",", "\\"][random(5)] + text.slice(at + random(2));
  }
  return text;
}

Deno.test("decodeJsonObject agrees with rig's search on 60,000 broken documents", () => {
  const random = seeded(6);
  for (let round = 0; round < 60_000; round++) {
    const text = brokenJson(random);
    assertEquals(decoded(text), slowDecode(text), text);
  }
});

// deno-fmt-ignore
const FLOODS = [
  '{"a":', "{", "}", "[{", '"{', '{"{"', '{"', '\\"{', "{\\", '{"a":"{', '{"a":"{\\"', '{"a":{"', '{"{":', '{"a":[', '{"a":[{"b":1},', "{}", "{},", '{"a":1}',
  '{ "a"  :  ', '{"a":1,', '{"a":11111111', '{"\\u007b', '":{"', '{":"', '{"a":"}"}{', "{{}", '{"a":-', "{ ", "{\n", '{"}":"{":', '"{"a":"', '{"a{":{"b}":"',
];

Deno.test("decodeJsonObject takes some hundredths of a second for a mebibyte of anything", () => {
  const size = 1 << 20;
  const texts = FLOODS.map(flood).flatMap((text) => [text, `{"a":"${text}`, `{"a":${text}`, `[${text}}`]);
  const half = size / 12;
  texts.push('{"a":'.repeat(half) + "1" + "}".repeat(half), '{"a":['.repeat(half) + "]}".repeat(half));
  texts.push(`{"a":"${"{".repeat(size)}"}`, `{"a":${"1".repeat(size)}`, `{"a":${" ".repeat(size)}`);
  // Each takes 10 to 60 ms; the rest is for slow and busy machines.
  for (const text of texts) assertQuick(text.slice(0, 20), () => void decoded(text), 600);
});
