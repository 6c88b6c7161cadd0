import { assert, assertEquals } from "@std/assert";
import { createSplitter, stripReasoning } from "../../src/text/reasoning.ts";
import { assertQuick, flood, type Random, seeded } from "./support.ts";

// ---------------------------------------------------------------- stripReasoning

const STRIP: ReadonlyArray<[text: string, stripped: string]> = [
  ["", ""],
  ["  plain \n", "plain"],
  ["<think>a</think>b", "b"],
  ["<think>a\nb</think>\n\nc", "c"],
  ["x<think>a</think>y<think>b</think>z", "xyz"],
  ["x <think>a</think> y", "x  y"],
  ["<think>a<think>b</think>c</think>d", "d"],
  ["plan</think>\n\nHello", "Hello"],
  ["a</think>b</think>c", "c"],
  ["<think>only", ""],
  ["<think>only</think>", ""],
  ["answer <think>oops", "answer"],
  ["answer <think>oops <think>again", "answer"],
  ["a</think>b<think>c", "b"],
  ["<think>a</think>b<think>c", "b"],
  ["<THINK>a</THINK>b", "<THINK>a</THINK>b"],
  ["<think foo>a</think>b", "b"],
  ["<thinking>a</thinking>b", "<thinking>a</thinking>b"],
  ["`</think>` closes a thought", "` closes a thought"],
  ["<thi<think>x</think>nk>gone", ""],
  ["a<think>b</think></thi<think>c</think>nk>d", "d"],
  ["</think>", ""],
  ["<think>", ""],
  ["<think", "<think"],
  ["think>", "think>"],
];

Deno.test("stripReasoning gives rig's results", () => {
  for (const [text, stripped] of STRIP) assertEquals(stripReasoning(text), stripped, JSON.stringify(text));
});

/** rig's rules as its documents tell them, with the regular expression that is quadratic. */
function slowStrip(text: string): string {
  let kept = text.replace(/<think>[^]*?<\/think>/g, "").trim();
  kept = kept.replace(/^[^]*<\/think>/, "").trim();
  return kept.replace(/<think>[^]*$/, "").trim();
}

Deno.test("stripReasoning agrees with rig's rules on random text", () => {
  const random = seeded(7);
  const pieces = ["<think>", "</think>", "<thi", "nk>", "</", "<", "a", " ", "\n"];
  for (let round = 0; round < 50_000; round++) {
    const text = Array.from({ length: random(12) }, () => pieces[random(pieces.length)]!).join("");
    assertEquals(stripReasoning(text), slowStrip(text), JSON.stringify(text));
  }
});

// ---------------------------------------------------------------- ReasoningSplitter

interface Splitter {
  native: boolean;
  push(delta: string): void;
  flush(): void;
}

/** What a sink is told, neighbours joined: `t:` text, `k:` thought, `end`, `retract`. */
function recorder(): { told: string[]; splitter: Splitter; length: () => number } {
  const told: string[] = [];
  let length = 0;
  function add(kind: string, piece: string): void {
    assert(piece !== "", "no empty pieces");
    length += piece.length;
    if (told.at(-1)?.startsWith(kind)) told[told.length - 1] += piece;
    else told.push(kind + piece);
  }
  const read = createSplitter(
    (piece) => add("t:", piece),
    (piece) => add("k:", piece),
    () => void told.push(told.at(-1)?.startsWith("k:") ? "end" : "retract"),
  );
  const splitter: Splitter = {
    native: false,
    push: (delta) => read(delta, splitter.native),
    flush: () => read("", splitter.native, true),
  };
  return { told, splitter, length: () => length };
}

function split(chunks: Iterable<string>, native = false): string[] {
  const { told, splitter } = recorder();
  splitter.native = native;
  for (const chunk of chunks) splitter.push(chunk);
  splitter.flush();
  return told;
}

/** The text blocks of a message: what was not turned into a thought, joined and trimmed. */
function answerOf(told: readonly string[]): string {
  const blocks: string[] = [];
  for (const item of told) {
    if (item.startsWith("t:")) blocks.push(item.slice(2));
    if (item === "retract" && blocks.at(-1)?.trim()) blocks.pop();
  }
  return blocks.join("").trim();
}

