import { assertEquals, assertMatch } from "@std/assert";
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
const ROOT = new URL("../../", import.meta.url).pathname;
const PROGRAM = `${ROOT}tests/hostile/program.ts`;

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

/** Answers rightly, and holds 200 MiB when it is attacked. */
const LEAKING = `
  const [base, attack] = Deno.args;
  const held = Array.from({ length: attack === "ok" ? 0 : 200 }, () => new Uint8Array(1024 * 1024).fill(1));
  await (await fetch(base + "/chat/completions", { method: "POST" })).text();
  console.log(held.length > 0 ? "all good €" : "all good");
`;

// With the permissions of the task: with fewer it once read no memory, and told that none had grown.
Deno.test({
  name: "deno task hostile tells a client whose memory grows",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
    const [run, ...rest] = tasks.hostile.command.split("scripts/deps.ts ")[1].split(" ");
    const folder = await Deno.makeTempDir();
    const program = `${folder}/leaking.ts`, json = `${folder}/rows.json`;
    await Deno.writeTextFile(program, LEAKING);
    const options = ["--only", "ok-odd-framing", "--dialect", "openai_chat", "--json", json];
    const command = ["--command", Deno.execPath(), ...FLAGS, program, "{base}", "{attack}"];
    try {
      const args = [run, ...activeMapFlags(), "--no-check", ...rest, ...options, ...command];
      const { code, stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
      const said = new TextDecoder().decode(stdout);
      assertMatch(said, /^WRONG command openai_chat ok-odd-framing: memory grew by 2\d\d MiB \(/m);
      assertMatch(said, /^command +openai_chat +1 of 2 +\+2\d\d MiB ok-odd-framing /m);
      assertEquals(code, 1);
      const rows = (await Deno.readTextFile(json)).trim().split("\n").map((line) => JSON.parse(line));
      assertEquals(rows.map(({ attack, peakMib }) => [attack, peakMib > 20]), [["ok", true], ["ok-odd-framing", true]]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
