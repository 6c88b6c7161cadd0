import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { createTools } from "../../src/cli/tools/registry.ts";
import { parseToolSpec } from "../../src/cli/tools/spec.ts";
import { runCommandTool } from "../../src/cli/tools/run_command.ts";
import { htmlText, plainText } from "../../src/cli/tools/plain_text.ts";
import type { Tool } from "../../src/model/tool.ts";

async function call(
  tool: Tool,
  input: Record<string, unknown>,
  signal = new AbortController().signal,
): Promise<string> {
  return await tool.run(input, { signal, call: { type: "tool_use", id: "c", name: tool.name, input: "{}" } });
}

async function failure(tool: Tool, input: Record<string, unknown>): Promise<string> {
  return (await assertRejects(() => call(tool, input), Error)).message;
}

interface Seen {
  url: string;
  headers: Record<string, string>;
}

async function withServer(
  handler: (request: Request) => Response | Promise<Response>,
  test: (tool: Tool, url: string, seen: Seen[]) => Promise<void>,
): Promise<void> {
  const seen: Seen[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    seen.push({ url: request.url, headers: Object.fromEntries(request.headers) });
    return handler(request);
  });
  try {
    const host = `127.0.0.1:${server.addr.port}`;
    const [tool] = await createTools([parseToolSpec(`fetch_url=${host}`)]);
    await test(tool!, `http://${host}`, seen);
  } finally {
    await server.shutdown();
  }
}

function text(body: BodyInit, type = "text/plain"): Response {
  return new Response(body, { headers: { "content-type": type } });
}

Deno.test("fetch_url returns text, plain and capped, and sends nothing of ours", async () => {
  const pages: Record<string, () => Response> = {
    "/plain": () => text("a\x1b[31mb\x07\u202e\r\nc\td"),
    "/json": () => text('{"a":1}', "application/vnd.x+json; charset=utf-8"),
    "/latin": () => text(new Uint8Array([0xfc]), 'text/plain; charset="iso-8859-1"'),
    "/html": () => text("<title>T</title><script>if (a<b) x()</script><p>A &amp; B<br>C</p>", "text/html"),
    "/long": () => text("x".repeat(70_000)),
    "/endless": () => text(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65536).fill(120)) })),
    "/empty": () => text(""),
  };
  await withServer((request) => pages[new URL(request.url).pathname]!(), async (tool, url, seen) => {
    assertEquals(await call(tool, { url: `${url}/plain` }), "ab\nc\td");
    assertEquals(await call(tool, { url: `${url}/json#x` }), '{"a":1}');
    assertEquals(await call(tool, { url: `${url}/latin` }), "ü");
    assertEquals(await call(tool, { url: `${url}/html` }), "T\nA & B\nC");
    assertEquals(await call(tool, { url: `${url}/empty` }), "(the page is empty)");
    const first = await call(tool, { url: `${url}/long` });
    assertMatch(first, /\n\[characters 0 to 32768 of 70000; go on with offset 32768\]$/);
    assertEquals(await call(tool, { url: `${url}/long`, offset: 65536 }), "x".repeat(70_000 - 65_536));
    assertEquals(await call(tool, { url: `${url}/long`, offset: 70_000 }), "(the page has 70000 characters)");
    assertMatch(await call(tool, { url: `${url}/endless` }), /of 2\d{6}; go on/);
    assertMatch(
      await call(tool, { url: `${url}/endless`, offset: 2 * 1024 * 1024 - 10 }),
      /^x+\n\[the page is too large: only its first 2 MiB were read\]$/,
    );
    assertEquals(Object.keys(seen[0]!.headers).sort(), [
      "accept",
      "accept-encoding",
      "accept-language",
      "host",
      "user-agent",
    ]);
    assertEquals(seen[0]!.headers["user-agent"], "pawl");
  });
});

