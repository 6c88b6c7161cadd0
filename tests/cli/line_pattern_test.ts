import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { globTest, LinePattern } from "../../src/cli/tools/line_pattern.ts";

Deno.test("LinePattern finds what the engine of the runtime finds", () => {
  const atom = fc.constantFrom(
    "a",
    "b",
    "\\b",
    "^",
    "$",
    ".",
    "[ab]",
    "[^a]",
    "\\w",
    "\\d",
    "\\s",
    "-",
    "\\.",
    "é",
    "😀",
    "(?:a|bc)",
    "\\B",
    "\\x61",
    "\\p{L}",
  );
  const quantifier = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?");
  const piece = fc.tuple(atom, quantifier).map(([a, q]) => /^(\\[bB]|[\^$])$/.test(a) ? a : a + q);
  const source = fc.array(fc.array(piece, { maxLength: 4 }).map((parts) => parts.join("")), {
    minLength: 1,
    maxLength: 3,
  })
    .map((parts) => parts.join("|"))
    .chain((inner) => fc.constantFrom(inner, `(${inner})*`, `(?:${inner}){1,3}c`, `^(?:${inner})$`));
  const line = fc.array(fc.constantFrom("a", "b", "c", "A", " ", "-", ".", "1", "é", "😀"), { maxLength: 8 }).map((c) =>
    c.join("")
  );
  fc.assert(
    fc.property(source, fc.array(line, { minLength: 1, maxLength: 5 }), fc.boolean(), (source, lines, ignoreCase) => {
      const ours = new LinePattern(source, { ignoreCase });
      const theirs = new RegExp(source, ignoreCase ? "iu" : "u");
      // In the middle of a pair, where no pattern of code points looks, the engine of the runtime finds \B.
      const fair = source.includes("\\B") ? lines.map((line) => line.replaceAll("😀", "é")) : lines;
      for (const line of fair) {
        assertEquals(ours.test(line), theirs.test(line), `${source} on ${JSON.stringify(line)}`);
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("LinePattern takes the spellings that models use", () => {
  const cases: [string, string, boolean][] = [
    ["interface{}", "x interface{} y", true],
    ["foo\\(bar\\)", "foo(bar)", true],
    ['\\"a\\-b\\"', '"a-b"', true],
    ["[\\-\\'x]", "'", true],
    ["(?<name>a)b", "ab", true],
    ["\\t\\u0041\\u{1F600}", "\tA😀", true],
    ["a{,3}", "a{,3}", true],
    ["", "x", true],
    ["^$", "", true],
    ["a|", "zzz", true],
    ["\\/", "/", true],
    ["x{2,3}$", "x", false],
  ];
  for (const [source, line, want] of cases) assertEquals(new LinePattern(source).test(line), want, source);
});

Deno.test("LinePattern refuses what needs backtracking, what is malformed, and what is too large", () => {
  const cases: [string, RegExp][] = [
    ["(a)\\1", /backreferences are not supported/],
    ["\\k<a>", /backreferences/],
    ["a(?=b)", /lookaround is not supported/],
    ["(?<!a)b", /lookaround/],
    ["(a", /not closed/],
    ["a)", /no opening one/],
    ["[a", /class is not closed/],
    ["[z-a]", /class is malformed/],
    ["*a", /nothing to repeat/],
    ["a**", /nothing to repeat/],
    ["^*", /nothing to repeat/],
    ["a{3,2}", /nothing to repeat/],
    ["a\\", /ends with a backslash/],
    ["a{100000}", /too large/],
    ["((((a{50}){50}){50}){50})", /too large/],
    ["a".repeat(1001), /longer than 1000/],
    ["(".repeat(1000), /not closed/],
  ];
  for (const [source, why] of cases) {
    const error = assertThrows(() => new LinePattern(source));
    assert(error instanceof TypeError && why.test(error.message), `${source}: ${error}`);
  }
});

Deno.test("LinePattern is linear on patterns that make an engine with backtracking hang", () => {
  const patterns = [
    "(a+)+$",
    "(a|aa)+$",
    "(.*)*x",
    "(a*)*(a*)*(a*)*b",
    "(?:a|a)*c",
    "(a|b)*a(a|b){12}$",
    "a{0,200}b",
    "(x+x+)+y",
  ];
  const time = (n: number) => {
    const lines = [
      "a".repeat(n) + "!",
      "x".repeat(n),
      "ab".repeat(n / 2),
      Array.from({ length: n }, (_, i) => "ab"[(i * 7919 >> 3) & 1]).join(""),
    ];
    const start = performance.now();
    for (const source of patterns) {
      const pattern = new LinePattern(source);
      for (const line of lines) pattern.test(line);
    }
    return performance.now() - start;
  };
  time(10_000);
  const small = time(10_000);
  assert(time(100_000) < 15 * small + 1500);
});

Deno.test("globTest holds a name or, with a slash, a whole path against the pattern", () => {
  const cases: [string, string, boolean][] = [
    ["*.ts", "src/a.ts", true],
    ["*.ts", "src/a.tsx", false],
    ["*.{ts,js}", "a.js", true],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/b/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/b/c/a.ts", true],
    ["**/test/**", "a/test/b/c", true],
    ["a?c.md", "abc.md", true],
    ["a+(b).md", "a+(b).md", true],
    ["[x].md", "x.md", false],
    ["README*", "docs/README.md", true],
  ];
  for (const [glob, path, want] of cases) assertEquals(globTest(glob)(path), want, `${glob} on ${path}`);
});
