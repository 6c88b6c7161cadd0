import { assertEquals } from "@std/assert";
import type { Chat } from "../../src/cli/chat.ts";
import { understand } from "../../src/cli/slash.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { inDirectory } from "./pawl.ts";

Deno.test("understand gives a command up that waits for a FIFO, and does nothing of it afterwards", async () => {
  await inDirectory(async (directory) => {
    const conversation = new Conversation();
    const chat = { conversation, setSystem: () => conversation.addUserMessage("set") } as unknown as Chat;
    for (const command of ["/load ", "/save ", "/system @"]) {
      // Each its own: two openings of one side are not told apart.
      const fifo = `${directory}/${command.slice(1, 5)}`;
      await new Deno.Command("mkfifo", { args: [fifo] }).output();
      const turn = new AbortController();
      const done = understand(chat, command + fifo, turn.signal);
      turn.abort("enough");
      const late = Promise.withResolvers<string>();
      const timer = setTimeout(late.resolve, 5000, "still waiting");
      assertEquals(await Promise.race([done.then(() => "done", (reason) => reason), late.promise]), "enough");
      clearTimeout(timer);
      // Now there is somebody on the other side.
      if (command === "/save ") assertEquals(await Deno.readTextFile(fifo), "");
      else await Deno.writeTextFile(fifo, '{"version":1,"messages":[]}');
    }
    await new Promise((done) => setTimeout(done, 300));
    assertEquals([chat.conversation === conversation, conversation.messages.length], [true, 0]);
  });
});
