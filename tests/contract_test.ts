/**
 * What pawl relies on in the packages it imports. It runs on whichever import map is active, JSR's packages or the
 * stand-ins in scripts/standins, and is what makes both agree.
 */
import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertIsError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertNotMatch,
  assertNotStrictEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  equal,
  fail,
  unreachable,
} from "@std/assert";
import { parseArgs } from "@std/cli/parse-args";
import { unicodeWidth } from "@std/cli/unicode-width";
import { TextLineStream } from "@std/streams";
import { parse, stringify } from "@std/yaml";
import { Confirm, Input, Secret, Select } from "@cliffy/prompt";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";

/** Whether the assertion lets it pass. A plain throw here: what is under test must not judge itself. */
function verdict(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof AssertionError) return false;
    throw error;
  }
}

function expect(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`${what}: expected ${right}, got ${left}`);
}

class Point {
  readonly x: number;

  constructor(x: number) {
    this.x = x;
  }
}

const EQUALITY: Array<[what: string, a: unknown, b: unknown, same: boolean]> = [
  ["zeros", 0, -0, true],
  ["NaN", NaN, NaN, true],
  ["bigints", 1n, 1n, true],
  ["a number and its text", 1, "1", false],
  ["nested objects, any key order", { a: [1, { b: 2 }], c: 3 }, { c: 3, a: [1, { b: 2 }] }, true],
  ["an undefined key and none", { a: undefined }, {}, false],
  ["two undefined keys of other names", { a: undefined }, { b: undefined }, false],
  ["null and undefined", null, undefined, false],
  ["null-prototype and plain", Object.assign(Object.create(null), { a: 1 }), { a: 1 }, true],
  ["a class instance and a plain object", new Point(1), { x: 1 }, false],
  ["equal instances", new Point(1), new Point(1), true],
  ["an array and an object", [1], { 0: 1 }, false],
  ["arrays of other length", [1], [1, undefined], false],
  ["maps", new Map([[{ k: 1 }, [1]]]), new Map([[{ k: 1 }, [1]]]), true],
  ["other maps", new Map([["k", 1]]), new Map([["k", 2]]), false],
  ["sets", new Set([1, 2]), new Set([2, 1]), true],
  ["other sets", new Set([1]), new Set([2]), false],
  ["dates", new Date(5), new Date(5), true],
  ["patterns", /a/g, /a/i, false],
  ["bytes", new Uint8Array([1, 2]), new Uint8Array([1, 2]), true],
  ["bytes and numbers", new Uint8Array([1]), [1], false],
  ["functions", Math.max, Math.min, false],
  ["symbol keys", { [Symbol.iterator]: 1 }, {}, false],
];

for (const [what, a, b, same] of EQUALITY) {
  Deno.test(`assert: ${what} are ${same ? "" : "not "}equal`, () => {
    expect(equal(a, b), same, "equal");
    expect(verdict(() => assertEquals(a, b)), same, "assertEquals");
    expect(verdict(() => assertNotEquals(a, b)), !same, "assertNotEquals");
  });
}

Deno.test("assert: a circular value ends", () => {
  const [a, b]: Array<{ self?: unknown }> = [{}, {}];
  a!.self = a;
  b!.self = b;
  expect(equal(a, b), true, "equal");
});

