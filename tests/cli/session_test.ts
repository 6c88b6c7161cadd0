import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { sessionNeeds, sessionPath } from "../../src/cli/session_path.ts";
import { Session } from "../../src/cli/session.ts";
import { HEADER } from "../../src/cli/session_format.ts";
import { Conversation } from "../../src/model/conversation.ts";
import { isPawlError } from "../../src/model/error.ts";
import type { AgentEvent } from "../../src/model/event.ts";
import type { Message, ToolResultBlock, ToolUseBlock } from "../../src/model/message.ts";
import { moduleOf, runProgram } from "../support/program.ts";

function use(id: string): ToolUseBlock {
  return { type: "tool_use", id, name: "t", input: "{}" };
}

function result(toolUseId: string, content = `result of ${toolUseId}`): ToolResultBlock {
  return { type: "tool_result", toolUseId, content };
}

function orphan(toolUseId: string, isStarted: boolean): ToolResultBlock {
  const why = isStarted ? "interrupted while running, it may have taken effect" : "not run: interrupted";
  return { type: "tool_result", toolUseId, content: `error: ${why}`, isError: true };
}

function assistant(...ids: string[]): Message {
  return {
    role: "assistant",
    content: [{ type: "text", text: "ü😀\u2028" }, ...ids.map(use)],
    origin: { dialect: "d", model: "m" },
  };
}

function line(record: unknown): string {
  return JSON.stringify(record) + "\n";
}