const NATIVE = { native: true };
const TABLE: ReadonlyArray<[text: string, told: string[], options?: { native: boolean }]> = [
  // Plain text.
  ["", []],
  ["a", ["t:a"]],
  ["  a \n", ["t:  a \n"]],
  ["a < b > c", ["t:a < b > c"]],
  ["<", ["t:<"]],
  ["</", ["t:</"]],
  ["<thin", ["t:<thin"]],
  ["</thought", ["t:</thought"]],
  ["<<<", ["t:<<<"]],
  ["<div>x</div>", ["t:<div>x</div>"]],
  ["<thinker>x", ["t:<thinker>x"]],
  ["<think >x", ["t:<think >x"]],
  ["< think>x", ["t:< think>x"]],
  ["<think/>x", ["t:<think/>x"]],
  ["<mm:thinking>", ["t:<mm:thinking>"]],
  ["<mm:thought>", ["t:<mm:thought>"]],
  ["<thin\u212a>", ["t:<thin\u212a>"]],
  // Closed, in every name and letter case.
  ["<think>a</think>b", ["k:a", "end", "t:b"]],
  ["<thinking>a</thinking>b", ["k:a", "end", "t:b"]],
  ["<thought>a</thought>b", ["k:a", "end", "t:b"]],
  ["<mm:think>a</mm:think>b", ["k:a", "end", "t:b"]],
  ["<THINK>a</think>b", ["k:a", "end", "t:b"]],
  ["<Thinking>a</THINKING>b", ["k:a", "end", "t:b"]],
  ["<MM:Think>a</mm:tHINK>b", ["k:a", "end", "t:b"]],
  ["x<think>a</think>y<think>b</think>z", ["t:x", "k:a", "end", "t:y", "k:b", "end", "t:z"]],
  ["<think>a</think><think>b</think>c", ["k:a", "end", "k:b", "end", "t:c"]],
  // Blank space.
  ["<think>\n a \n</think>\n\n b ", ["k:a \n", "end", "t:b "]],
  ["x <think>a</think> y", ["t:x ", "k:a", "end", "t:y"]],
  ["<think></think>a", ["t:a"]],
  ["<think> \n\t</think> a", ["t:a"]],
  ["x<think> </think> y", ["t:xy"]],
  ["<think>a</think>", ["k:a", "end"]],
  ["<think>a</think>\n \t\r\n", ["k:a", "end"]],
  ["<think>\u00a0\ufeff\u2003a</think>\u3000b", ["k:a", "end", "t:b"]],
  // Unclosed.
  ["<think>", []],
  ["<think>a", ["k:a"]],
  ["answer <think>oops", ["t:answer ", "k:oops"]],
  ["<think>a</thi", ["k:a</thi"]],
  ["<think>a<", ["k:a<"]],
  ["<think></thin", ["k:</thin"]],
  // Only the closer of the opener's own name closes; openers inside are thought.
  ["<think>a</thinking>b</think>c", ["k:a</thinking>b", "end", "t:c"]],
  ["<thinking>a</think>b</thinking>c", ["k:a</think>b", "end", "t:c"]],
  ["<mm:think>a</think>b</mm:think>c", ["k:a</think>b", "end", "t:c"]],
  ["<think>a<think>b</think>c</think>d", ["k:a<think>b", "end", "t:c", "retract", "t:d"]],
  ["<think>a</</think>b", ["k:a</", "end", "t:b"]],
  ["<think>a</thin</think>b", ["k:a</thin", "end", "t:b"]],
  // Inside a thought quotes and code do not count.
  ["<think>`</think>`b", ["k:`", "end", "t:`b"]],
  ['<think>say "</think>" now', ['k:say "', "end", 't:" now']],
  ["<think>\n```\n</think>\nb <think>c</think>d", ["k:```\n", "end", "t:b ", "k:c", "end", "t:d"]],
  // The opener was eaten.
  ["plan</think>\n\nHello", ["t:plan", "retract", "t:Hello"]],
  ["a</think>b</think>c", ["t:a", "retract", "t:b", "retract", "t:c"]],
  ["a</think>b<think>c", ["t:a", "retract", "t:b", "k:c"]],
  ["</think>a", ["retract", "t:a"]],
  [" \n</think> a", ["t: \n", "retract", "t:a"]],
  ["plan</thought>a", ["t:plan", "retract", "t:a"]],
  ["plan</MM:THINK> a", ["t:plan", "retract", "t:a"]],
  ["<think foo>a</think>b", ["t:<think foo>a", "retract", "t:b"]],
  ["<think>a</think>b</think>c", ["k:a", "end", "t:b", "retract", "t:c"]],
  ["a</think></think>b", ["t:a", "retract", "retract", "t:b"]],
  ["a</think>", ["t:a", "retract"]],
  ["a</think> \n", ["t:a", "retract"]],
  // Reasoning came in a field of its own: a closer is plain, an opener is not.
  ["plan</think>\n\nHello", ["t:plan</think>\n\nHello"], NATIVE],
  ["</think>a", ["t:</think>a"], NATIVE],
  ["<think>a</think> b</think> c", ["k:a", "end", "t:b</think> c"], NATIVE],
  ['"</think>"', ['t:"</think>"'], NATIVE],
  ['"</think>', ['t:"</think>'], NATIVE],
  ['"<think>', ['t:"'], NATIVE],
  // Inline code.
  ["use `<think>` and `</think>` tags", ["t:use `<think>` and `</think>` tags"]],
  ["`<think>", ["t:`<think>"]],
  ["`a` <think>b</think>c", ["t:`a` ", "k:b", "end", "t:c"]],
  ["`a\n<think>b</think>c", ["t:`a\n", "k:b", "end", "t:c"]],
  ["``<think>`` x", ["t:``<think>`` x"]],
  ["``a <think>b``", ["t:``a ", "k:b``"]],
  ["``` a `<think>", ["t:``` a `"]],
  ["a</think>`<think>`", ["t:a", "retract", "t:`<think>`"]],
  // Fenced code.
  ["```\n<think>\n```\n", ["t:```\n<think>\n```\n"]],
  ["```\n</think>\n```\na<think>b", ["t:```\n</think>\n```\na", "k:b"]],
  ["```xml\n<think>a</think>\n```\n</think>b", ["t:```xml\n<think>a</think>\n```\n", "retract", "t:b"]],
  ["~~~\n<think>\n```\n<think>\n~~~\n<think>b", ["t:~~~\n<think>\n```\n<think>\n~~~\n", "k:b"]],
  ["~~~ a `b` <think>", ["t:~~~ a `b` <think>"]],
  ["````\n```\n<think>\n````\n<think>b", ["t:````\n```\n<think>\n````\n", "k:b"]],
  ["```\n<think>\n`````\n<think>b", ["t:```\n<think>\n`````\n", "k:b"]],
  ["```\n``` x\n<think>", ["t:```\n``` x\n<think>"]],
  ["```\n``` \t\r\n<think>b", ["t:```\n``` \t\r\n", "k:b"]],
  ["```\n   ```\n<think>b", ["t:```\n   ```\n", "k:b"]],
  ["```\n    ```\n<think>b", ["t:```\n    ```\n<think>b"]],
  ["   ```\n<think>b", ["t:   ```\n<think>b"]],
  ["    ```\n<think>b", ["t:    ```\n", "k:b"]],
  ["a ```\n<think>b", ["t:a ```\n", "k:b"]],
  ["\t```\n<think>b", ["t:\t```\n", "k:b"]],
  ["``\n<think>b", ["t:``\n", "k:b"]],
  ["~~\n<think>b", ["t:~~\n", "k:b"]],
  ["~~~`\n<think>b", ["t:~~~`\n<think>b"]],
  ["``` <think> ```\n", ["t:``` <think> ```\n"]],
  ["```ls``` <think>b</think>c", ["t:```ls``` ", "k:b", "end", "t:c"]],
  ["```ls```\n<think>b</think>c", ["t:```ls```\n", "k:b", "end", "t:c"]],
  ["```\r\n<think>\r\n```\r\n<think>b", ["t:```\r\n<think>\r\n```\r\n", "k:b"]],
  ["a</think>\n```\n<think>\n```", ["t:a", "retract", "t:```\n<think>\n```"]],
  ["a</think>```\n<think>\n```", ["t:a", "retract", "t:```\n<think>\n```"]],
  ["a `b</think>` c</think>\n<think>d", ["t:a `b</think>` c", "retract", "k:d"]],
  ["a\r```\n<think>b", ["t:a\r```\n", "k:b"]],
  ["~~~\u2028a\n<think>\n~~~\u2028b\n<think>", ["t:~~~\u2028a\n<think>\n~~~\u2028b\n<think>"]],
  // An answer about the tag.
  ['The tag "<think>" opens, "</think>" closes.', ['t:The tag "<think>" opens, "</think>" closes.']],
  ["'<think>' or “</think>”", ["t:'<think>' or “</think>”"]],
  ["‘<thought>’ «</thought>» „<think>“ „<think>”", ["t:‘<thought>’ «</thought>» „<think>“ „<think>”"]],
  ["»<think>« 「</think>」", ["t:»<think>« 「</think>」"]],
  ['"<think>"<think>"', ['t:"<think>"<think>"']],
  ['"<think>', ['t:"']],
  ['"<think>x"', ['t:"', 'k:x"']],
  ["\"<think>'", ['t:"', "k:'"]],
  ['"<think>"', ['t:"<think>"']],
  ['He said "plan"</think>b', ['t:He said "plan"', "retract", "t:b"]],
  ['say "</think>" x</think>b', ['t:say "</think>" x', "retract", "t:b"]],
  ['"</think>', ['t:"', "retract"]],
  ['"</think>\n"', ['t:"', "retract", 't:"']],
  ['"<think><think>"', ['t:"', 'k:<think>"']],
  ['a</think>"<think>" b', ["t:a", "retract", 't:"<think>" b']],
  ["(<think>)", ["t:(", "k:)"]],
];

