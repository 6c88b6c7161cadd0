import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CliError } from "../../src/cli/exit.ts";
import {
  assemblePrompt,
  fence,
  firstFence,
  promptFiles,
  readText,
  textOrFile,
  withAttachments,
} from "../../src/cli/input.ts";

const FILES: Record<string, string> = { "a.ts": "let a;\n", "b.md": "```js\nx\n```" };

function assemble(words: string[], stdin?: string): Promise<string> {
  return assemblePrompt(words, {
    text: (path) => Promise.resolve(FILES[path]!),
    ...stdin !== undefined && { stdin: () => Promise.resolve(stdin) },
  });
}

Deno.test("assemblePrompt joins words with a blank", async () => {
  assertEquals(await assemble(["Why is", "the", "sky blue?"]), "Why is the sky blue?");
});

Deno.test("assemblePrompt puts files into fences longer than any in them", async () => {
  assertEquals(
    await assemble(["Compare", "@a.ts", "with", "@b.md", "please"]),
    "Compare\n\na.ts:\n```\nlet a;\n```\n\nwith\n\nb.md:\n````\n```js\nx\n```\n````\n\nplease",
  );
});

Deno.test("assemblePrompt takes @@ for @, and a lone @ as a word", async () => {
  assertEquals(await assemble(["mail", "@@me", "@", "a@b"]), "mail @me @ a@b");
});

Deno.test("assemblePrompt appends standard input in a fence, and takes it as it is where there are no words", async () => {
  assertEquals(await assemble(["Explain", "-"], "x ``` y\n"), "Explain\n\n````\nx ``` y\n````");
  assertEquals(await assemble(["-"], "What is this?\n"), "What is this?\n");
  assertEquals(await assemble(["Explain"], " \n"), "Explain");
  assertEquals(await assemble([], ""), "");
});

Deno.test("promptFiles names what assemblePrompt reads", () => {
  assertEquals(promptFiles(["a", "@x", "@@y", "@", "-", "@d/e f"]), ["x", "d/e f"]);
});

Deno.test("fence is longer than any run of backticks", () => {
  assertEquals(fence("a"), "```\na\n```");
  assertEquals(fence("`````"), "``````\n`````\n``````");
});

Deno.test("firstFence finds the inside of the first fenced block", () => {
  assertEquals(firstFence("Here:\n```ts\nlet a;\n\nlet b;\n```\nand\n```\nc\n```"), "let a;\n\nlet b;");
  assertEquals(firstFence("~~~\n```\ninner\n```\n~~~"), "```\ninner\n```");
  assertEquals(firstFence("````md\n```\nx\n```\n````"), "```\nx\n```");
  assertEquals(firstFence("```\ncut off"), "cut off");
  assertEquals(firstFence("```\n```"), "");
  assertEquals(firstFence("no block, only ```inline``` code"), undefined);
});

async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function refusal(act: () => Promise<unknown>): Promise<string> {
  const error = await assertRejects(act, CliError);
  assertEquals(error.exit, 2);
  return error.message;
}

Deno.test("readText says in one line why a file cannot be read", async () => {
  await inDirectory(async (directory) => {
    assertStringIncludes(await refusal(() => readText(`${directory}/none`)), "there is no such file");
    assertStringIncludes(await refusal(() => readText(directory)), "is a directory");
    await Deno.writeFile(`${directory}/binary`, new Uint8Array([0xff, 0xfe, 0x00]));
    assertStringIncludes(await refusal(() => readText(`${directory}/binary`)), "is no UTF-8 text");
  });
});

Deno.test("textOrFile reads @FILE, and @@ as a text", async () => {
  await inDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/system.md`, "\ufeffBe brief.");
    assertEquals(await textOrFile(`@${directory}/system.md`), "Be brief.");
    assertEquals(await textOrFile("@@home"), "@home");
    assertEquals(await textOrFile("plain"), "plain");
  });
});

Deno.test("withAttachments knows images by their first bytes, and texts", async () => {
  await inDirectory(async (directory) => {
    await Deno.writeFile(`${directory}/x.bin`, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]));
    await Deno.writeTextFile(`${directory}/note`, "hello");
    const content = await withAttachments("What?", [`${directory}/x.bin`, `${directory}/note`]);
    assertEquals(content, [
      { type: "image", mediaType: "image/png", data: "iVBORw0KGgoB" },
      { type: "text", text: `${directory}/note:\n\`\`\`\nhello\n\`\`\`` },
      { type: "text", text: "What?" },
    ]);
    await Deno.writeFile(`${directory}/odd`, new Uint8Array([0xff, 0x00]));
    assertStringIncludes(
      await refusal(() => withAttachments("", [`${directory}/odd`])),
      "neither UTF-8 text nor a PNG",
    );
    assertEquals(await withAttachments("plain", []), "plain");
  });
});
