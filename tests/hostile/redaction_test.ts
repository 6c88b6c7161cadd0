/**
 * The key, and any eight characters of it in a row, raw, in base64 or percent-encoded: in nothing that is handed out, told or written.
 * The library's errors, events and objects under every attack are looked at in hostile_test.ts.
 * @module
 */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { Agent, Conversation, createProvider, isPawlError, openAiChat, probe, probeToolCalling, run } from "@pawl/pawl";
import { recordFetch } from "@pawl/pawl/testing";
import { createRedactor } from "../../src/text/redact.ts";
import { inDirectory, pawlWith } from "../cli/pawl.ts";
import { WRITERS } from "../support/writer.ts";
import { ATTACKS } from "./attacks.ts";
import { type Asked, type Attack, HostileEndpoint } from "./endpoint.ts";
import { CANARY, leakIn, shown } from "./leaks.ts";
import { LIMITS } from "./right.ts";
import { providerFor } from "./victim.ts";

const ECHOES = Object.keys(ATTACKS).filter((name) => name.startsWith("key-echo"));
/** A header field that its user added, and that is as secret as the key. */
const TEAM = "team-Zq7Wn3Xc9Vb5Mk1";

/** Endpoints that put the key where the model's words belong, cut anywhere. */
const SPOKEN: Record<string, Attack> = Object.fromEntries([1, 3, 7, 40].map((size) => [`spoken-${size}`, {
  does: `says the key, ${size} characters a delta`,
  answer({ writer, key }: Asked) {
    const text = `You sent ${key}, which is ${btoa(key)}.`.match(new RegExp(`[^]{1,${size}}`, "g"))!;
    return { body: writer.events({ parts: [{ text }], end: "end_turn" }) };
  },
}]));

function said(text: string, what: string): void {
  assertEquals(leakIn(text), undefined, what);
  assertEquals(leakIn(text, TEAM), undefined, what);
}

function prompt(): Conversation {
  const conversation = new Conversation();
  conversation.addUserMessage("hello");
  return conversation;
}

Deno.test("leakIn finds a key in every spelling", () => {
  for (const text of [CANARY, CANARY.slice(5, 13), btoa(CANARY), btoa(`x${CANARY}`), btoa(`xy${CANARY}`)]) {
    assert(leakIn(`a ${text} b`) !== undefined, text);
  }
  const encoded = Array.from(CANARY.slice(0, 8), (c) => `%${c.charCodeAt(0).toString(16)}`).join("");
  assert(leakIn(encoded) !== undefined);
  assertEquals(leakIn(`${CANARY.slice(0, 7)} ${CANARY.slice(8, 15)}`), undefined);
});

for (const writer of WRITERS) {
  const { name } = writer.dialect;

  Deno.test(`probe, probeToolCalling and listModels tell nothing of a key that is echoed, over ${name}`, async () => {
    await using endpoint = new HostileEndpoint(ATTACKS);
    await Promise.all(ECHOES.map(async (attack) => {
      const provider = providerFor(endpoint, attack, writer, { extraHeaders: { "x-team": TEAM }, maxRetries: 0 });
      const outcomes = await Promise.allSettled([probe(provider), probeToolCalling(provider), provider.listModels()]);
      for (const outcome of outcomes) said(shown(outcome), attack);
    }));
  });

  Deno.test(`a recording holds nothing of a key that is echoed or spoken, over ${name}`, async () => {
    await using endpoint = new HostileEndpoint({ ...ATTACKS, ...SPOKEN });
    const lines: string[] = [];
    for (const attack of [...ECHOES, ...Object.keys(SPOKEN)]) {
      const options = { headers: ["x-team"], redact: createRedactor([CANARY, TEAM]) };
      const recorded = recordFetch(fetch, (line) => void lines.push(line), options);
      const provider = createProvider({
        dialect: writer.dialect,
        baseUrl: endpoint.baseUrl(attack, name),
        model: "hostile",
        maxTokens: 100,
        apiKey: CANARY,
        extraHeaders: { "x-team": TEAM },
        maxRetries: 0,
        fetch: recorded,
      });
      await provider.streamStep(prompt(), {}).catch((error) => assert(isPawlError(error), String(error)));
    }
    assertEquals(lines.length, ECHOES.length + Object.keys(SPOKEN).length);
    said(lines.join("\n"), "a line");
  });

  Deno.test(`a secret in a tool's result reaches neither conversation nor request, over ${name}`, async () => {
    await using endpoint = new HostileEndpoint(ATTACKS);
    const provider = providerFor(endpoint, "ok-tools", writer, { extraHeaders: { "x-team": TEAM } });
    const conversation = prompt();
    const result = await new Agent(provider, {
      tools: [{
        name: "lookup",
        description: "Leaks",
        inputSchema: { type: "object", properties: {} },
        run: () => `${CANARY} ${btoa(CANARY)} ${encodeURIComponent(TEAM)} ${TEAM.slice(2, 12)}`,
      }],
    }).runStep(conversation);
    said(shown(conversation) + shown(result), "the conversation");
    said(endpoint.seen.map(({ body }) => JSON.stringify(body)).join(), "a request");
  });

  Deno.test(`Deno.inspect of a request that encode made shows no key, over ${name}`, () => {
    const { dialect, baseUrl } = writer;
    const extraHeaders = { "x-team": TEAM };
    const provider = createProvider({ dialect, baseUrl, model: "m", maxTokens: 9, apiKey: CANARY, extraHeaders });
    const request = provider.encode(prompt());
    said(Deno.inspect(request, { depth: 9, showHidden: true }), "the request");
    // It is sent all the same.
    assert(leakIn([...new Headers(request.headers).values()].join()) !== undefined);
  });

  Deno.test(`401 and 403 quote nothing, over ${name}`, async () => {
    const word = "marzipan";
    const refusals = Object.fromEntries([401, 403].map((status) => [`refuse-${status}`, {
      does: "refuses",
      answer: ({ writer }: Asked) => ({
        status,
        headers: { "content-type": "application/json", "www-authenticate": word },
        body: writer.errorBody(word, `${word} ${word}`),
      }),
    }]));
    await using endpoint = new HostileEndpoint(refusals);
    for (const attack of Object.keys(refusals)) {
      const baseUrl = endpoint.baseUrl(attack, name);
      const provider = createProvider({ dialect: writer.dialect, baseUrl, model: "m", maxTokens: 9, apiKey: CANARY });
      const error = await run(provider, { prompt: "hello" }).then(() => undefined, (error: Error) => error);
      assert(isPawlError(error, "http_status"), String(error));
      assert(!shown(error).includes(word), error.message);
    }
  });
}