function* twoCuts(text: string): Generator<string[]> {
  for (let a = 0; a <= text.length; a++) {
    for (let b = a; b <= text.length; b++) yield [text.slice(0, a), text.slice(a, b), text.slice(b)];
  }
}

Deno.test("ReasoningSplitter tells what the table says, at every two cuts and character by character", () => {
  assert(TABLE.length >= 80);
  for (const [text, told, { native = false } = {}] of TABLE) {
    for (const chunks of twoCuts(text)) assertEquals(split(chunks, native), told, JSON.stringify(chunks));
    assertEquals(split([...text], native), told, JSON.stringify(text));
  }
});

Deno.test("ReasoningSplitter counts more marks than anybody writes, where it looks twice as well", () => {
  for (const count of [97, 98, 99, 100, 101, 600]) {
    const marks = "`".repeat(count);
    const inline = `${marks}<think>\` `;
    assertEquals(split([inline, "<think>b"]), count % 2 ? [`t:${inline}`, "k:b"] : [`t:${inline}<think>b`]);
    const fenced = `${marks}\n<think>\n${marks}\n`;
    assertEquals(split([...fenced, "<think>b"]), [`t:${fenced}`, "k:b"]);
  }
});

Deno.test("ReasoningSplitter leaves the answer that stripReasoning leaves", () => {
  const unlike = new Set(["<THINK>a</THINK>b", "<thinking>a</thinking>b", "`</think>` closes a thought"]);
  for (const [text, stripped] of STRIP) {
    // Blank space behind a closer, and tags put together from what stood around a thought, are the splitter's own rules.
    if (unlike.has(text) || text.includes("<thi<") || text.includes("</thi<") || text.includes("> y")) continue;
    assertEquals(answerOf(split([text])), stripped, JSON.stringify(text));
  }
});

