import { assertEquals } from "@std/assert";
import { activeMapFlags } from "../../scripts/deps.ts";
import { WRITERS } from "../support/writer.ts";
import { type Client, drive } from "./drive.ts";

/** What a client looks like that trusts its endpoint. */
const NAIVE = `
  const key = Deno.env.get("CANARY");
  const [base, dialect] = Deno.args;
  const path = dialect === "openai_chat" ? "/chat/completions" : "/v1/messages";
  const response = await fetch(base + path, {
    method: "POST",
    headers: { authorization: "Bearer " + key, "x-api-key": key },
    body: JSON.stringify({ stream: true, messages: [{ role: "user", content: "hello" }] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  console.log([...text.matchAll(/"(?:content|text)":"(.*?)"/g)].map(([, piece]) => piece).join(""));
`;
const FLAGS = ["run", "--no-prompt", "--no-check", ...activeMapFlags(), "--allow-net=127.0.0.1", "--allow-env=CANARY"];
const PROGRAM = new URL("./program.ts", import.meta.url).pathname;

/** What is wrong about a naive client, and nothing about ours. */
const FOUND: Record<string, string[]> = {
  "ok": [],
  "missing-done": ['success was told: "half an ans\\n"'],
  "redirect-cross-origin": [
    'success was told: "I have your conversation\\n"',
    "the conversation went to another origin with the key",
  ],
  "key-echo": ["a part of the key was printed", "a stack trace was printed"],
  "escape-error-short": ["raw control characters on standard error", "a stack trace was printed"],
};

Deno.test("drive finds what is wrong about a naive client, and nothing about ours", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, NAIVE);
  const naive: Client = { name: "naive", command: [Deno.execPath(), ...FLAGS, file, "{base}", "{dialect}"] };
  const own: Client = { name: "own", command: [Deno.execPath(), ...FLAGS, PROGRAM, "{base}", "{dialect}"] };
  try {
    for (const [attack, wrong] of Object.entries(FOUND)) {
      for (const writer of WRITERS) {
        assertEquals((await drive(own, attack, writer)).wrong, [], attack);
        assertEquals(
          (await drive(naive, attack, writer)).wrong,
          wrong,
          attack,
        );
      }
    }
  } finally {
    await Deno.remove(file);
  }
});