Deno.test("an option that cannot be used is not quoted", () => {
  const base = { dialect: openAiChat, baseUrl: "http://localhost:1", model: "m", maxTokens: 9, apiKey: CANARY };
  const bad = [
    { ...base, apiKey: `${CANARY}\n` },
    { ...base, apiKey: `ключ ${CANARY}` },
    { ...base, baseUrl: `http://user:${CANARY}@localhost` },
    { ...base, baseUrl: `http://localhost/?key=${CANARY}` },
    { ...base, baseUrl: `ftp://${CANARY}` },
    { ...base, extraHeaders: { "x-team": `${TEAM}\r\n` } },
    { ...base, extraHeaders: { [`x ${CANARY}`]: "v" } },
    { ...base, extraHeaders: { host: CANARY } },
  ];
  for (const options of bad) said(shown(assertThrows(() => createProvider(options), TypeError)), "the error");
});

/** What is said on both streams and written to files by a process with every flag that might tell a key. */
async function tell(attack: string, dialect: string, args: string[]): Promise<void> {
  await using endpoint = new HostileEndpoint({ ...ATTACKS, ...SPOKEN });
  await inDirectory(async (directory) => {
    const flags = [
      `--allow-net=${endpoint.host}`,
      "--allow-env=CANARY",
      `--allow-read=${directory}`,
      `--allow-write=${directory}`,
    ];
    const [command = "", ...rest] = args.map((arg) => arg.replace("DIR", directory));
    const common = ["-d", dialect, "--base-url", endpoint.baseUrl(attack, dialect), "--api-key-env", "CANARY"];
    const model = command === "models" ? [] : ["-m", "hostile"];
    // The line that runs a command says the arguments that were given.
    const header = rest.includes("--explain-permissions") ? [] : ["--header", `x-team: ${TEAM}`];
    const all = [command, ...common, ...model, ...header, "--max-retries", "0", ...rest];
    const limits = Object.entries(LIMITS).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
    const { stdout, stderr } = await pawlWith(flags, [...all, ...limits], { env: { CANARY }, stdin: "hello\n" });
    assert(stdout + stderr !== "");
    // What the model says is the answer; what is told about it is not.
    said(attack in SPOKEN ? stderr : stdout + stderr, `${attack}: ${all.join(" ")}`);
    for (const { name } of Deno.readDirSync(directory)) {
      said(await Deno.readTextFile(`${directory}/${name}`), `${attack}: ${name}`);
    }
  });
}

Deno.test("the command line tells, records and keeps nothing of a key that is echoed", async () => {
  const lines: [string, string[]][] = [
    ["key-echo", ["run", "hello", "--session", "DIR/s.jsonl", "--record", "DIR/r.jsonl"]],
    ["key-echo-400", ["run", "hello", "--json", "--session", "DIR/s.jsonl", "--record", "DIR/r.jsonl", "--usage"]],
    ["key-echo-400-b64", ["run", "hello", "--output-format", "stream-json"]],
    ["key-echo-400-url", ["chat"]],
    ["key-echo-400-half", ["models"]],
    ["key-echo-400-spaced", ["probe", "--json"]],
    ["key-echo-stream", ["run", "hello", "--json", "--record", "DIR/r.jsonl"]],
    ["spoken-7", ["run", "hello", "--record", "DIR/r.jsonl", "--usage"]],
    ["ok", ["run", "hello", "--dry-run"]],
    ["ok", ["run", "hello", "--explain-permissions"]],
  ];
  for (const { dialect: { name } } of WRITERS) {
    await Promise.all(lines.map(([attack, args]) => tell(attack, name, args)));
  }
});

Deno.test("an error of the command line says which status, and nothing of what came with it", async () => {
  await using endpoint = new HostileEndpoint(ATTACKS);
  const base = endpoint.baseUrl("key-echo", "openai_chat");
  const args = ["run", "--base-url", base, "-m", "hostile", "--api-key-env", "CANARY", "hello"];
  const { code, stderr } = await pawlWith([`--allow-net=${endpoint.host}`, "--allow-env=CANARY"], args, {
    env: { CANARY },
  });
  assertEquals(code, 3);
  assertMatch(
    stderr,
    /^error: http_status: [^\n]*HTTP status 401, look at the option --api-key-env \(127\.0\.0\.1:\d+\)\n$/,
  );
});