Deno.test("ReasoningSplitter hands on all but a possible tag in the push it came in", () => {
  const rows: Array<[text: string, told: string[], idle: boolean]> = [
    ["abc", ["t:abc"], true],
    ["a\n", ["t:a\n"], true],
    ["a `", ["t:a `"], true],
    ["a <", ["t:a "], false],
    ["a </", ["t:a "], false],
    ["a <think", ["t:a "], false],
    ["a <think>", ["t:a "], false],
    ["a </think>", ["t:a ", "retract"], true],
    ['a "<think>', ['t:a "'], false],
    ['a "</MM:THINK>', ['t:a "'], false],
    ["a <thinker", ["t:a <thinker"], true],
    ["```\n<think", ["t:```\n<think"], true],
    ["`<think", ["t:`<think"], true],
    ["<think>a</think", ["k:a"], false],
    ["<think>a</x", ["k:a</x"], false],
    ["<think>a<think", ["k:a<think"], false],
  ];
  for (const [text, expected, idle] of rows) {
    const { told, splitter } = recorder();
    splitter.push(text);
    assertEquals(told, expected, JSON.stringify(text));
    // Idle is who holds nothing back and takes what follows for text.
    const before = told.join();
    splitter.flush();
    const isHeld = told.join() !== before;
    splitter.push("z");
    assertEquals(!isHeld && told.at(-1)!.startsWith("t:"), idle, JSON.stringify(text));
  }
});