Deno.test("fetch_url asks only the granted host, and follows redirects only there", async () => {
  let other = "";
  await withServer((request) => {
    const { pathname } = new URL(request.url);
    const to: Record<string, string> = {
      "/ok": "/there",
      "/off": other,
      "/file": "file:///etc/passwd",
      "/user": "http://u:p@127.0.0.1/",
      "/loop": "/loop",
      "/none": "",
    };
    if (pathname === "/there") return text("arrived");
    return new Response("moved", { status: 302, headers: to[pathname] ? { location: to[pathname]! } : {} });
  }, async (tool, url, seen) => {
    await withServer(() => text("elsewhere"), async (_tool, elsewhere, seenElsewhere) => {
      other = elsewhere;
      assertEquals(await call(tool, { url: `${url}/ok` }), "arrived");
      for (const path of ["/off", "/file", "/user", "/none"]) {
        assertEquals(
          await failure(tool, { url: url + path }),
          "Cannot fetch the page: it leads elsewhere (HTTP 302), and only its own host is asked",
        );
      }
      assertEquals(
        await failure(tool, { url: `${url}/loop` }),
        "Cannot fetch the page: it leads on and on, more than 5 times",
      );
      assertMatch(await failure(tool, { url: elsewhere }), /only these hosts are granted: 127\.0\.0\.1:\d+$/);
      assertEquals(seenElsewhere, []);
      assertEquals(seen.filter((request) => request.url.endsWith("/loop")).length, 6);
    });
  });
});

Deno.test("fetch_url says why there is no page, and nothing that the host wrote", async () => {
  const replies: Record<string, [why: string, reply: () => Response]> = {
    "/404": [
      "the host answers with HTTP 404",
      () => new Response("no", { status: 404, headers: { "content-type": "text/plain" } }),
    ],
    "/500": ["the host answers with HTTP 500", () => new Response("no", { status: 500 })],
    "/204": ["the host answers with HTTP 204", () => new Response(null, { status: 204 })],
    "/image": ["it is no text", () => text("x", "image/png")],
    "/notype": ["it is no text", () => new Response(new Uint8Array([65]))],
    "/charset": ["its character encoding is unknown", () => text("x", "text/plain; charset=nonsense")],
    "/gzip": [
      "the connection failed",
      () => new Response("no gzip", { headers: { "content-type": "text/plain", "content-encoding": "gzip" } }),
    ],
  };
  await withServer((request) => replies[new URL(request.url).pathname]![1](), async (tool, url) => {
    for (const [path, [why]] of Object.entries(replies)) {
      assertEquals(await failure(tool, { url: url + path }), `Cannot fetch the page: ${why}`, path);
    }
    for (
      const [input, why] of [
        ["ftp://127.0.0.1/", /no http or https/],
        ["file:///etc/passwd", /no http or https/],
        ["nonsense", /no http or https/],
        [url.replace("//", "//u:p@"), /user name or password/],
        ["http://127.0.0.1:1/", /only these hosts/],
        ["http://127.1:1/", /only these hosts/],
        [7, /url must be a string/],
      ] as const
    ) assertMatch(await failure(tool, { url: input }), why);
  });
  const [closed] = await createTools([parseToolSpec("fetch_url=127.0.0.1:1")]);
  assertEquals(
    await failure(closed!, { url: "http://127.0.0.1:1/" }),
    "Cannot fetch the page: the connection failed",
  );
});

Deno.test("fetch_url grants a host without a port on every port, and a given port only", async () => {
  const asked: string[] = [];
  const fetch = (input: URL | RequestInfo) => {
    asked.push(String(input));
    return Promise.resolve(text("ok"));
  };
  const [any, one] = [
    await createTools([parseToolSpec("fetch_url=a.example")], { fetch }),
    await createTools([parseToolSpec("fetch_url=a.example:80")], { fetch }),
  ];
  for (const url of ["http://a.example/", "https://A.example/x", "http://a.example:8080/"]) {
    assertEquals(await call(any[0]!, { url }), "ok");
  }
  assertEquals(await call(one[0]!, { url: "http://a.example/" }), "ok");
  assertMatch(await failure(one[0]!, { url: "https://a.example/" }), /only these hosts/);
  assertMatch(await failure(any[0]!, { url: "http://a.example.evil/" }), /only these hosts/);
  assertMatch(await failure(any[0]!, { url: "http://b.a.example/" }), /only these hosts/);
  assertEquals(asked.length, 4);
});

