import { assert, assertEquals } from "@std/assert";
import {
  createInputScan,
  type InputScan,
  normalizeInput,
  parse,
  repairEscapes,
} from "../../src/provider/tool_input.ts";

/** Feeds a text in two pieces; `ask` is called behind each. Says also whether it was too long at last. */
function scan(text: string, cut = text.length, maxBytes = Infinity, ask: (scan: InputScan) => void = () => {}) {
  const raw = { input: "" }, scan = createInputScan(raw);
  let isTooLong = false;
  for (const piece of [text.slice(0, cut), text.slice(cut)]) {
    isTooLong = scan.exceeds(maxBytes, piece);
    raw.input += piece;
    ask(scan);
  }
  return { ...scan, isTooLong };
}

Deno.test("createInputScan tells when one object is complete, however it is cut", () => {
  const rows: [string, boolean][] = [
    ["", false],
    ["  ", false],
    ["{}", true],
    [' {"a":1}\n', true],
    ['{"a":"}"}', true],
    ['{"a":"\\"}"}', true],
    ['{"a":"\\\\"}', true],
    ['{"a":[{}]}', true],
    ['{"a":1', false],
    ['{"a":"', false],
    ['{}{"a":1}', true],
    ['{ } {"a":1', false],
    ['{"a":1}{"b":2}', false],
    ['{"a":1} x', false],
    ['x {"a":1}', false],
    ["[1]", false],
    ['"{}"', false],
    ["null", false],
  ];
  for (const [text, complete] of rows) {
    for (let cut = 0; cut <= text.length; cut++) {
      assertEquals(scan(text, cut).isComplete(), complete, `${text} cut at ${cut}`);
      const asked = scan(text, cut, Infinity, (scan) => scan.isComplete());
      assertEquals(asked.isComplete(), complete, `${text} cut at ${cut}, asked at once`);
    }
  }
});

Deno.test("createInputScan counts UTF-8 bytes, however they are cut", () => {
  const text = '{"é":"漢🚀"}', bytes = new TextEncoder().encode(text).length;
  for (let cut = 0; cut <= text.length; cut++) {
    for (const ask of [() => {}, (scan: InputScan) => scan.isOpen()]) {
      assert(scan(text, cut, bytes - 1, ask).isTooLong && !scan(text, cut, bytes, ask).isTooLong);
    }
  }
});

Deno.test("createInputScan says what is still open", () => {
  assert(scan('{"a":1').isOpen() && scan('"{').isOpen() && scan("[").isOpen());
  assert(!scan("{}").isOpen() && !scan('"x"').isOpen() && !scan("").isOpen() && !scan("nul").isOpen());
});

Deno.test("normalizeInput: no arguments are an empty object", () => {
  for (const raw of ["", "  ", "null", ' "null" ', '""', "```json\n```"]) {
    assertEquals(normalizeInput(raw), { input: "{}" }, raw);
  }
});

Deno.test("normalizeInput keeps a valid object as the raw text", () => {
  for (
    const raw of ["{}", ' {"a":1}\n', '{"n":12345678901234567890}', '{"__proto__":{"x":1}}', '{"a":"\\ud83d\\ude80"}']
  ) {
    assertEquals(normalizeInput(raw), { input: raw, value: JSON.parse(raw) });
  }
});

Deno.test("normalizeInput removes an empty object before the real one, one string layer, one code fence", () => {
  const object = '{"city":"Oslo"}';
  for (
    const raw of [
      "{}" + object,
      "{ }\n" + object,
      JSON.stringify(object),
      "```json\n" + object + "\n```",
      "```" + object + "```",
    ]
  ) {
    assertEquals(normalizeInput(raw), { input: object, value: JSON.parse(object) }, raw);
  }
});

Deno.test("normalizeInput marks everything else invalid and keeps the raw text", () => {
  const object = '{"a":1}';
  for (
    const raw of [
      object + object,
      "{}" + object + object,
      "[1]",
      "1",
      "true",
      '"text"',
      JSON.stringify(JSON.stringify(object)),
      '{"a":1',
      '{"a":"\n"}',
      "{'a':1}",
      "x",
      "```json\n" + object + object + "```",
      "``` " + object,
    ]
  ) assertEquals(normalizeInput(raw), { input: raw, invalid: true }, raw);
});

Deno.test("normalizeInput stays linear on a megabyte of blank space, fences and empty objects", () => {
  for (const unit of ["\n", " ", "{}", "``` ", '""', "{ }\n", "\\ud83d"]) {
    const raw = "```" + unit.repeat(1_000_000 / unit.length) + "x";
    normalizeInput(raw);
    normalizeInput(raw.slice(3));
  }
});

Deno.test("repairEscapes replaces lone surrogates only, whatever surrounds them", () => {
  const rows: [string, string][] = [
    ['{"a":"\\ud83d"}', '{"a":"\\ufffd"}'],
    ['"\\uD83D\\uDE80"', '"\\uD83D\\uDE80"'],
    ['"\\ude80\\ud83d"', '"\\ufffd\\ufffd"'],
    ['"\\ud83d\\ud83d\\ude80"', '"\\ufffd\\ud83d\\ude80"'],
    ['"\\\\ud83d"', '"\\\\ud83d"'],
    ['"\\\\\\ud83d"', '"\\\\\\ufffd"'],
    ['"plain"', '"plain"'],
  ];
  for (const [json, repaired] of rows) {
    assertEquals(repairEscapes(json), repaired, json);
    assert(JSON.parse(repaired) as { a?: string } | string, json);
  }
});

Deno.test("parse gives own properties only, and nothing for text that is no JSON", () => {
  assertEquals(parse("{"), undefined);
  const input = parse('{"__proto__":{"polluted":1}}');
  assertEquals(Object.keys(input as object), ["__proto__"]);
  assertEquals(({} as { polluted?: 1 }).polluted, undefined);
});
