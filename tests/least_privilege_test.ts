import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { activeMapFlags } from "../scripts/deps.ts";
import { ATTACKS } from "./hostile/attacks.ts";
import { USER_AGENT } from "../src/provider/provider.ts";
import { HostileEndpoint } from "./hostile/endpoint.ts";
import { startEndpoint } from "./support/endpoint.ts";

const PROGRAM = new URL("./support/tool_loop_program.ts", import.meta.url).pathname;

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function program(allowed: string, ...args: string[]): Promise<Outcome> {
  return programWith({}, allowed, ...args);
}

async function programWith(env: Record<string, string>, allowed: string, ...args: string[]): Promise<Outcome> {
  const flags = ["run", "--no-check", "--no-prompt", ...activeMapFlags(), `--allow-net=${allowed}`, PROGRAM, ...args];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: flags, env }).output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

for (const [dialect, path] of [["openai_chat", "/v1"], ["anthropic_messages", ""]] as const) {
  Deno.test(`mod.ts runs a tool loop over ${dialect} with the network permission to one host alone`, async () => {
    const endpoint = startEndpoint();
    try {
      const { code, stdout, stderr } = await program(endpoint.host, endpoint.url + path, dialect);
      assertEquals([code, stdout], [0, '1 The tool says "HELLO".\n'], stderr);
      assertEquals(endpoint.heard.length, 2);
    } finally {
      await endpoint.close();
    }
  });
}

Deno.test("mod.ts says which flag is missing where the host is not granted", async () => {
  const endpoint = startEndpoint();
  try {
    const { code, stderr } = await program("127.0.0.1:9", `${endpoint.url}/v1`, "openai_chat");
    assertEquals(code, 1);
    assertStringIncludes(stderr, `--allow-net=${endpoint.host}`);
    assertEquals(endpoint.heard, []);
  } finally {
    await endpoint.close();
  }
});

/** What a request carries: the library's own fields, and those that Deno adds. */
const HEADERS: Record<string, Record<string, string>> = {
  openai_chat: { authorization: "Bearer sk-a-key-of-no-worth" },
  anthropic_messages: { "x-api-key": "sk-a-key-of-no-worth", "anthropic-version": "2023-06-01" },
};

/** Variables that other libraries read, each with a word that must not get anywhere. */
function ambient(elsewhere: string): Record<string, string> {
  const words = {
    OPENAI:
      "API_KEY ADMIN_KEY ORG_ID ORGANIZATION PROJECT PROJECT_ID API_VERSION MODEL LOG WEBHOOK_SECRET CUSTOM_HEADERS",
    ANTHROPIC: "API_KEY AUTH_TOKEN MODEL SMALL_FAST_MODEL BETA BETAS LOG CUSTOM_HEADERS WEBHOOK_SIGNING_KEY",
    PAWL: "API_KEY MODEL DIALECT PROFILE CONFIG HEADER SYSTEM LOG",
  };
  const names = Object.entries(words).flatMap(([who, list]) => list.split(" ").map((name) => `${who}_${name}`));
  const urls = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "PAWL_BASE_URL", "BASE_URL"];
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "PROXY"];
  return Object.fromEntries([
    ...names.map((name) => [name, `ambient-${name}`]),
    ...urls.map((name) => [name, `http://${elsewhere}/ambient`]),
    ...proxies.map((name) => [name, `http://ambient:word@${elsewhere}`]),
  ]);
}

for (const [dialect, own] of Object.entries(HEADERS)) {
  Deno.test(`mod.ts sends exactly the documented header fields, whatever the environment holds, over ${dialect}`, async () => {
    await using endpoint = new HostileEndpoint(ATTACKS);
    // Deno itself would send everything through the proxy otherwise (SECURITY.md).
    const env = { ...ambient(endpoint.elsewhere), NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" };
    const outcome = await programWith(env, endpoint.host, endpoint.baseUrl("ok-tools", dialect), dialect);
    assertEquals(outcome, { code: 0, stdout: "0 tool done\n", stderr: "" });
    assertEquals(endpoint.seen.map(({ elsewhere }) => elsewhere), [false, false]);
    for (const { headers, body, path } of endpoint.seen) {
      assertEquals(headers, {
        ...own,
        accept: "text/event-stream",
        "accept-encoding": "identity;q=1, *;q=0",
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        // Deno's own.
        "accept-language": "*",
        "content-length": headers["content-length"]!,
        host: endpoint.host,
      });
      assert(!JSON.stringify([body, path]).includes("ambient"));
    }
  });

  Deno.test(`mod.ts asks Deno for one host and nothing else, over ${dialect}`, async () => {
    await using endpoint = new HostileEndpoint(ATTACKS);
    const audit = await Deno.makeTempFile();
    try {
      const env = { DENO_AUDIT_PERMISSIONS: audit };
      const base = endpoint.baseUrl("ok-tools", dialect);
      const { code, stderr } = await programWith(env, endpoint.host, base, dialect);
      assertEquals(code, 0, stderr);
      const asked = (await Deno.readTextFile(audit)).trim().split("\n").map((line) => JSON.parse(line));
      assert(asked.length >= 2, "each request asks");
      const hosts = asked.map(({ permission, value }) =>
        `${permission} ${/^https?:/.test(value) ? new URL(value).host : value}`
      );
      assertEquals([...new Set(hosts)], [`net ${endpoint.host}`]);
    } finally {
      await Deno.remove(audit);
    }
  });
}

Deno.test("Deno's own HTTP_PROXY takes the requests of mod.ts, without a permission (SECURITY.md)", async () => {
  await using endpoint = new HostileEndpoint(ATTACKS);
  const env = { HTTP_PROXY: `http://${endpoint.elsewhere}`, NO_PROXY: "" };
  const { code, stdout } = await programWith(env, endpoint.host, endpoint.baseUrl("ok", "openai_chat"), "openai_chat");
  assertEquals([code, stdout], [0, "0 I have your conversation\n"]);
  assertEquals(endpoint.seen.map(({ elsewhere }) => elsewhere), [true]);
});
