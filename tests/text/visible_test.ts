import { assert, assertEquals } from "@std/assert";
import { visible } from "../../src/text/visible.ts";

function isShown(code: number): boolean {
  const text = String.fromCodePoint(code);
  const shown = visible(`a${text}b`);
  assert(shown === `a${text}b` || shown === `a\\u{${code.toString(16)}}b`, code.toString(16));
  return shown !== `a${text}b`;
}

Deno.test("visible shows exactly the characters that steer, reorder or hide", () => {
  const ranges: Array<[from: number, to: number]> = [
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x61c, 0x61c],
    [0x115f, 0x1160],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
    [0x200b, 0x200b],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0x3164, 0x3164],
    [0xd800, 0xdfff],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff0, 0xfff8],
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0xe0000, 0xe0fff],
  ];
  for (let code = 0; code <= 0x10ffff; code += code < 0x3000 || code > 0xd700 && code < 0x10100 ? 1 : 61) {
    assertEquals(isShown(code), ranges.some(([from, to]) => from <= code && code <= to), code.toString(16));
  }
  for (const [from, to] of ranges) {
    assert(isShown(from) && isShown(to), from.toString(16));
  }
  assert(!isShown(0xe1000) && !isShown(0xdffff));
});

Deno.test("visible keeps line feeds, tabs, joiners, pairs and plain text", () => {
  for (const text of ["", "plain\n\ttext", "می\u200cخواهم", "👩\u200d🚀", "❤\ufe0f", "ä € 𝄞", "\\u{1b}"]) {
    assertEquals(visible(text), text);
  }
});

Deno.test("visible shows an escape sequence and lone surrogates", () => {
  assertEquals(visible("\x1b]0;x\x07\x9b2J\r\n"), "\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{d}\n");
  assertEquals(visible("\ud83d\ud83d\ude00\ude00"), "\\u{d83d}\u{1f600}\\u{de00}");
  assertEquals(visible("\u{e0041}a"), "\\u{e0041}a");
});

Deno.test("visible with oneLine shows line feeds too", () => {
  assertEquals(visible("a\nb\x1b\n", { oneLine: true }), "a\\u{a}b\\u{1b}\\u{a}");
  assertEquals(visible("a\tb", { oneLine: true }), "a\tb");
});