const ASSERTIONS: Array<[what: string, passes: boolean, check: () => void]> = [
  ["assert(1)", true, () => assert(1)],
  ["assert(0)", false, () => assert(0)],
  ["assertFalse(0)", true, () => assertFalse(0)],
  ["assertFalse(1)", false, () => assertFalse(1)],
  ["assertExists(0)", true, () => assertExists(0)],
  ["assertExists(null)", false, () => assertExists(null)],
  ["assertStrictEquals of NaN", true, () => assertStrictEquals(NaN, NaN)],
  ["assertStrictEquals of zeros", false, () => assertStrictEquals(0, -0)],
  ["assertNotStrictEquals of objects", true, () => assertNotStrictEquals({}, {})],
  ["assertMatch", true, () => assertMatch("abc", /b/)],
  ["assertMatch without a match", false, () => assertMatch("abc", /d/)],
  ["assertNotMatch", false, () => assertNotMatch("abc", /b/)],
  ["assertStringIncludes", true, () => assertStringIncludes("abc", "bc")],
  ["assertStringIncludes without it", false, () => assertStringIncludes("abc", "x")],
  ["assertArrayIncludes", true, () => assertArrayIncludes([{ a: 1 }, { b: 2 }], [{ b: 2 }])],
  ["assertArrayIncludes without it", false, () => assertArrayIncludes([{ a: 1 }], [{ b: 2 }])],
  ["assertInstanceOf", true, () => assertInstanceOf(new Point(1), Point)],
  ["assertInstanceOf of another", false, () => assertInstanceOf({}, Point)],
  ["assertObjectMatch of a part", true, () => assertObjectMatch({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: 1 } })],
  ["assertObjectMatch of another value", false, () => assertObjectMatch({ a: { b: 1 } }, { a: { b: 2 } })],
  ["assertObjectMatch of an absent key", false, () => assertObjectMatch({ a: 1 }, { a: 1, b: 2 })],
  ["assertGreater", false, () => assertGreater(1, 1)],
  ["assertGreaterOrEqual", true, () => assertGreaterOrEqual(1, 1)],
  ["assertLess", false, () => assertLess(1, 1)],
  ["assertLessOrEqual", true, () => assertLessOrEqual(1, 1)],
  ["assertAlmostEquals", true, () => assertAlmostEquals(0.1 + 0.2, 0.3)],
  ["assertAlmostEquals beyond the tolerance", false, () => assertAlmostEquals(1, 1.2, 0.1)],
  ["assertIsError", true, () => assertIsError(new TypeError("Cannot a b"), TypeError, "a b")],
  ["assertIsError of another class", false, () => assertIsError(new Error("a"), TypeError)],
  ["fail", false, () => fail("no")],
  ["unreachable", false, () => unreachable()],
];

for (const [what, passes, check] of ASSERTIONS) {
  Deno.test(`assert: ${what} ${passes ? "passes" : "fails"}`, () => expect(verdict(check), passes, what));
}

Deno.test("assertThrows: hands the error out, checks class and text, fails without a throw", () => {
  const thrown = new TypeError("Cannot do it: reason");
  const error = assertThrows(
    () => {
      throw thrown;
    },
    TypeError,
    "reason",
  );
  expect(error === thrown, true, "the error itself");
  expect(verdict(() => assertThrows(() => 1)), false, "no throw");
  expect(verdict(() => assertThrows(() => JSON.parse("{"), TypeError)), false, "another class");
  expect(verdict(() => assertThrows(() => JSON.parse("{"), SyntaxError, "xyz")), false, "another text");
});

Deno.test("assertRejects: hands the reason out, refuses a throw that is no rejection", async () => {
  const reason = new RangeError("out");
  const error = await assertRejects(() => Promise.reject(reason), RangeError, "out");
  expect(error === reason, true, "the reason itself");
  for (
    const fn of [() => Promise.resolve(), () => {
      throw reason;
    }]
  ) {
    const outcome = await assertRejects(fn).then(() => "passes", (problem) => problem instanceof AssertionError);
    expect(outcome, true, "an AssertionError");
  }
});

type Options = NonNullable<Parameters<typeof parseArgs>[1]>;

