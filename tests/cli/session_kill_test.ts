import { assert, assertEquals, assertMatch } from "@std/assert";
import { Session } from "../../src/cli/session.ts";
import type { Message, ToolResultBlock } from "../../src/model/message.ts";
import { startEndpoint } from "../support/endpoint.ts";
import { denoArgs, inDirectory, spawn } from "./pawl.ts";

/** How often each test kills; the full proof is 200. */
const ROUNDS = Number(Deno.env.get("PAWL_TEST_KILLS") ?? 6);

function messagesOf(path: string): Message[] {
  using session = Session.open(path, { mustExist: true });
  return structuredClone(session.conversation.messages) as Message[];
}

/** What must be true of a session whose process was killed at any moment. */
function checkSurvivor(path: string, effects: readonly string[], before: readonly Message[]): Message[] {
  const messages = messagesOf(path);
  assertEquals(messages.slice(0, before.length), [...before], "what was kept is still there");
  const results = new Map<string, string>();
  for (const [i, message] of messages.entries()) {
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) continue;
    const answers = messages[i + 1]!.content as ToolResultBlock[];
    assertEquals(answers.map((answer) => answer.toolUseId), calls.map((call) => call.id), "each call has one result");
    for (const { toolUseId, content } of answers) {
      assert(!results.has(toolUseId));
      results.set(toolUseId, content);
    }
  }
  assertEquals(new Set(effects).size, effects.length, "no call ran twice");
  for (const id of effects) assertMatch(results.get(id) ?? "lost", /^done|may have taken effect$/);
  for (const [id, content] of results) if (content.startsWith("done")) assert(effects.includes(id));
  return messages;
}

/** The ids that the tool has written. */
async function effectsOf(path: string): Promise<string[]> {
  return (await Deno.readTextFile(path)).split("\n").slice(0, -1);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
}

Deno.test("Session survives kill -9 at any moment: nothing lost, no call without a result, none run twice", async () => {
  await inDirectory(async (dir) => {
    const [path, effectsFile] = [`${dir}/s.jsonl`, `${dir}/effects`];
    await Deno.writeTextFile(effectsFile, "");
    let messages: Message[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const driver = new URL("session_driver.ts", import.meta.url).href;
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "--no-config", "--no-lock", "--no-check", "--allow-all", driver, path, effectsFile],
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const reader = child.stdout.getReader();
      assertEquals((await reader.read()).done, false);
      await pause();
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      messages = checkSurvivor(path, await effectsOf(effectsFile), messages);
    }
    assert(messages.length > ROUNDS);
  });
});

Deno.test("pawl run --session survives kill -9 at any moment, in both dialects", async () => {
  await inDirectory(async (dir) => {
    const [path, effectsFile, toolsFile] = [`${dir}/s.jsonl`, `${dir}/effects`, `${dir}/tools.ts`];
    await Deno.writeTextFile(effectsFile, "");
    await Deno.writeTextFile(
      toolsFile,
      `export default {
        name: "effect",
        description: "Has an effect",
        inputSchema: { type: "object" },
        async run(_input, { call }) {
          await new Promise((resolve) => setTimeout(resolve, 2));
          Deno.writeTextFileSync(${JSON.stringify(effectsFile)}, call.id + "\\n", { append: true });
          await new Promise((resolve) => setTimeout(resolve, 2));
          return "done " + call.id;
        },
      };`,
    );
    let begun = () => {};
    const endpoint = startEndpoint({
      script({ messages }) {
        begun();
        // Never an end: what stops the run is the kill, or the bound of its turns.
        return { text: "Working. ", calls: Array(1 + messages.length % 3).fill({ name: "effect", input: { n: 1 } }) };
      },
    });
    try {
      let messages: Message[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const dialect = round % 2 ? ["anthropic_messages", ""] : ["openai_chat", "/v1"];
        const args = [
          "run",
          "-d",
          dialect[0]!,
          "--base-url",
          endpoint.url + dialect[1],
          "-m",
          "scripted",
          "--session",
          path,
        ];
        args.push("--tools-file", toolsFile, "--max-turns", "32", "Go on");
        const flags = [`--allow-net=${endpoint.host}`, `--allow-read=${dir}`, `--allow-write=${dir}`];
        const started = new Promise<void>((resolve) => begun = resolve);
        const child = spawn(Deno.execPath(), denoArgs(flags, args));
        const output = child.output();
        await Promise.race([started, output]);
        await pause();
        try {
          child.kill("SIGKILL");
        } catch {
          // It has come to its end before.
        }
        const { stderr } = await output;
        assertEquals(new TextDecoder().decode(stderr).match(/^error: (?!iteration_limit).*/m), null);
        messages = checkSurvivor(path, await effectsOf(effectsFile), messages);
      }
      assert(messages.length > ROUNDS);
    } finally {
      await endpoint.close();
    }
  });
});
