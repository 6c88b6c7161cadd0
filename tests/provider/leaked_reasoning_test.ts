import { assert, assertEquals } from "@std/assert";
import type { ContentBlock } from "@pawl/pawl";
import { decode } from "../support/decode.ts";
import { tellRun } from "../support/tell.ts";
import { type Part, type ReplyScript, type Writer, WRITERS } from "../support/writer.ts";

/** A block in short: `T:` reasoning, `X:` text, `C` a call. */
type Short = string;

interface Row {
  /** The text that the endpoint sends. */
  text: string;
  blocks: Short[];
  /** Reasoning in a field of its own before the text. */
  native?: string;
  /** A call behind the text. */
  call?: true;
}

const FENCE = "```\n<think>a</think>\n```\n";

const ROWS: Row[] = [
  // Closed.
  { text: "<think>plan</think>Answer", blocks: ["T:plan", "X:Answer"] },
  { text: "<think>\nplan\n</think>\n\nAnswer", blocks: ["T:plan", "X:Answer"] },
  { text: "<think>\r\nplan\r\n</think>\r\n\r\nAnswer", blocks: ["T:plan", "X:Answer"] },
  { text: "a <think>b</think> c", blocks: ["X:a ", "T:b", "X:c"] },
  { text: "> <think>a</think>b", blocks: ["X:> ", "T:a", "X:b"] },
  { text: "Answer\n<think>b</think>", blocks: ["X:Answer\n", "T:b"] },
  { text: "<think>a</think>", blocks: ["T:a"] },
  { text: "<think>👋 </think> 👋", blocks: ["T:👋", "X:👋"] },
  { text: "<think>```</think>ok", blocks: ["T:```", "X:ok"] },
  { text: "<think>`</think>`ok`", blocks: ["T:`", "X:`ok`"] },
  { text: "(<think>a</think>)", blocks: ["X:(", "T:a", "X:)"] },
  // Nothing thought.
  { text: "<think></think>Answer", blocks: ["X:Answer"] },
  { text: "<think> \n\n</think>\n\nAnswer", blocks: ["X:Answer"] },
  { text: "a<think></think>b", blocks: ["X:ab"] },
  { text: "<think></think>", blocks: [] },
  // Unclosed.
  { text: "<think>plan", blocks: ["T:plan"] },
  { text: "Answer <think>oops", blocks: ["X:Answer ", "T:oops"] },
  { text: "Answer <think>", blocks: ["X:Answer "] },
  { text: "<think>a</think>b<think>c", blocks: ["T:a", "X:b", "T:c"] },
  { text: "<think>plan</thin", blocks: ["T:plan</thin"] },
  // The template ate the opener.
  { text: "plan</think>Answer", blocks: ["T:plan", "X:Answer"] },
  { text: "plan\n</think>\n\nAnswer", blocks: ["T:plan", "X:Answer"] },
  { text: "\n plan </think>Answer", blocks: ["T:plan", "X:Answer"] },
  { text: "a</think>b</think>c", blocks: ["T:a", "T:b", "X:c"] },
  { text: "a</think>b<think>c", blocks: ["T:a", "X:b", "T:c"] },
  { text: "plan</think>", blocks: ["T:plan"] },
  { text: "</think>Answer", blocks: ["X:Answer"] },
  { text: "</think>\n\nAnswer", blocks: ["X:Answer"] },
  { text: "</think></think>Answer", blocks: ["X:Answer"] },
  { text: "<think>a</think>\n</think>\nAnswer", blocks: ["T:a", "X:Answer"] },
  { text: "</think>", blocks: [] },
  { text: "<think foo>a</think>b", blocks: ["T:<think foo>a", "X:b"] },
  // Nested and twice.
  { text: "<think>a<think>b</think>c</think>d", blocks: ["T:a<think>b", "T:c", "X:d"] },
  { text: "x<think>a</think>y<think>b</think>z", blocks: ["X:x", "T:a", "X:y", "T:b", "X:z"] },
  { text: "<think>a</think><think>b</think>z", blocks: ["T:a", "T:b", "X:z"] },
  { text: "<thinking>a<think>b</think>c</thinking>d", blocks: ["T:a<think>b</think>c", "X:d"] },
  // Letter case and the other names.
  { text: "<THINK>a</THINK>b", blocks: ["T:a", "X:b"] },
  { text: "<Think>a</thINK>b", blocks: ["T:a", "X:b"] },
  { text: "a</THINK>b", blocks: ["T:a", "X:b"] },
  { text: "<thinking>a</thinking>b", blocks: ["T:a", "X:b"] },
  { text: "<thought>a</thought>\nb", blocks: ["T:a", "X:b"] },
  { text: "<mm:think>a</mm:think>b", blocks: ["T:a", "X:b"] },
  { text: "a</mm:think>b", blocks: ["T:a", "X:b"] },
  { text: "a</thinking>b", blocks: ["T:a", "X:b"] },
  { text: "a</Thought> b", blocks: ["T:a", "X:b"] },
  { text: "<think>a</thinking>b</think>c", blocks: ["T:a</thinking>b", "X:c"] },
  { text: "<mm:think>a</think>b</mm:think>c", blocks: ["T:a</think>b", "X:c"] },
  { text: "<thought>a", blocks: ["T:a"] },
  // What only looks like a tag.
  { text: "a < b > c", blocks: ["X:a < b > c"] },
  { text: "< think>a</ think>", blocks: ["X:< think>a</ think>"] },
  { text: "<thinker>a</thinks>", blocks: ["X:<thinker>a</thinks>"] },
  { text: "<think/>a", blocks: ["X:<think/>a"] },
  { text: "<thi", blocks: ["X:<thi"] },
  { text: "Answer </think", blocks: ["X:Answer </think"] },
  { text: "a <", blocks: ["X:a <"] },
  { text: "<<think>a</think>b", blocks: ["X:<", "T:a", "X:b"] },
  { text: "<think<think>a</think>b", blocks: ["X:<think", "T:a", "X:b"] },
  { text: "</</think>b", blocks: ["T:</", "X:b"] },
  // Inside inline code.
  { text: "Use `<think>` here", blocks: ["X:Use `<think>` here"] },
  { text: "Use `</think>` here", blocks: ["X:Use `</think>` here"] },
  { text: "`x <think> y`", blocks: ["X:`x <think> y`"] },
  { text: "``<think>`` it", blocks: ["X:``<think>`` it"] },
  { text: "`a` <think>b</think>c", blocks: ["X:`a` ", "T:b", "X:c"] },
  { text: "`a\n<think>b</think>c", blocks: ["X:`a\n", "T:b", "X:c"] },
  { text: "`<think>", blocks: ["X:`<think>"] },
  { text: "- `<think>` on\n- `</think>` off", blocks: ["X:- `<think>` on\n- `</think>` off"] },
  // Inside fenced code.
  { text: FENCE, blocks: [`X:${FENCE}`] },
  { text: `${FENCE}<think>b</think>c`, blocks: [`X:${FENCE}`, "T:b", "X:c"] },
  { text: "```xml\n</think>\nend", blocks: ["X:```xml\n</think>\nend"] },
  { text: "~~~\n<think>\n~~~\nok", blocks: ["X:~~~\n<think>\n~~~\nok"] },
  { text: "   ```\n<think>\n   ```", blocks: ["X:   ```\n<think>\n   ```"] },
  { text: "    ```\n<think>a</think>b", blocks: ["X:    ```\n", "T:a", "X:b"] },
  { text: "````\n```\n<think>\n````\n", blocks: ["X:````\n```\n<think>\n````\n"] },
  { text: "```\n~~~\n</think>\n```\n", blocks: ["X:```\n~~~\n</think>\n```\n"] },
  { text: "```\n``` x\n<think>\n```\n", blocks: ["X:```\n``` x\n<think>\n```\n"] },
  { text: `<think>a</think>${FENCE}`, blocks: ["T:a", `X:${FENCE}`] },
  { text: `hm</think>\n${FENCE}`, blocks: ["T:hm", `X:${FENCE}`] },
  // Quoted by an answer about the tag.
  { text: 'The "<think>" tag', blocks: ['X:The "<think>" tag'] },
  { text: "The '</think>' tag", blocks: ["X:The '</think>' tag"] },
  { text: "The “<think>” tag", blocks: ["X:The “<think>” tag"] },
  { text: "The «</think>» tag", blocks: ["X:The «</think>» tag"] },
  { text: "The ‘<thought>’ tag", blocks: ["X:The ‘<thought>’ tag"] },
  { text: 'say "<think>', blocks: ['X:say "'] },
  { text: '"<think>hm</think>"', blocks: ['X:"', "T:hm", 'X:"'] },
  { text: '<think>use "</think>" ok</think>end', blocks: ['T:use "', 'T:" ok', "X:end"] },
  { text: '<think>a</think>"<think>"', blocks: ["T:a", 'X:"<think>"'] },
  { text: 'hm</think>It ends with "</think>".', blocks: ["T:hm", 'X:It ends with "</think>".'] },
  // Beside reasoning in a field of its own.
  { native: "hm", text: "a</think>b", blocks: ["T:hm", "X:a</think>b"] },
  { native: "hm", text: "</think>b", blocks: ["T:hm", "X:</think>b"] },
  { native: "hm", text: "<think>hm</think>b", blocks: ["T:hm", "T:hm", "X:b"] },
  { native: "<think>hm", text: "b", blocks: ["T:<think>hm", "X:b"] },
  { native: "", text: "a</think>b", blocks: ["T:a", "X:b"] },
  // Before a call.
  { text: "<think>plan", call: true, blocks: ["T:plan", "C"] },
  { text: "<think>plan</think>", call: true, blocks: ["T:plan", "C"] },
  { text: "plan</think>", call: true, blocks: ["T:plan", "C"] },
  { text: "<think>plan</think>\n\n", call: true, blocks: ["T:plan", "C"] },
  { text: "hm</think>Look.", call: true, blocks: ["T:hm", "X:Look.", "C"] },
  { text: "Look <thi", call: true, blocks: ["X:Look <thi", "C"] },
  { text: "</think>", call: true, blocks: ["C"] },
  { text: "Look.\n", call: true, blocks: ["X:Look.\n", "C"] },
];