const PARSED: Array<[what: string, args: string[], options: Options, expected: Record<string, unknown>]> = [
  ["positionals become numbers", ["a", "7", "0x10"], {}, { _: ["a", 7, 16] }],
  ["positionals stay text with string _", ["7", "1e3"], { string: ["_"] }, { _: ["7", "1e3"] }],
  ["values become numbers unless named", ["--a=7", "--b", "8"], { string: ["b"] }, { a: 7, b: "8", _: [] }],
  ["a named string without a value is empty", ["--a"], { string: ["a"] }, { a: "", _: [] }],
  ["a named string does not take an option", ["--a", "--b"], { string: ["a"], boolean: ["b"] }, {
    a: "",
    b: true,
    _: [],
  }],
  ["a value may begin with a minus behind =", ["--a=-5"], { string: ["a"] }, { a: "-5", _: [] }],
  ["an empty argument is no value", ["--a", ""], { string: ["a", "_"] }, { a: "", _: [""] }],
  ["an empty value behind =", ["--a="], { string: ["a"] }, { a: "", _: [] }],
  ["a value keeps = and line ends", ["--a=b=c\nd"], { string: ["a"] }, { a: "b=c\nd", _: [] }],
  ["--no-tools is a key of its own", ["--no-tools"], { string: ["tool"] }, { "no-tools": true, _: [] }],
  ["--no-tools may be named", ["--no-tools", "x"], { boolean: ["no-tools"] }, { "no-tools": true, _: ["x"] }],
  ["a negatable one is false", ["--no-color"], { boolean: ["color"], negatable: ["color"] }, { color: false, _: [] }],
  ["a boolean takes no value but true and false", ["--a", "x", "--b", "false"], { boolean: ["a", "b"] }, {
    a: true,
    b: false,
    _: ["x"],
  }],
  ["a boolean not given is false", [], { boolean: ["a"] }, { a: false, _: [] }],
  ["a boolean with = is true unless false", ["--a=false", "--b=no"], { boolean: ["a", "b"] }, {
    a: false,
    b: true,
    _: [],
  }],
  ["an alias sets both", ["-m", "x"], { string: ["model"], alias: { model: "m" } }, { model: "x", m: "x", _: [] }],
  ["a collected one is a list", ["-t", "a", "--tool", "b"], {
    string: ["tool"],
    collect: ["tool"],
    alias: { tool: "t" },
  }, { tool: ["a", "b"], t: ["a", "b"], _: [] }],
  ["a collected one not given is empty", [], { string: ["tool"], collect: ["tool"] }, { tool: [], _: [] }],
  ["of one not collected the last counts", ["--a", "1", "--a", "2"], { string: ["a"] }, { a: "2", _: [] }],
  ["a default", [], { string: ["a"], default: { a: "d" } }, { a: "d", _: [] }],
  ["grouped letters", ["-qu"], { boolean: ["q", "u"] }, { q: true, u: true, _: [] }],
  ["the last grouped letter takes the value", ["-qm", "x"], { boolean: ["q"], string: ["m"] }, {
    q: true,
    m: "x",
    _: [],
  }],
  ["a letter with = ", ["-m=x"], { string: ["m"] }, { m: "x", _: [] }],
  ["a glued number", ["-n5"], {}, { n: 5, _: [] }],
  ["glued text is letters", ["-mab"], { string: ["m"] }, { m: "", a: true, b: true, _: [] }],
  ["a lone minus is a positional", ["-"], { string: ["_"] }, { _: ["-"] }],
  ["a lone minus is a letter's value", ["-a", "-"], { string: ["a"] }, { a: "-", _: [] }],
  ["all behind -- is positional", ["--", "--a", "-b"], { string: ["_"] }, { _: ["--a", "-b"] }],
  ["-- may be kept apart", ["x", "--", "7"], { "--": true, string: ["_"] }, { _: ["x"], "--": ["7"] }],
  ["stopEarly stops at the first positional", ["run", "--a"], { stopEarly: true, boolean: ["a"] }, {
    a: false,
    _: ["run", "--a"],
  }],
  ["a prototype is out of reach", ["--__proto__", "x", "--constructor", "y"], {}, { _: [] }],
];

for (const [what, args, options, expected] of PARSED) {
  Deno.test(`parseArgs: ${what}`, () => {
    const parsed: Record<string, unknown> = parseArgs(args, options);
    assertEquals({ ...parsed }, expected);
    assertStrictEquals(({} as Record<string, unknown>).x, undefined);
  });
}

Deno.test("parseArgs: unknown sees unnamed options and positionals, false drops them", () => {
  const seen: unknown[] = [];
  const parsed: Record<string, unknown> = parseArgs(["--nope=1", "--known", "v", "word", "-z"], {
    string: ["known", "_"],
    unknown(arg: string, key?: string, value?: unknown) {
      seen.push([arg, key, value]);
      return false;
    },
  });
  assertEquals({ ...parsed }, { known: "v", _: [] });
  assertEquals(seen, [["--nope=1", "nope", "1"], ["word", undefined, undefined], ["-z", "z", true]]);
});

Deno.test("unicodeWidth: columns of text without control sequences", () => {
  for (
    const [text, width] of [
      ["", 0],
      ["hello", 5],
      ["é", 1],
      ["e\u0301", 1],
      ["天地", 4],
      ["ｗ", 2],
      ["한글", 4],
      ["🦕", 2],
      ["✓ ✗ –", 5],
      ["a\tb\x1b", 2],
      ["\u200b", 0],
      ["…", 1],
      ["€", 1],
    ] as const
  ) assertEquals(unicodeWidth(text), width, JSON.stringify(text));
});

