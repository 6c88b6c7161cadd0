import { assert, assertEquals, assertThrows } from "@std/assert";
import { PawlError } from "../../src/model/error.ts";
import { type SseEvent, SseParser } from "../../src/wire/sse.ts";
import { SseParserStream } from "../../src/wire/sse_stream.ts";
import cases from "../testdata/wire/sse_wpt.json" with { type: "json" };

interface Case {
  name: string;
  wire: string;
  events: { type: string; data: string; lastEventId: string }[];
  retry?: number | null;
}

const utf8 = new TextEncoder();

/** Feeds the pieces and leaves the end of the stream open, as the cases do. */
function parse(pieces: Iterable<string | Uint8Array>): SseEvent[] {
  const parser = new SseParser();
  return Array.from(pieces, (piece) => parser.feed(piece)).flat();
}

function cut(bytes: Uint8Array, ...offsets: number[]): Uint8Array[] {
  return [0, ...offsets].map((from, i) => bytes.subarray(from, offsets[i] ?? bytes.length));
}

function summary(events: SseEvent[]) {
  return events.map(({ event, data, id }) => ({ type: event, data, lastEventId: id ?? "" }));
}

for (const { name, wire, events, retry } of [...cases.wpt, ...cases.spec] as Case[]) {
  Deno.test(`SseParser: ${name}, whole, by bytes, by characters, and cut at every offset`, () => {
    const bytes = utf8.encode(wire);
    const whole = parse([wire]);
    assertEquals(summary(whole), events);
    assertEquals(whole.at(-1)?.retry, retry ?? undefined);
    assertEquals(parse([bytes]), whole);
    assertEquals(parse(wire.split("")), whole);
    assertEquals(parse(cut(bytes, ...bytes.keys())), whole);
    for (let at = 0; at <= bytes.length; at++) assertEquals(parse(cut(bytes, at)), whole, `cut at ${at}`);
    for (let at = 0; at <= wire.length; at++) {
      assertEquals(parse([wire.slice(0, at), wire.slice(at)]), whole, `cut at ${at}`);
    }
    assertEquals(parse([wire.replaceAll(/\r\n?|\n/g, "\r\n")]), whole);
    assertEquals(parse(wire.replaceAll(/\r\n?|\n/g, "\r\n").split("")), whole);
    // A lone CR at the very end may still be followed by an LF: it ends the line all the same.
    assertEquals(parse([wire.replaceAll(/\r\n?|\n/g, "\r")]), whole);
  });
}

Deno.test("SseParser: random cuts and line ends never change the events", () => {
  const lines = [
    "data: ä",
    "data:b",
    "event: ping",
    "",
    "",
    "id: 7",
    "retry: 5",
    ": c",
    "error: e",
    "data",
    "data:  €😀",
  ];
  let seed = 42;
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let round = 0; round < 300; round++) {
    const picked = Array.from({ length: 1 + random(20) }, () => lines[random(lines.length)]!);
    const expected = parse([picked.join("\n") + "\n\n"]);
    const ends = ["\n", "\r", "\r\n"];
    // An LF behind a CR would join it.
    let mixed = "";
    for (const line of [...picked, ""]) {
      const end = ends[random(3)]!;
      mixed += line + (line === "" && mixed.endsWith("\r") && end === "\n" ? "\r\n" : end);
    }
    const bytes = utf8.encode(mixed);
    const offsets = Array.from({ length: random(9) }, () => random(bytes.length)).sort((a, b) => a - b);
    assertEquals(parse(cut(bytes, ...offsets)), expected, JSON.stringify(mixed));
  }
});

Deno.test("SseParser: an error field is an error event with its value", () => {
  assertEquals(parse(['error: {"code":400}\n\ndata: [DONE]\n\n']), [
    { event: "error", data: '{"code":400}' },
    { event: "message", data: "[DONE]" },
  ]);
  assertEquals(parse(["data: a\nerror:b\n\n"]), [{ event: "error", data: "a\nb" }]);
});

Deno.test("SseParser: strips one byte order mark, and only at the start", () => {
  assertEquals(parse(["", "\ufeff", "data:1\n\n"]), [{ event: "message", data: "1" }]);
  assertEquals(parse(["data:1\n\n\ufeffdata:2\n\n"]), [{ event: "message", data: "1" }]);
});

Deno.test("SseParser.flush: hands out the unfinished event", () => {
  for (const end of ["", "\n", "\r", "\r\n"]) {
    const parser = new SseParser();
    assertEquals(parser.feed(`data: a\n\nid: 1\nevent: x\ndata: b${end}`).length, 1);
    assertEquals(parser.flush(), [{ event: "x", data: "b", id: "1" }]);
    assertEquals(parser.flush(), []);
  }
  const parser = new SseParser();
  parser.feed(utf8.encode("data: €").subarray(0, -1));
  assertEquals(parser.flush(), [{ event: "message", data: "\ufffd" }]);
});

Deno.test("SseParser.flush: no data, no event", () => {
  for (const rest of ["", ":c", "event: x", "event: x\n", "id: 1\n", "dat", "data: a\n\n"]) {
    const parser = new SseParser();
    parser.feed(rest);
    assertEquals(parser.flush(), [], rest);
  }
});