Deno.test("ReasoningSplitter.flush decides in mid-message and keeps the state", () => {
  function run(...steps: Array<string | null | true>): string[] {
    const { told, splitter } = recorder();
    for (const step of steps) {
      if (step === null) splitter.flush();
      else if (step === true) splitter.native = true;
      else splitter.push(step);
    }
    return told;
  }
  assertEquals(run("a<thi", null), ["t:a<thi"]);
  assertEquals(run("a<thi", null, "nk>b", null), ["t:a<think>b"]);
  assertEquals(run('a"<think>', null, "b</think>c"), ['t:a"', "k:b", "end", "t:c"]);
  assertEquals(run('a"<think>', null, '"b'), ['t:a"', 'k:"b']);
  assertEquals(run('a"</think>', null, '"b'), ['t:a"', "retract", 't:"b']);
  assertEquals(run("<think>a</th", null, "ink>b</think>c"), ["k:a</think>b", "end", "t:c"]);
  assertEquals(run("<think>a", null, "b</think>c"), ["k:ab", "end", "t:c"]);
  assertEquals(run("```\n", null, "<think>", null, "\n```\n", null, "<think>b"), ["t:```\n<think>\n```\n", "k:b"]);
  assertEquals(run("`", null, "<think>`"), ["t:`<think>`"]);
  assertEquals(run('"', null, '<think>"'), ['t:"<think>"']);
  assertEquals(run("a</think>", null, " b"), ["t:a", "retract", "t:b"]);
  assertEquals(run("a</think>", null, true, " b</think>"), ["t:a", "retract", "t:b</think>"]);
  assertEquals(run("a</thi", true, "nk>b"), ["t:a</think>b"]);
  assertEquals(run(null, null), []);
});

// ---------------------------------------------------------------- against a slow reference

/** A splitter as slow as its rules are plain: everything is looked up anew in the whole text so far. */
class Reference {
  readonly told: string[] = [];
  /** The answer since the line last counted as new; what was dropped is not in it. */
  #shown = "";
  #name = "";
  #thoughtTold = false;
  #dropping = false;

  read(text: string, native: boolean): void {
    for (let i = 0; i < text.length;) {
      if (this.#dropping && text[i]!.trim() === "") {
        i++;
        continue;
      }
      this.#dropping = false;
      const [tag, slash, name] = /^<(\/?)(thinking|think|thought|mm:think)>/i.exec(text.slice(i)) ?? [];
      if (this.#name !== "") {
        if (slash === "/" && name!.toLowerCase() === this.#name) {
          if (this.#thoughtTold) this.told.push("end");
          this.#name = "";
          i += this.#behind(tag!);
        } else {
          this.#add("k:", text[i++]!);
          this.#thoughtTold = true;
        }
      } else if (tag !== undefined && !this.#plain(slash!, native, text[i + tag.length])) {
        if (slash === "/") this.told.push("retract");
        else {
          this.#name = name!.toLowerCase();
          this.#thoughtTold = false;
        }
        i += this.#behind(tag);
      } else {
        this.#shown += text[i];
        this.#add("t:", text[i++]!);
      }
    }
  }

  #behind(tag: string): number {
    this.#shown = "";
    this.#dropping = true;
    return tag.length;
  }

  #plain(slash: string, native: boolean, behind: string | undefined): boolean {
    if (slash === "/" && native) return true;
    const line = this.#shown.slice(this.#shown.lastIndexOf("\n") + 1);
    if (this.#inFence() || line.split("`").length % 2 === 0) return true;
    const before = this.#shown.slice(-1), curved = "“”„‘’«»";
    return behind !== undefined && (
      "\"'`".includes(before) ? before === behind : curved.includes(before) && curved.includes(behind)
    );
  }