const LINES: Array<[what: string, chunks: string[], lines: string[]]> = [
  ["LF and CRLF end a line", ["a\nb\r\nc\n"], ["a", "b", "c"]],
  ["the last line needs no end", ["a\nb"], ["a", "b"]],
  ["empty lines stay", ["\n\na\n\n"], ["", "", "a", ""]],
  ["nothing is no line", ["", ""], []],
  ["a lone CR is text", ["a\rb\n", "c\r"], ["a\rb", "c\r"]],
  ["CRLF may be cut", ["a\r", "\nb"], ["a", "b"]],
  ["a line may be cut anywhere", ["a", "b", "c\nd", "e"], ["abc", "de"]],
];

for (const [what, chunks, lines] of LINES) {
  Deno.test(`TextLineStream: ${what}`, async () => {
    assertEquals(await Array.fromAsync(ReadableStream.from(chunks).pipeThrough(new TextLineStream())), lines);
  });
}

Deno.test("TextLineStream: any text in any chunks gives the lines of the whole", async () => {
  const letters = fc.constantFrom("a", "\n", "\r", "\r\n", "é");
  await fc.assert(fc.asyncProperty(fc.array(fc.array(letters, { maxLength: 4 })), async (parts) => {
    const chunks = parts.map((part) => part.join(""));
    const expected = chunks.join("").split(/\r?\n/);
    if (expected.at(-1) === "") expected.pop();
    assertEquals(await Array.fromAsync(ReadableStream.from(chunks).pipeThrough(new TextLineStream())), expected);
  }));
});

Deno.test("yaml: failsafe knows only text, lists and maps", () => {
  assertEquals(parse("a: 1\nb: yes\nc: null\nd: 2001-01-01\ne: ~\nf: 'x'\n", { schema: "failsafe" }), {
    a: "1",
    b: "yes",
    c: "null",
    d: "2001-01-01",
    e: "~",
    f: "x",
  });
  assertEquals(parse("- a\n- [b, c]\n", { schema: "failsafe" }), ["a", ["b", "c"]]);
});

Deno.test("yaml: core knows null, booleans and numbers", () => {
  assertEquals(parse("a: 1\nb: true\nc: null\nd: 1.5\ne: no\n", { schema: "core" }), {
    a: 1,
    b: true,
    c: null,
    d: 1.5,
    e: "no",
  });
});

Deno.test("yaml: an empty document is null, a byte order mark is dropped", () => {
  assertStrictEquals(parse(""), null);
  assertStrictEquals(parse("# nothing\n"), null);
  assertEquals(parse("\ufeffa: b"), { a: "b" });
});

Deno.test("yaml: block texts are folded and kept as written", () => {
  assertEquals(parse("a: >\n  x\n  y\nb: |\n  x\n  y\n", { schema: "failsafe" }), { a: "x y\n", b: "x\ny\n" });
});

Deno.test("yaml: anchors are followed in every schema, so a value that begins with & or * is no text", () => {
  assertEquals(parse("a: &x [1]\nb: *x\n", { schema: "failsafe" }), { a: ["1"], b: ["1"] });
});

Deno.test("yaml: << is a plain key in failsafe", () => {
  assertEquals(parse("<<: a\n", { schema: "failsafe" }), { "<<": "a" });
});

Deno.test("yaml: __proto__ is an own key", () => {
  const value = parse("__proto__: {a: b}\n", { schema: "failsafe" }) as object;
  assert(Object.hasOwn(value, "__proto__"));
  assertStrictEquals(Object.getPrototypeOf(value), Object.prototype);
});

for (
  const [what, text] of [
    ["a second colon", "description: use when: always"],
    ["a twice used key", "a: 1\na: 2"],
    ["an unknown tag", "a: !!js/function x"],
    ["an unknown alias", "a: *nope"],
    ["an open list", "a: [1"],
    ["a second document", "a: 1\n---\nb: 2"],
  ] as const
) {
  Deno.test(`yaml: ${what} is a SyntaxError`, () => void assertThrows(() => parse(text), SyntaxError));
}

Deno.test("yaml: deep nesting throws, whatever it throws", () => {
  assertThrows(() => parse("[".repeat(100_000), { schema: "failsafe" }), Error);
});

