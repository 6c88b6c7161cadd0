import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Endpoint, type EndpointOptions, startEndpoint } from "../support/endpoint.ts";
import { inDirectory } from "./pawl.ts";
import { HAS_SCRIPT, HAS_TMUX, onTerminal, Tmux } from "./tmux.ts";

function terminalTest(name: string, options: EndpointOptions, use: (endpoint: Endpoint) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !HAS_TMUX || !HAS_SCRIPT,
    async fn() {
      const endpoint = startEndpoint(options);
      try {
        await use(endpoint);
      } finally {
        await endpoint.close();
        // A reply that was stopped may still be in one of its pauses.
        if (options.pauseMs) await new Promise((done) => setTimeout(done, options.pauseMs! * 3));
      }
    },
  });
}

function at({ url }: Endpoint, command: string, ...args: string[]): string[] {
  return [command, "--base-url", `${url}/v1`, "-m", "scripted", ...args];
}

const PROMPT = /> $|>$/;

terminalTest(
  "pawl chat on a terminal has history, completion, several lines in one message, and ends at Ctrl-D",
  {},
  async (endpoint) => {
    await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
    await tmux.shows(/scripted at 127\.0\.0\.1:\d+, replies of up to 8192 tokens/);
    await tmux.type("grüße", "Enter");
    const first = await tmux.shows('You said "grüße", and I heard it.');
    assertStringIncludes(first, "thinking: This is message 1 of the user.");
    await tmux.type("Up", "Enter");
    await tmux.shows(/message 2 of the user[^]*You said "grüße", and I heard it\.\n>/);
    await tmux.paste("one\ntwo\nthree\n");
    await tmux.shows('You said "one\\ntwo\\nthree", and I heard it.');
    await tmux.type("four\\", "Enter");
    await tmux.shows(/^…/m);
    await tmux.type("five", "Enter");
    await tmux.shows('You said "four\\nfive", and I heard it.');
    await tmux.type("/usa", "Tab", "Enter");
    await tmux.shows(/tokens: \d+ in, \d+ out/);
    await tmux.type("/nope", "Enter");
    await tmux.shows('error: usage: There is no command "/nope"');
    await tmux.type("C-d");
    await tmux.shows("EXIT 0");
    assertEquals(endpoint.heard.at(-1)!.messages.length, 7);
  },
);

terminalTest("pawl chat takes a long line at once when it is pasted", {}, async (endpoint) => {
  const long = "Größe\tund 大きさ ".repeat(500);
  await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
  await tmux.shows(PROMPT);
  await tmux.type("it begins ");
  await tmux.paste(`${long}\nand ends`);
  await tmux.type("here", "Enter");
  await tmux.shows('You said "it begins Größe');
  assertEquals(endpoint.heard[0]!.messages[0]!.text, `it begins ${long}\nand endshere`);
});

terminalTest(
  "pawl chat keeps the conversation when Ctrl-C stops a reply, and leaves at a second one",
  { pauseMs: 60 },
  async (endpoint) => {
    await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
    await tmux.shows(PROMPT);
    await tmux.type("hello", "Enter");
    await tmux.shows("thinking: This");
    await tmux.type("C-c");
    await tmux.shows("(stopped; Ctrl-C again leaves)");
    await new Promise((done) => setTimeout(done, 2100));
    await tmux.type("again", "Enter");
    await tmux.shows('You said "again", and I heard it.');
    await tmux.shows(/it\.\n>/);
    assertEquals(endpoint.heard.at(-1)!.messages.map(({ role }) => role), ["user", "user"]);
    await tmux.type("given up", "C-c");
    await tmux.shows("(Ctrl-C again leaves)");
    await tmux.type("C-c");
    await tmux.shows("EXIT 130");
  },
);

terminalTest(
  "pawl chat tells once, on a line of its own, that SIGTERM has stopped it",
  { script: () => ({ text: "word ".repeat(300) }), pauseMs: 30 },
  async (endpoint) => {
    for (const isIdle of [false, true]) {
      await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
      await tmux.shows(PROMPT);
      await tmux.type("hello");
      if (!isIdle) await tmux.type("Enter");
      await tmux.shows(isIdle ? "> hello" : "word word");
      await tmux.signal("SIGTERM");
      assertMatch(await tmux.shows("EXIT 143"), /(word|> hello)\nerror: aborted: Stopped by SIGTERM\nEXIT 143/);
    }
  },
);

