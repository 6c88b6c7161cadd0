import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CliError, ClosedPipe } from "../../src/cli/exit.ts";
import { Terminal, writeAll, Writer } from "../../src/cli/terminal.ts";

/** A file that takes what it is told to, a few bytes at a time. */
class Sink {
  text = "";
  writes = 0;
  failures: Error[] = [];
  readonly #decoder = new TextDecoder();
  readonly #most: number;
  readonly #terminal: boolean;

  constructor(options: { most?: number; terminal?: boolean } = {}) {
    this.#most = options.most ?? Infinity;
    this.#terminal = options.terminal ?? false;
  }

  writeSync(bytes: Uint8Array): number {
    const failure = this.failures.shift();
    if (failure) throw failure;
    this.writes++;
    const taken = bytes.subarray(0, this.#most);
    this.text += this.#decoder.decode(taken, { stream: true });
    return taken.length;
  }

  isTerminal(): boolean {
    return this.#terminal;
  }
}

function macrotask(): Promise<void> {
  return new Promise((done) => setTimeout(done, 1));
}

interface Setup {
  terminal: Terminal;
  out: Sink;
  err: Sink;
  failures: CliError[];
}

function setup(
  options: { out?: boolean; err?: boolean; color?: "auto" | "always" | "never"; quiet?: boolean } = {},
): Setup {
  const out = new Sink({ terminal: options.out ?? false });
  const err = new Sink({ terminal: options.err ?? false });
  const failures: CliError[] = [];
  const { color = "never", quiet = false } = options;
  const terminal = new Terminal({ color, quiet, onFailure: (error) => failures.push(error), stdout: out, stderr: err });
  return { terminal, out, err, failures };
}

Deno.test("writeAll goes on after partial writes and after WouldBlock", () => {
  const sink = new Sink({ most: 3 });
  sink.failures.push(new Deno.errors.WouldBlock("full"));
  writeAll(sink, new TextEncoder().encode("häß, a long text"));
  assertEquals(sink.text, "häß, a long text");
});

Deno.test("Writer joins what one macrotask writes", async () => {
  const sink = new Sink();
  const writer = new Writer(sink, () => {});
  for (const piece of ["a", "b", "", "c"]) writer.write(piece);
  assertEquals(sink.writes, 0);
  await macrotask();
  assertEquals([sink.text, sink.writes], ["abc", 1]);
});

Deno.test("Writer writes at once what is 16 KiB or more", () => {
  const sink = new Sink();
  const writer = new Writer(sink, () => {});
  writer.write("x".repeat(16 * 1024));
  assertEquals(sink.writes, 1);
});

Deno.test("Writer tells a closed pipe once and drops the rest", () => {
  const sink = new Sink();
  const failures: CliError[] = [];
  const writer = new Writer(sink, (error) => failures.push(error));
  sink.failures.push(new Deno.errors.BrokenPipe("gone"));
  writer.write("a");
  writer.flush();
  writer.write("b");
  writer.flush();
  assertEquals([failures.length, failures[0] instanceof ClosedPipe, sink.text], [1, true, ""]);
});

Deno.test("Writer tells a full disk as an error of its own", () => {
  const sink = new Sink();
  const failures: CliError[] = [];
  const writer = new Writer(sink, (error) => failures.push(error));
  sink.failures.push(new Error("No space left on device (os error 28)"));
  writer.write("a");
  writer.flush();
  assertEquals([failures[0]!.code, failures[0]!.exit], ["output", 1]);
});

Deno.test("Terminal.out is exact in a pipe", () => {
  const { terminal, out } = setup();
  terminal.out("\x1b[31mred\r\n\u202e");
  terminal.flush();
  assertEquals(out.text, "\x1b[31mred\r\n\u202e");
});

Deno.test("Terminal.out shows control characters on a terminal, also of a line end cut between two pieces", () => {
  const { terminal, out } = setup({ out: true });
  for (const piece of ["one\r", "\ntwo\x1b", "]0;title\x07\u009b31m", "\u{e0041}\rthree\r"]) terminal.out(piece);
  terminal.endOut();
  assertEquals(out.text, "one\ntwo\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{e0041}\\u{d}three\\u{d}\n");
});

Deno.test("Terminal.line shows control characters always, a terminal or not", () => {
  for (const isTerminal of [true, false]) {
    const { terminal, err } = setup({ err: isTerminal });
    terminal.line("a\x1b[2Jb\r\u200b");
    assertEquals(err.text, "a\\u{1b}[2Jb\\u{d}\\u{200b}\n");
  }
});

Deno.test("Terminal.json stays JSON and steers no terminal", () => {
  const value = { text: "\x1b[2J\x7f\u009b\u202e\u{e0041}ok😀" };
  const piped = setup();
  piped.terminal.json(JSON.stringify(value));
  piped.terminal.flush();
  assertEquals(piped.out.text, JSON.stringify(value) + "\n");
  const shown = setup({ out: true });
  shown.terminal.json(JSON.stringify(value));
  shown.terminal.flush();
  assertEquals(JSON.parse(shown.out.text), value);
  assertEquals(shown.out.text.includes("\u009b"), false);
  assertEquals(shown.out.text.includes("\u{e0041}"), false);
  assertStringIncludes(shown.out.text, "ok😀");
});

Deno.test("Terminal starts lines of standard error on a line of their own, and keeps the order of both outputs", () => {
  const log: string[] = [];
  function stream(name: string) {
    return {
      isTerminal: () => true,
      writeSync(bytes: Uint8Array): number {
        log.push(`${name}:${new TextDecoder().decode(bytes)}`);
        return bytes.length;
      },
    };
  }
  const terminal = new Terminal({
    color: "never",
    quiet: false,
    onFailure() {},
    stdout: stream("o"),
    stderr: stream("e"),
  });
  terminal.out("half a line");
  terminal.line("a note");
  terminal.aside("thinking: ");
  terminal.aside("hm");
  terminal.out("answer");
  terminal.endOut();
  assertEquals(log, ["o:half a line", "e:\na note\n", "e:thinking: hm\n", "o:answer\n"]);
});

Deno.test("Terminal.status is wiped out by whatever comes next, and shown on terminals only", () => {
  const { terminal, err } = setup({ err: true });
  terminal.status("waiting");
  terminal.line("done");
  assertEquals(err.text, "\r\x1b[2Kwaiting\r\x1b[2Kdone\n");
  const piped = setup();
  piped.terminal.status("waiting");
  piped.terminal.line("done");
  assertEquals(piped.err.text, "done\n");
});

Deno.test("Terminal colours by --color, and by the terminal if that is auto", () => {
  for (
    const [options, coloured] of [
      [{ color: "always" }, true],
      [{ color: "never", err: true }, false],
      [{ color: "auto" }, false],
      [{ color: "auto", err: true }, !Deno.noColor],
    ] as const
  ) {
    const { terminal, err } = setup(options);
    terminal.line("error", "red");
    assertEquals(err.text, coloured ? "\x1b[31merror\x1b[0m\n" : "error\n");
  }
});

Deno.test("Terminal with --quiet tells errors only", () => {
  const { terminal, err } = setup({ quiet: true, err: true });
  terminal.note("by the way");
  terminal.status("waiting");
  terminal.line("error: x: y");
  assertEquals(err.text, "error: x: y\n");
});