Deno.test("SseParser: ill-formed UTF-8 becomes U+FFFD and ends nothing", () => {
  const bytes = new Uint8Array([...utf8.encode("data: a"), 0xff, 0xe2, 0x82, 10, 10, ...utf8.encode("data: b\n\n")]);
  for (let at = 0; at < bytes.length; at++) {
    assertEquals(parse(cut(bytes, at)).map((event) => event.data), ["a\ufffd\ufffd", "b"]);
  }
});

Deno.test("SseParser: does not keep the bytes it was fed", () => {
  const parser = new SseParser();
  const bytes = utf8.encode("data: abc");
  parser.feed(bytes);
  bytes.fill(0x7a);
  assertEquals(parser.feed("\n\n"), [{ event: "message", data: "abc" }]);
});

/** What begins an event, and what is repeated without an end. */
const ATTACKS: Record<string, [begin: string, again: string]> = {
  "an endless line": ["", "x"],
  "an endless data line": ["data: ", "x"],
  "an endless event name": ["event: ", "x"],
  "endless data lines": ["", "data: xxxxxxxxxx\n"],
  "endless empty data lines": ["", "data\n"],
  "endless comments": ["", ": c\n"],
  "endless unknown fields": ["", "x: y\n"],
  "endless ids": ["data: a\n", "id: 1\r"],
};

for (const [name, [begin, again]] of Object.entries(ATTACKS)) {
  Deno.test(`SseParser: maxEventBytes bounds ${name}`, () => {
    const options = { maxEventBytes: 1000 };
    const parser = new SseParser(options);
    parser.feed(begin);
    let fed = begin.length;
    const error = assertThrows(() => {
      for (; fed < 5000; fed += again.length) parser.feed(again);
    }, PawlError);
    assertEquals(error.code, "response_too_large");
    assertEquals(error.message, "Cannot read the reply: it exceeds limits.maxEventBytes (1000)");
    assert(fed <= 1000, `${fed} units were taken`);
    assertThrows(() => new SseParser(options).feed(begin + again.repeat(1001)), PawlError, "maxEventBytes");
  });
}

Deno.test("SseParser: maxEventBytes bounds one event, not the stream", () => {
  const parser = new SseParser({ maxEventBytes: 20 });
  for (let i = 0; i < 100; i++) assertEquals(parser.feed(`: comment\n\ndata: ${i}\n\n`).length, 1);
  assertEquals(parser.feed("data: 0123456789012\n\n").length, 1);
  assertThrows(() => parser.feed("data: 01234567890123\n\n"), PawlError);
});

Deno.test("SseParser: events before one that is too large are handed out first, in every chunking", () => {
  const wire = `data: a\n\ndata: b\n\ndata: ${"x".repeat(50)}\n\ndata: c\n\n`;
  for (let size = 1; size <= wire.length; size++) {
    const parser = new SseParser({ maxEventBytes: 30 });
    const data: string[] = [];
    assertThrows(
      () => {
        for (let at = 0; at < wire.length; at += size) {
          for (const event of parser.feed(wire.slice(at, at + size))) data.push(event.data);
        }
        parser.flush();
      },
      PawlError,
      "maxEventBytes",
    );
    assertEquals(data, ["a", "b"], `pieces of ${size}`);
    assertThrows(() => parser.feed("\n\ndata: d\n\n"), PawlError, "maxEventBytes");
  }
});

Deno.test("SseParser: one long line in tiny pieces costs what its bytes cost", () => {
  const parser = new SseParser();
  const started = performance.now();
  parser.feed("data: ");
  for (let i = 0; i < 200_000; i++) parser.feed("x");
  const [event] = parser.feed("\n\n");
  assertEquals(event?.data.length, 200_000);
  assert(performance.now() - started < 5_000);
});

Deno.test("SseParser: a piece with very many short lines costs what its bytes cost", () => {
  const started = performance.now();
  for (const line of ["nocolon\n", ":\n", "data\r", "\n", "\r\n"]) {
    new SseParser({ maxEventBytes: 1e8 }).feed(line.repeat(200_000));
  }
  assert(performance.now() - started < 5_000);
});

Deno.test("SseParserStream: yields the events, the unfinished one too, and fails with the parser's error", async () => {
  const events = ReadableStream.from(["data: a\r", "\n\r\ndata: b"]).pipeThrough(new SseParserStream());
  assertEquals(await Array.fromAsync(events), [{ event: "message", data: "a" }, { event: "message", data: "b" }]);
  const broken = ReadableStream.from(["data: a\n\n", "x".repeat(99)]).pipeThrough(
    new SseParserStream({ maxEventBytes: 50 }),
  );
  const reader = broken.getReader();
  assertEquals((await reader.read()).value?.data, "a");
  const error = await reader.read().then(() => undefined, (error) => error);
  assertEquals((error as PawlError).code, "response_too_large");
});

Deno.test("SseParser: lenient reads bare JSON", () => {
  const wire = '{"a":1}\n\ndata: b\n{"c":1}\n d\n{x}\n{"\n[1]\n\n';
  assertEquals(new SseParser().feed(wire), [{ event: "message", data: "b" }]);
  assertEquals(new SseParser({ lenient: true }).feed(wire), [
    { event: "message", data: '{"a":1}' },
    { event: "message", data: 'b\n{"c":1}' },
  ]);
});