Deno.test("yaml: aliases of aliases of lists as keys end with a RangeError or a SyntaxError", () => {
  const bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"];
  for (let i = 1; i < 9; i++) bomb.push(`a${i}: &a${i} [${Array(9).fill(`*a${i - 1}`).join(",")}]`);
  const value = parse(bomb.join("\n"), { schema: "failsafe" }) as Record<string, unknown>;
  // Nothing is copied: the danger lies in writing it out.
  assertEquals((value.a8 as unknown[]).length, 9);
});

Deno.test("yaml: stringify gives what parse reads", () => {
  const value = { name: "x: y", list: ["a", "1", "true"], nested: { n: 1, none: null }, text: "a\nb\n" };
  assertEquals(parse(stringify(value)), value);
  assertStrictEquals(stringify({ id: 1, name: "Alice" }), "id: 1\nname: Alice\n");
  assertThrows(() => stringify({ f: () => 1 }), TypeError);
});

/** A terminal of its own: what is typed goes in, what is shown comes out. */
class FakeTerminal {
  readonly raw: unknown[] = [];
  shown = "";
  readonly #keys: string[];

  constructor(...keys: string[]) {
    this.#keys = keys;
  }

  get reader(): {
    read(p: Uint8Array): Promise<number | null>;
    setRaw(mode: boolean, options?: Deno.SetRawOptions): void;
    isTerminal(): boolean;
  } {
    return {
      read: (buffer) => {
        const next = this.#keys.shift();
        return Promise.resolve(next === undefined ? null : new TextEncoder().encodeInto(next, buffer).written);
      },
      setRaw: (mode, options) => void this.raw.push(mode ? options?.cbreak : "off"),
      isTerminal: () => true,
    };
  }

  get writer(): { writeSync(data: Uint8Array): number } {
    return {
      writeSync: (data) => {
        this.shown += new TextDecoder().decode(data);
        return data.length;
      },
    };
  }
}

function terminal(
  ...keys: string[]
): { fake: FakeTerminal } & Pick<FakeTerminal, "reader" | "writer"> & { cbreak: true } {
  const fake = new FakeTerminal(...keys);
  return { fake, reader: fake.reader, writer: fake.writer, cbreak: true };
}

Deno.test("Confirm: y and n answer, the default answers Enter, raw mode leaves Ctrl-C to the terminal", async () => {
  for (
    const [keys, expected] of [[["y", "\r"], true], [["n", "\r"], false], [["\r"], false], [[
      "x",
      "\r",
      "\x7f",
      "y",
      "\r",
    ], true]] as const
  ) {
    const { fake, ...options } = terminal(...keys);
    assertStrictEquals(await Confirm.prompt({ message: "Run it?", default: false, ...options }), expected);
    assertStringIncludes(fake.shown, "Run it?");
    assertEquals(fake.raw.slice(0, 2), [true, "off"]);
  }
});

Deno.test("Select: the arrow keys move, Enter gives the value", async () => {
  const { fake, ...options } = terminal("\x1b[B", "\r");
  const chosen = await Select.prompt<string>({
    message: "Which model?",
    options: [{ name: "First", value: "a" }, { name: "Second", value: "b" }],
    ...options,
  });
  assertStrictEquals(chosen, "b");
  assertStringIncludes(fake.shown, "Second");
});

Deno.test("Select: plain texts are their own values", async () => {
  const { fake: _, ...options } = terminal("\r");
  assertStrictEquals(await Select.prompt<string>({ message: "Which?", options: ["a", "b"], ...options }), "a");
});

Deno.test("Secret: what is typed is never shown", async () => {
  const { fake, ...options } = terminal("s", "3", "x", "\x7f", "k", "\r");
  assertStrictEquals(await Secret.prompt({ message: "Key", hidden: true, ...options }), "s3k");
  assertFalse(fake.shown.includes("s3"));
});

Deno.test("Input: gives the line", async () => {
  const { fake: _, ...options } = terminal("o", "k", "\r");
  assertStrictEquals(await Input.prompt({ message: "Name", ...options }), "ok");
});

Deno.test("json-schema: validates by draft 2020-12 without generating code, with a path in each error", () => {
  const validator = new Validator(
    { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
    "2020-12",
    false,
  );
  assert(validator.validate({ n: 1 }).valid);
  const { valid, errors } = validator.validate({ n: "x" });
  assertFalse(valid);
  assertMatch(errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join("\n"), /#\/n .*type/i);
});