async function withDir(test: (dir: string) => void | Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await test(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function messagesOf(path: string): readonly Message[] {
  using session = Session.open(path, { mustExist: true });
  return structuredClone(session.conversation.messages) as Message[];
}

/** What an agent does: the message is in the conversation when its event comes, the results are after the last of them. */
function play(session: Session, conversation: Conversation, events: AgentEvent[]): void {
  for (const event of events) {
    if (event.type === "message_complete") conversation.addAssistantMessage(event.message);
    session.record(event);
  }
}

function complete(message: Message): AgentEvent {
  return { type: "message_complete", message, stopReason: "tool_use" };
}

Deno.test("sessionPath, sessionNeeds: a name lies in .pawl/sessions, a path where it says", () => {
  assertEquals(sessionPath("notes"), ".pawl/sessions/notes.jsonl");
  assertEquals(sessionPath("a.b-c_1"), ".pawl/sessions/a.b-c_1.jsonl");
  assertEquals(sessionPath("./x"), "./x");
  assertEquals(sessionPath("x.jsonl"), "x.jsonl");
  assertEquals(sessionPath("/dev/full"), "/dev/full");
  for (const name of ["", ".", "..", "a b", "-x", ".hidden", "a\n", "x".repeat(101)]) {
    assertThrows(() => sessionPath(name), TypeError, "Cannot use the session name");
  }
  assertThrows(() => sessionPath("x".repeat(300)), TypeError, "it is longer than 100 characters");
  assertEquals(sessionNeeds(sessionPath("x")), { read: [".pawl/sessions"], write: [".pawl/sessions"] });
  assertEquals(sessionNeeds(), { read: [".pawl/sessions"], write: [".pawl/sessions"] });
  assertEquals(sessionNeeds("d/x.jsonl"), { read: ["d/x.jsonl"], write: ["d/x.jsonl"] });
  assertEquals(sessionNeeds("d/x.jsonl", { fork: true }), { read: ["d"], write: ["d"] });
});

Deno.test("Session writes each record before what follows it happens, and reads the same conversation back", async () => {
  await withDir((dir) => {
    const path = `${dir}/s.jsonl`;
    using session = Session.open(path);
    const { conversation } = session;
    const read = () => Deno.readTextFileSync(path);
    assertEquals(read(), HEADER);
    assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
    conversation.addSystemMessage("S");
    conversation.addUserMessage("Hi");
    session.save();
    session.save();
    const first = HEADER + line({ type: "message", message: conversation.messages[0] }) +
      line({ type: "message", message: conversation.messages[1] });
    assertEquals(read(), first);
    play(session, conversation, [complete(assistant("a", "b", "c"))]);
    const second = first + line({ type: "message", message: conversation.messages[2] });
    assertEquals(read(), second);
    play(session, conversation, [{ type: "tool_start", call: use("a") }]);
    assertEquals(read(), second + line({ type: "start", toolUseId: "a" }));
    play(session, conversation, [
      { type: "tool_result", call: use("a"), result: result("a") },
      { type: "tool_result", call: use("b"), result: result("b") },
    ]);
    const third = second + line({ type: "start", toolUseId: "a" }) + line({ type: "result", result: result("a") }) +
      line({ type: "result", result: result("b") });
    assertEquals(read(), third);
    conversation.addToolResults([result("a"), result("b"), orphan("c", false)]);
    session.save();
    assertEquals(read(), third + line({ type: "result", result: orphan("c", false) }));
    play(session, conversation, [complete(assistant())]);
    const want = structuredClone(conversation.messages);
    session.close();
    session.close();
    assertEquals(messagesOf(path), want);
    assertEquals(messagesOf(path), want);
    using again = Session.open(path);
    assertEquals(again.warnings, []);
  });
});

Deno.test("Session keeps nothing of a reply that the agent does not append", async () => {
  await withDir((dir) => {
    using session = Session.open(`${dir}/s`);
    session.conversation.addUserMessage("Hi");
    session.record({ type: "message_complete", message: assistant("a"), stopReason: "max_tokens" });
    session.close();
    assertEquals(messagesOf(`${dir}/s`).length, 1);
  });
});

Deno.test("Session.save follows a conversation that was cut, replaced or changed", async () => {
  await withDir((dir) => {
    const path = `${dir}/s`;
    using session = Session.open(path);
    const first = session.conversation;
    first.addUserMessage("one");
    first.addAssistantMessage(assistant("a"));
    session.save();
    session.toolStart(use("a"));
    session.toolResult(result("a"));
    first.addToolResults([result("a")]);
    first.addUserMessage("two");
    session.save();
    const kept = (count: number, change = (m: Message[]) => m) =>
      Conversation.fromJSON({
        version: 1,
        messages: change(structuredClone(first.messages.slice(0, count)) as Message[]),
      });
    const check = (conversation: Conversation) => {
      session.save(conversation);
      const copy = `${dir}/copy`;
      Deno.copyFileSync(path, copy);
      assertEquals(messagesOf(copy), conversation.messages);
    };
    check(kept(3));
    check(kept(4));
    check(kept(1));
    check(kept(4, (messages) => {
      (messages[2]!.content[0] as ToolResultBlock).content = "other";
      return messages;
    }));
    const fresh = new Conversation();
    check(fresh);
    fresh.addUserMessage("new");
    session.record(complete(assistant()));
    check(fresh);
    // Results are in the file, then the reply is taken back.
    fresh.addAssistantMessage(assistant("z"));
    session.save();
    session.toolStart(use("z"));
    session.toolResult(result("z"));
    check(Conversation.fromJSON({ version: 1, messages: fresh.messages.slice(0, 1) }));
    // Another result than the one that was told.
    const other = Conversation.fromJSON({ version: 1, messages: [...fresh.messages.slice(0, 2)] });
    session.save(other);
    session.toolResult(result("z"));
    other.addToolResults([result("z", "told differently")]);
    check(other);
  });
});

Deno.test("Session repairs a file that was cut at any byte", async () => {
  await withDir((dir) => {
    const path = `${dir}/s`;
    {
      using session = Session.open(path);
      session.conversation.addUserMessage("Hü");
      play(session, session.conversation, [
        complete(assistant("a", "b")),
        { type: "tool_start", call: use("a") },
        { type: "tool_result", call: use("a"), result: result("a") },
        { type: "tool_start", call: use("b") },
        { type: "tool_result", call: use("b"), result: result("b") },
      ]);
      session.conversation.addToolResults([result("a"), result("b")]);
      play(session, session.conversation, [complete(assistant())]);
    }
    const bytes = Deno.readFileSync(path);
    const text = new TextDecoder();
    for (let length = 0; length <= bytes.length; length++) {
      Deno.writeFileSync(path, bytes.subarray(0, length));
      const whole = text.decode(bytes.subarray(0, length)).split("\n").slice(0, -1);
      // A record whose line feed alone is missing is whole.
      if (bytes[length] === 10) whole.push("");
      const has = (count: number) => whole.length > count;
      using session = Session.open(path);
      const { messages } = session.conversation;
      const answers = !has(2) ? [] : [
        {
          role: "user",
          content: [has(4) ? result("a") : orphan("a", has(3)), has(6) ? result("b") : orphan("b", has(5))],
        },
      ];
      assertEquals(
        messages.map((message) => message.role),
        ["user", "assistant", "user", "assistant"].slice(0, has(7) ? 4 : has(2) ? 3 : has(1) ? 1 : 0),
      );
      assertEquals(messages.slice(2, 3), answers as Message[]);
      session.conversation.addUserMessage("on");
      session.save();
      session.close();
      using again = Session.open(path);
      assertEquals(again.warnings, []);
      assertEquals(again.conversation.messages, messages);
    }
  });
});

Deno.test("Session answers calls in the middle that have no result", async () => {
  await withDir((dir) => {
    const path = `${dir}/s`;
    const user: Message = { role: "user", content: [{ type: "text", text: "x" }] };
    const parts = [{ type: "message", message: assistant("a", "b") }, { type: "start", toolUseId: "a" }, {
      type: "message",
      message: user,
    }];
    Deno.writeTextFileSync(path, HEADER + "\n" + parts.map(line).join("\r\n"));
    using session = Session.open(path);
    const want: Message[] = [
      assistant("a", "b"),
      { role: "user", content: [orphan("a", true), orphan("b", false)] },
      user,
    ];
    assertEquals(session.conversation.messages, want);
    assertEquals(session.warnings, [`The session "${path}" was repaired: 2 calls had no result`]);
    session.save(Conversation.fromJSON({ version: 1, messages: want.slice(0, 2) }));
    session.close();
    assertEquals(messagesOf(path), want.slice(0, 2));
    // A message that answers one of two itself is completed.
    const half: Message = { role: "user", content: [result("b"), { type: "text", text: "and" }] };
    Deno.writeTextFileSync(path, HEADER + line(parts[0]) + line({ type: "message", message: half }));
    assertEquals(messagesOf(path)[1]!.content, [orphan("a", false), ...half.content]);
  });
});

Deno.test("Session drops results that answer no call, and goes on", async () => {
  await withDir((dir) => {
    const path = `${dir}/s`;
    const stray = line({ type: "start", toolUseId: "b" }) + line({ type: "result", result: result("b") });
    const answered = line({ type: "message", message: assistant("a") }) +
      line({ type: "result", result: result("a") }).repeat(2) + stray;
    const reply = { role: "assistant", content: [{ type: "text", text: "done" }] } as const;
    Deno.writeTextFileSync(path, HEADER + stray + answered + line({ type: "message", message: reply }) + stray);
    for (const more of [0, 1]) {
      using session = Session.open(path);
      const { messages } = session.conversation;
      assertEquals(messages.slice(0, 3), [assistant("a"), { role: "user", content: [result("a")] }, reply]);
      assertEquals(messages.length, 3 + more);
      assertEquals(session.warnings, [`The session "${path}" was repaired: ${4 - more} results had no call`]);
      session.conversation.addUserMessage("next");
      session.save();
    }
  });
});

Deno.test("Session leaves alone what it cannot repair", async () => {
  await withDir((dir) => {
    const path = `${dir}/s`;
    const message = { type: "message", message: { role: "user", content: [] } };
    const cases: [string, RegExp][] = [
      ["# A document\n", /it is no session$/],
      ["text", /it is no session$/],
      ["\n", /it is no session$/],
      ["{}\n", /it is no session$/],
      ['{"type":"session","version":2}\n', /its version is 2 and not 1$/],
      ['{"type":"session"}\n', /its version is undefined and not 1$/],
      [HEADER + "nonsense\n" + line(message), /no JSON in line 2$/],
      [HEADER + "nonsense\n", /no JSON in line 2$/],
      [HEADER + line(message) + "x\ny\n" + '{"type":', /no JSON in lines 3, 4$/],
      [HEADER + line(message) + line({ type: "other" }), /what is in line 3 does not belong there$/],
      [HEADER + line(null) + line(7) + line([]), /lines 2, 3, 4 does not/],
      [HEADER + line({ type: "message", message: { role: "root", content: [] } }), /line 2/],
      [HEADER + line({ type: "message", message: { role: "user", content: [null] } }), /line 2/],
      [HEADER + line({ type: "start" }), /line 2/],
      [
        HEADER + "x\n" + line({ type: "other" }) + line(message) + "y\n" + line(8),
        /: no JSON in lines 2, 5; what is in lines 3, 6 does not belong there$/,
      ],
      [
        HEADER + line({ type: "message", message: assistant("a") }) +
        line({ type: "result", result: { toolUseId: "a" } }),
        /line 3/,
      ],
    ];
    for (const [text, why] of cases) {
      Deno.writeTextFileSync(path, text);
      const error = assertThrows(() => Session.open(path), Error);
      assert(isPawlError(error, "invalid_session"), String(error));
      assertMatch(error.message, why);
      assertMatch(error.message, /^Cannot read the session "/);
      assertEquals(Deno.readTextFileSync(path), text);
    }
    for (const other of [dir, "/dev/full", "/dev/zero"]) {
      const error = assertThrows(() => Session.open(other), Error, "it is no regular file");
      assert(isPawlError(error, "invalid_session"));
    }
    assert(isPawlError(assertThrows(() => Session.open(`${dir}/absent`, { mustExist: true })), "invalid_session"));
    const alone = assertThrows(() => Session.open(`${dir}/absent/x`), Error, "its directory is missing");
    assert(isPawlError(alone, "invalid_session"));
  });
});

Deno.test("Session refuses a second writer, and forks what is in use", async () => {
  await withDir((dir) => {
    const path = `${dir}/s.jsonl`;
    using session = Session.open(path);
    session.conversation.addUserMessage("one");
    session.save();
    const error = assertThrows(() => Session.open(path));
    assert(isPawlError(error, "invalid_session"));
    assertStringIncludes(error.message, "another process is using it");
    const before = Deno.readTextFileSync(path);
    using fork = Session.fork(path);
    assertEquals(fork.path, `${dir}/s-2.jsonl`);
    fork.conversation.addUserMessage("two");
    fork.save();
    using second = Session.fork(path);
    assertEquals(second.path, `${dir}/s-3.jsonl`);
    assertEquals(second.conversation.messages.length, 1);
    assertThrows(() => Session.fork(path, `${dir}/s-2.jsonl`), Error, "exists");
    assertThrows(() => Session.fork(`${dir}/absent`), Error, "there is none");
    assertEquals(Deno.readTextFileSync(path), before);
    fork.close();
    assertEquals(messagesOf(`${dir}/s-2.jsonl`).length, 2);
    assertEquals((Deno.statSync(`${dir}/s-2.jsonl`).mode ?? 0) & 0o777, 0o600);
    session.close();
    Deno.chmodSync(path, 0o644);
    using again = Session.open(path);
    assertEquals((Deno.statSync(again.path).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("Session fails in one line where nothing more can be written, and loses nothing", async () => {
  await withDir(async (dir) => {
    const path = `${dir}/s`;
    const script = `
      import { Session } from ${JSON.stringify(new URL("../../src/cli/session.ts", import.meta.url).href)};
      const session = Session.open(${JSON.stringify(path)});
      try {
        for (let i = 0; i < 1000; i++) {
          session.conversation.addUserMessage("message " + i + " " + "x".repeat(500));
          session.save();
        }
      } catch (error) {
        console.log(error.code + ": " + error.message);
      }`;
    // A limit of the process on the size of its files stands in for a full disk: the write fails after a part of a record.
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        'trap "" XFSZ; ulimit -f 9; exec "$@"',
        "bash",
        Deno.execPath(),
        "run",
        "--no-config",
        "--no-lock",
        "--no-code-cache",
        `--allow-read=${path}`,
        `--allow-write=${path}`,
        `data:text/javascript,${encodeURIComponent(script)}`,
      ],
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(
      text,
      `output: Cannot write the session "${path}": file too large\n`,
      new TextDecoder().decode(stderr),
    );
    const messages = messagesOf(path);
    assert(messages.length > 5 && messages.length < 20);
    for (const [i, message] of messages.entries()) {
      assertMatch((message.content[0] as { text: string }).text, new RegExp(`^message ${i} x+$`));
    }
  });
});

Deno.test("latestSession finds the session of a name that was written last; a name is no link", async () => {
  await withDir(async (dir) => {
    const program = `
      import { latestSession, sessionPath } from ${moduleOf("src/cli/session_path.ts")};
      import { Session } from ${moduleOf("src/cli/session.ts")};
      const none = latestSession();
      for (const [i, name] of ["b", "a", "c"].entries()) {
        const session = Session.open(sessionPath(name));
        session.close();
        Deno.utimeSync(session.path, 0, name === "a" ? 100 : i);
      }
      Deno.writeTextFileSync(".pawl/sessions/notes.txt", "");
      const latest = latestSession();
      Deno.symlinkSync("../../outside", ".pawl/sessions/link.jsonl");
      let code;
      try {
        Session.open(sessionPath("link"));
      } catch (error) {
        code = error.code;
      }
      console.log(JSON.stringify([none ?? "none", latest, code]));`;
    assertEquals(await runProgram(dir, program), ["none", ".pawl/sessions/a.jsonl", "invalid_session"]);
    assertEquals((Deno.statSync(`${dir}/.pawl/sessions`).mode ?? 0) & 0o777, 0o700);
    assertThrows(() => Deno.statSync(`${dir}/outside`), Deno.errors.NotFound);
  });
});

Deno.test("Session says which permission it lacks", async () => {
  await withDir(async (dir) => {
    const script = `
      import { Session } from ${JSON.stringify(new URL("../../src/cli/session.ts", import.meta.url).href)};
      import { sessionPath } from ${JSON.stringify(new URL("../../src/cli/session_path.ts", import.meta.url).href)};
      try { Session.open(sessionPath("x")).close(); console.log("ok"); } catch (error) { console.log(error.code + ": " + error.message); }`;
    const run = async (...flags: string[]) => {
      const { stdout } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--no-config",
          "--no-lock",
          "--no-prompt",
          ...flags,
          `data:text/javascript,${encodeURIComponent(script)}`,
        ],
        cwd: dir,
      }).output();
      return new TextDecoder().decode(stdout).trim();
    };
    const { read, write } = sessionNeeds(sessionPath("x"));
    const flags = [`--allow-read=${read}`, `--allow-write=${write}`];
    for (const flag of flags) {
      const text = await run(...flags.filter((other) => other !== flag));
      assertMatch(text, /^permission: Cannot use the session/);
      assertStringIncludes(text, flags.join(" "));
    }
    assertEquals(await run(...flags), "ok");
    assertEquals(await run(...flags), "ok");
  });
});