Deno.test("createTools hands its timeoutMs on to the tools that have a clock of their own", async () => {
  function never(_input: unknown, init?: RequestInit): Promise<Response> {
    return new Promise((_, reject) => init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason)));
  }
  const specs = ["fetch_url=a.example", "run_command=sleep"].map(parseToolSpec);
  const [page, command] = await createTools(specs, { fetch: never, timeoutMs: 50 });
  assertEquals(
    await failure(page!, { url: "http://a.example/" }),
    "Cannot fetch the page: it took more than 50 ms",
  );
  assertMatch(await call(command!, { program: "sleep", args: ["60"] }), /^\(stopped after 50 ms\)/);
  // The agent's clock is there for what does not stop by itself.
  assertEquals([page!.timeoutMs, command!.timeoutMs], [5050, 5050]);
});

Deno.test("fetch_url ends with the run, with the run's reason", async () => {
  await withServer(
    () => text(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([65])) })),
    async (tool, url) => {
      const stop = new AbortController();
      const reason = new Error("enough");
      setTimeout(() => stop.abort(reason), 50);
      assertEquals(await assertRejects(() => call(tool, { url }, stop.signal)), reason);
      assertEquals(await assertRejects(() => call(tool, { url }, stop.signal)), reason);
    },
  );
});

Deno.test("htmlText and plainText are linear and lose no text", () => {
  assertEquals(
    htmlText("a < b &lt;c&gt; &#65;&#x42; &nope; &#99999999; <!-- <p> -->d"),
    "a < b <c> AB &nope; &#99999999; d",
  );
  assertEquals(htmlText("x<script>never closed <p>y"), "x");
  assertEquals(htmlText("x<p"), "x");
  assertEquals(htmlText("<!doctype html><ul><li>1</li>\n\n<li>2</li></ul>"), "1\n2");
  assertEquals(plainText("\x1b]0;title\x07a\x1b[1;2Hb\x9b\u200bc\rd"), "abc\nd");
  const time = (n: number) => {
    const start = performance.now();
    for (const unit of ["<", "<script>", "<!--", "&#", "\x1b]", "\x1b[", " \n", "<p>", "</script"]) {
      plainText(htmlText(unit.repeat(n)) + unit.repeat(n));
    }
    return performance.now() - start;
  };
  time(20_000);
  const small = time(20_000);
  assert(time(200_000) < 15 * small + 1500);
});

Deno.test("run_command passes arguments as they are, without shell, input or environment", async () => {
  Deno.env.set("PAWL_TEST_SECRET", "secret");
  try {
    const [tool] = await createTools([parseToolSpec("run_command=printf,env,cat,sh")]);
    assertEquals(
      await call(tool!, { program: "printf", args: ["[%s]", "a b", "$(id); *", ""] }),
      "(exit code 0)\n[a b][$(id); *][]",
    );
    assertEquals(await call(tool!, { program: "env" }), "(exit code 0)");
    assertEquals(await call(tool!, { program: "cat" }), "(exit code 0)");
    assertEquals(
      await call(tool!, { program: "sh", args: ["-c", "echo out; echo err >&2; exit 3"] }),
      "(exit code 3)\nout\n(standard error)\nerr",
    );
    assertEquals(await call(tool!, { program: "sh", args: ["-c", "kill -9 $$"] }), "(ended by SIGKILL)");
    assertEquals(await call(tool!, { program: "printf", args: ["\x1b[31mred\x1b[0m\\a\\r\\n"] }), "(exit code 0)\nred");
  } finally {
    Deno.env.delete("PAWL_TEST_SECRET");
  }
});