function short(block: ContentBlock): Short {
  return block.type === "text" ? `X:${block.text}` : block.type === "thinking" ? `T:${block.text}` : "C";
}

const CALL = { id: "c1", name: "look", args: ["{}"] };

function script({ native, call }: Row, text: string[]): ReplyScript {
  const parts: Part[] = [{ text: text.filter((piece) => piece !== "") }];
  if (native !== undefined) parts.unshift({ thinking: [native] });
  if (call) parts.push({ call: CALL });
  return { parts, end: call ? "tool_use" : "end_turn" };
}

function check(writer: Writer, row: Row): number {
  const { text } = row;
  const uncut = decode(writer, script(row, [text]));
  assertEquals(uncut.complete.message.content.map(short), row.blocks);
  let splits = 0;
  for (let a = 0; a <= text.length; a++) {
    for (let b = a; b <= text.length; b++) {
      const pieces = [text.slice(0, a), text.slice(a, b), text.slice(b)];
      const cut = decode(writer, script(row, pieces));
      assertEquals(cut, uncut, JSON.stringify(pieces));
      splits++;
    }
  }
  return splits;
}

assert(ROWS.length >= 80);

for (const writer of WRITERS) {
  Deno.test(`thinkTags auto: ${ROWS.length} texts at every split of two cuts, ${writer.dialect.name}`, async (t) => {
    let splits = 0;
    for (const row of ROWS) {
      const name = JSON.stringify(row.text) + (row.native === undefined ? "" : " beside reasoning") +
        (row.call ? " before a call" : "");
      try {
        splits += check(writer, row);
      } catch (error) {
        await t.step(name, () => {
          throw error;
        });
      }
    }
    console.log(`      ${splits} splits`);
  });

  Deno.test(`RunResult.text: holds the answer and no reasoning, ${writer.dialect.name}`, async () => {
    for (const row of ROWS.filter(({ call }) => !call)) {
      for (const pieces of [[row.text], [...row.text]]) {
        const { result, error } = await tellRun(writer, [script(row, pieces)]);
        const answer = row.blocks.filter((block) => block.startsWith("X:")).map((block) => block.slice(2)).join("")
          .trim();
        if (answer === "") assertEquals((error as { code: string }).code, "empty_reply", row.text);
        else assertEquals((result as { text: string }).text, answer, row.text);
      }
    }
  });

  Deno.test(`RunResult.text: stays clean over several replies of one loop, ${writer.dialect.name}`, async () => {
    const look = {
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      run: () => "a <think>b</think> in a file",
    };
    const told = await tellRun(writer, [
      script({ text: "", blocks: [], call: true }, ["<think>", "first</think>Looking."]),
      script({ text: "", blocks: [], call: true }, ["second</thi", "nk>"]),
      script({ text: "", blocks: [] }, ["third\n</think>\n\n", "Found `<think>`."]),
    ], { agent: { tools: [look] } });
    const { text, message } = told.result as { text: string; message: { content: ContentBlock[] } };
    assertEquals(text, "Found `<think>`.");
    assertEquals(message.content.map(short), ["T:third", "X:Found `<think>`."]);
    const messages = told.events.filter((event) => event.type === "message_complete");
    assertEquals(messages.map(({ message }) => message.content.map(short)), [
      ["T:first", "X:Looking.", "C"],
      ["T:second", "C"],
      ["T:third", "X:Found `<think>`."],
    ]);
    // What a tool read is no text of the model: it is not touched.
    assertEquals(told.events.find((event) => event.type === "tool_result")?.result.content, look.run());
  });

  Deno.test(`thinkTags off: text passes untouched, ${writer.dialect.name}`, () => {
    for (const row of ROWS) {
      const { complete } = decode(writer, script(row, [...row.text]), "off");
      const text = complete.message.content.filter((block) => block.type === "text").map(({ text }) => text).join("");
      assertEquals(text.trim(), row.text.trim());
    }
  });
}