Deno.test({
  name: "pawl chat stops what a command waits for when Ctrl-C is pressed, and leaves at a second one",
  ignore: !HAS_TMUX,
  async fn() {
    const asked = Promise.withResolvers<void>();
    // It never answers.
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ signal }) => {
      asked.resolve();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(new Response())));
    });
    try {
      await inDirectory(async (directory) => {
        const fifo = `${directory}/fifo`;
        await new Deno.Command("mkfifo", { args: [fifo] }).output();
        const host = `127.0.0.1:${server.addr.port}`;
        const flags = [`--allow-net=${host}`, `--allow-read=${directory}`];
        await using tmux = await Tmux.start(flags, ["chat", "--base-url", `http://${host}/v1`, "-m", "m"]);
        await tmux.shows(PROMPT);
        await tmux.type("/model", "Enter");
        await asked.promise;
        await tmux.type("C-c");
        await tmux.shows(/> \/model[^]*\(stopped; Ctrl-C again leaves\)\n>$/);
        await new Promise((done) => setTimeout(done, 2100));
        await tmux.type(`/load ${fifo}`, "Enter");
        // It opens once somebody reads it.
        using _writer = await Deno.open(fifo, { write: true });
        await tmux.type("C-c");
        await tmux.shows(/> \/load [^]*\(stopped; Ctrl-C again leaves\)\n>$/);
        await tmux.type("C-c");
        await tmux.shows("EXIT 130");
      });
    } finally {
      await server.shutdown();
    }
  },
});

terminalTest("pawl chat goes on when Ctrl-C is pressed at the question for a model", {}, async (endpoint) => {
  await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
  await tmux.shows(PROMPT);
  await tmux.type("/model", "Enter");
  await tmux.shows(/Model[^]*scripted/);
  await tmux.type("C-c");
  await tmux.shows(/\(stopped; Ctrl-C again leaves\)\n>$/);
  await tmux.type("hi", "Enter");
  await tmux.shows('You said "hi", and I heard it.');
});

terminalTest(
  "pawl asks before a tool that writes, and Ctrl-C at the question stops the reply",
  {},
  async (endpoint) => {
    await inDirectory(async (directory) => {
      const flags = [`--allow-net=${endpoint.host}`, `--allow-read=${directory}`, `--allow-write=${directory}`];
      await using tmux = await Tmux.start(flags, at(endpoint, "chat", "-t", `write_file=${directory}`));
      await tmux.shows(PROMPT);
      for (const [answer, outcome] of [["y", "✓ write_file"], ["n", "error: denied: the user does not allow it"]]) {
        await tmux.type(`call write_file for ${directory}/a.txt`, "Enter");
        await tmux.shows(/the model wants to use write_file:[^]*Allow it\?[^\n]*$/);
        await tmux.type(answer!, "Enter");
        await tmux.shows(outcome!);
        await tmux.shows(/\n>$/);
        await tmux.type("/reset", "Enter");
        await tmux.shows(/\(a new conversation\)\n>$/);
      }
      assertEquals(await Deno.readTextFile(`${directory}/a.txt`), `${directory}/a.txt`);
      await tmux.type(`call write_file for ${directory}/b.txt`, "Enter");
      await tmux.shows(/Allow it\?[^\n]*$/);
      await tmux.type("C-c");
      await tmux.shows("(stopped; Ctrl-C again leaves)");
      await tmux.type("hello", "Enter");
      await tmux.shows('You said "hello", and I heard it.');
      const results = endpoint.heard.at(-1)!.messages.flatMap(({ results }) => results);
      assertEquals(results, ["error: not run: interrupted"]);
      await tmux.type("C-d");
      await tmux.shows("EXIT 0");
    });
  },
);

terminalTest("pawl run tells on a line of its own that Ctrl-C at a question stopped it", {}, async (endpoint) => {
  await inDirectory(async (directory) => {
    const flags = [`--allow-net=${endpoint.host}`, `--allow-read=${directory}`, `--allow-write=${directory}`];
    const args = at(endpoint, "run", "-t", `write_file=${directory}`, `call write_file for ${directory}/a.txt`);
    await using tmux = await Tmux.start(flags, args);
    await tmux.shows(/Allow it\?[^\n]*$/);
    await tmux.type("C-c");
    assertMatch(await tmux.shows("EXIT 130"), /Allow it\?[^\n]*\nerror: aborted: Stopped by SIGINT\n/);
  });
});

terminalTest("pawl chat lets a model be chosen", { models: ["alpha", "beta"] }, async (endpoint) => {
  await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], ["chat", "--base-url", `${endpoint.url}/v1`]);
  await tmux.shows(/Model[^]*alpha/);
  await tmux.type("Down", "Enter");
  await tmux.shows("beta at 127.0.0.1");
  await tmux.type("/model alpha", "Enter");
  await tmux.shows("(the model is alpha)");
  await tmux.type("hi", "Enter");
  await tmux.shows("I heard it.");
  assertEquals(endpoint.heard.map(({ model }) => model), ["alpha"]);
  await tmux.type("/exit", "Enter");
  await tmux.shows("EXIT 0");
});