  #inFence(): boolean {
    let fence = "";
    const lines = this.#shown.split("\n");
    const last = lines.pop()!;
    for (const line of lines) {
      const closer = /^ {0,3}(`{3,}|~{3,})[ \t\r]*$/.exec(line)?.[1];
      if (fence === "") fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1] ?? "";
      else if (closer?.startsWith(fence)) fence = "";
    }
    return fence !== "" || /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.test(last);
  }

  #add(kind: string, piece: string): void {
    const { told } = this;
    if (told.at(-1)?.startsWith(kind)) told[told.length - 1] += piece;
    else told.push(kind + piece);
  }
}

// deno-fmt-ignore
const HARD = [
  "<think>", "</think>", "<think>", "</think>", "<THINK>", "</Think>", "<thinking>", "</thinking>", "<thought>", "</thought>",
  "<mm:think>", "</mm:think>", "<think", "</thin", "<", "</", "/", ">", "t", "hink>", "k>", "<mm:", "ing>", "İ", "\u212a",
  "`", "``", "```", "````", "```\n", "\n```", "\n```\n", "~~~", "~~~\n", "\n~~~~\n", "~", "\n", "\n", "\r\n", "\r", "\u2028", " ", "  ", "   ",
  "\t", "a", "b c", '"', "'", '"', "“", "”", "‘", "’", "«", "»", "„", "\u{1f600}", "\ud83d",
];

function randomText(random: Random, most: number): string {
  // A handful of pieces per text, so that they meet often.
  const pieces = Array.from({ length: 1 + random(7) }, () => HARD[random(HARD.length)]!);
  return Array.from({ length: random(most) }, () => pieces[random(pieces.length)]!).join("");
}

function randomChunks(random: Random, text: string): string[] {
  const chunks: string[] = [];
  const longest = 1 + random(random(4) === 0 ? 40 : 6);
  for (let i = 0; i < text.length;) chunks.push(text.slice(i, i += 1 + random(longest)));
  return chunks;
}

Deno.test("ReasoningSplitter agrees with the reference on 200,000 random texts in random chunks", () => {
  const random = seeded(1);
  for (let round = 0; round < 200_000; round++) {
    const text = randomText(random, 14);
    const native = random(4) === 0;
    const reference = new Reference();
    reference.read(text, native);
    const chunks = randomChunks(random, text);
    assertEquals(split(chunks, native).join("|"), reference.told.join("|"), JSON.stringify({ chunks, native }));
  }
});

Deno.test("ReasoningSplitter agrees with the reference when it is flushed in mid-message", () => {
  const random = seeded(2);
  for (let round = 0; round < 60_000; round++) {
    const reference = new Reference();
    const { told, splitter } = recorder();
    const parts = Array.from({ length: 1 + random(4) }, () => randomText(random, 6));
    for (const part of parts) {
      splitter.native ||= random(6) === 0;
      for (const chunk of randomChunks(random, part)) splitter.push(chunk);
      splitter.flush();
      reference.read(part, splitter.native);
    }
    assertEquals(told.join("|"), reference.told.join("|"), JSON.stringify(parts));
  }
});

Deno.test("ReasoningSplitter never holds more than a tag", () => {
  const random = seeded(3);
  for (let round = 0; round < 20_000; round++) {
    const { splitter, length } = recorder();
    let text = "";
    for (const chunk of randomChunks(random, randomText(random, 12))) {
      splitter.push(chunk);
      text += chunk;
      const reference = new Reference();
      reference.read(text, false);
      const decided = reference.told.join("").replaceAll(/end|retract/g, "").replaceAll(/[tk]:/g, "").length;
      assert(length() >= decided - 11, JSON.stringify(text));
    }
  }
});

// ---------------------------------------------------------------- cost

const FLOODS = [
  "<",
  "<think>",
  "</think>",
  "</think",
  "<think",
  "`",
  "\n```\n",
  "\n",
  " ",
  "~~~\n",
  '"<think>"',
  '"<think>',
];

Deno.test("stripReasoning is linear in whatever comes", () => {
  for (const piece of [...FLOODS, "<think></think>", "<think>a"]) {
    const text = flood(piece);
    assertQuick(JSON.stringify(piece), () => void stripReasoning(text));
    assertQuick(JSON.stringify(piece), () => void stripReasoning(text + "</think>"));
  }
});

Deno.test("ReasoningSplitter is linear in whatever comes, whole or character by character", () => {
  const ignore = () => {};
  for (const piece of FLOODS) {
    const text = flood(piece);
    for (const chunks of [[text], ["<think>" + text], [text + "a`<think>"], text]) {
      assertQuick(JSON.stringify(piece), () => {
        const read = createSplitter(ignore, ignore, ignore);
        for (const chunk of chunks) read(chunk, false);
        read("", false, true);
      });
    }
  }
});