Deno.test("run_command runs the granted programs only", async () => {
  const [tool] = await createTools([parseToolSpec("run_command=true")]);
  for (const program of ["ls", "/bin/true", "true ", "", "../true"]) {
    assertMatch(await failure(tool!, { program }), /only these programs are granted: true/);
  }
  assertMatch(await failure(tool!, { program: 7 }), /program must be a string/);
  for (const args of ["x", [7], [["x"]], ["a\0b"], Array(201).fill("x")]) {
    assertMatch(await failure(tool!, { program: "true", args }), /array of at most 200 strings/);
  }
  assertMatch(
    await failure(runCommandTool(["pawl-no-such-program"]), { program: "pawl-no-such-program" }),
    /^Cannot run "pawl-no-such-program": /,
  );
});

Deno.test("run_command keeps the beginning and the end of a long output, in bounded memory", async () => {
  const tool = runCommandTool(["sh", "head"]);
  const output = await call(tool, {
    program: "sh",
    args: ["-c", "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"],
  });
  assertMatch(output, /^\(exit code 0\)\nline 0\nline 1\n/);
  assertMatch(output, /\nline 8999$/);
  const left = Number(/\n\[(\d+) bytes left out\]\n/.exec(output)![1]);
  const whole = Array.from({ length: 9000 }, (_, i) => `line ${i}\n`).join("");
  assertEquals(left, whole.length - 24 * 1024);
  const [head, tail] = output.slice(output.indexOf("\n") + 1).split(/\n\[\d+ bytes left out\]\n/);
  assertEquals(head, whole.slice(0, 8192));
  assertEquals(tail, whole.slice(-16384).trimEnd());
  assertStringIncludes(await call(tool, { program: "head", args: ["-c", "300000000", "/dev/zero"] }), "(exit code 0)");
});

/** A killed process dies when the kernel gets to it, not within the call that kills it; one that sleeps for a minute would stay. */
async function isAlive(pid: number): Promise<boolean> {
  for (let looks = 0; looks < 100; looks++) {
    try {
      if (/^State:\tZ/m.test(Deno.readTextFileSync(`/proc/${pid}/status`))) return false;
    } catch {
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

Deno.test("run_command kills the whole process tree when its time is over or the run ends", async () => {
  const script = "sleep 60 & echo $!; sleep 61 & echo $!; wait";
  const output = await call(runCommandTool(["sh"], { timeoutMs: 200 }), { program: "sh", args: ["-c", script] });
  assertMatch(output, /^\(stopped after 200 ms\)\n/);
  const stop = new AbortController();
  const reason = new Error("enough");
  setTimeout(() => stop.abort(reason), 200);
  const file = await Deno.makeTempFile();
  try {
    const start = performance.now();
    const args = ["-c", `{ ${script.replace("wait", "")} } > ${file}; wait`];
    assertEquals(await assertRejects(() => call(runCommandTool(["sh"]), { program: "sh", args }, stop.signal)), reason);
    assert(performance.now() - start < 20_000);
    const pids = [...output.split("\n").slice(1), ...(await Deno.readTextFile(file)).trim().split("\n")].map(Number);
    assertEquals(pids.length, 4);
    for (const pid of pids) assert(!await isAlive(pid));
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("run_command does not wait for what a finished program left behind", async () => {
  const start = performance.now();
  const output = await call(runCommandTool(["sh"]), { program: "sh", args: ["-c", "sleep 60 & echo $!"] });
  assert(performance.now() - start < 20_000);
  assertMatch(output, /^\(exit code 0\)\n\d+$/);
  assert(!await isAlive(Number(output.split("\n")[1])));
});