terminalTest(
  "pawl chat asks for a key that the endpoint wants, without showing it",
  { key: "typed-key-123" },
  async (endpoint) => {
    await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "chat"));
    await tmux.shows(PROMPT);
    await tmux.type("hi", "Enter");
    await tmux.shows(/error: http_status:[^]*Key for 127\.0\.0\.1:\d+/);
    await tmux.type("typed-key-123", "Enter");
    const screen = await tmux.shows('You said "hi", and I heard it.');
    assert(!screen.includes("typed-key"));
  },
);

terminalTest("pawl run on a terminal says what it waits for after 3 s, and takes it away", {
  script: async () => {
    await new Promise((done) => setTimeout(done, 4500));
    return { text: "At last." };
  },
}, async (endpoint) => {
  await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], at(endpoint, "run", "hi"));
  await tmux.shows(/. connecting to 127\.0\.0\.1:\d+; a local model may be loading \(3 s\)/);
  const screen = await tmux.shows("EXIT 0");
  assertEquals(screen.split("\n").slice(0, 2), ["At last.", "EXIT 0"]);
});

terminalTest("pawl chat waits for nobody once it has the models: the prompt and the question stay as they are", {
  models: ["alpha"],
}, async (endpoint) => {
  const args = ["chat", "--base-url", `${endpoint.url}/v1`];
  await using tmux = await Tmux.start([`--allow-net=${endpoint.host}`], args);
  await tmux.shows(PROMPT);
  // As long as it takes until waiting is told of.
  await new Promise((done) => setTimeout(done, 3500));
  assertMatch(await tmux.screen(), /replies of up to 8192 tokens[^\n]*\n>$/);
  await tmux.type("/model", "Enter");
  await tmux.shows(/Model[^]*alpha/);
  await new Promise((done) => setTimeout(done, 3500));
  assert(!(await tmux.screen()).includes("waiting"));
  await tmux.type("Enter");
  await tmux.shows("(the model is alpha)");
});

terminalTest("pawl run without a prompt on a terminal says how to give one", {}, async (endpoint) => {
  await using tmux = await Tmux.start([], at(endpoint, "run"));
  const screen = await tmux.shows("EXIT 2");
  assertMatch(screen, /^error: usage: Cannot run without a prompt: give it as words/);
});

terminalTest(
  "pawl run asks for all missing permissions at once, where nobody may be asked it ends",
  {},
  async (endpoint) => {
    await using tmux = await Tmux.start([], at(endpoint, "run", "hi"));
    const screen = await tmux.shows("EXIT 9");
    assertStringIncludes(
      screen,
      `error: permission: Cannot start without more permissions: run with --allow-net=${endpoint.host}`,
    );
  },
);

terminalTest("pawl run ends at Ctrl-C while Deno asks for a permission", {}, async (endpoint) => {
  await using tmux = await Tmux.start([], at(endpoint, "run", "hi"), true);
  await tmux.shows("Allow?");
  // Behind its question Deno throws away what was typed before; a signal in that moment is an answer to it: no.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await tmux.type("C-c", "echo LEFT $?", "Enter");
  await tmux.shows("LEFT 130");
});

terminalTest("pawl run lets no control character of a model through to a terminal", {
  script: ({ messages }) =>
    messages.length === 1
      ? { thinking: "a\x1b[2Jb", calls: [{ name: "echo", input: { text: "\x1b]0;owned\x07\u009b" } }] }
      : { text: "x\x1b[31m\u202e\u{e0041}\r\ny\r\x07z" },
}, async (endpoint) => {
  await inDirectory(async (directory) => {
    await Deno.writeTextFile(
      `${directory}/t.ts`,
      'export default { name: "echo", description: "Echoes", inputSchema: { type: "object" }, pure: true, run: () => "\\x1b[5m" };',
    );
    const args = at(endpoint, "run", "--tools-file", `${directory}/t.ts`, "go");
    const { code, text } = await onTerminal([`--allow-net=${endpoint.host}`, `--allow-read=${directory}`], args);
    assertEquals(code, 0);
    const own = text.replaceAll("\r\x1b[2K", "").replaceAll("\r\n", "\n");
    assertStringIncludes(own, "x\\u{1b}[31m\\u{202e}\\u{e0041}\ny\\u{d}\\u{7}z\n");
    assertStringIncludes(own, "thinking: a\\u{1b}[2Jb\n");
    assertEquals(own.match(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|\u{e0041}/gu), null);
  });
});
