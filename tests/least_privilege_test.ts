import { assertEquals, assertStringIncludes } from "@std/assert";
import { activeMapFlags } from "../scripts/deps.ts";
import { startEndpoint } from "./support/endpoint.ts";

const PROGRAM = new URL("./support/tool_loop_program.ts", import.meta.url).pathname;

async function program(allowed: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const flags = ["run", "--no-check", "--no-prompt", ...activeMapFlags(), `--allow-net=${allowed}`, PROGRAM, ...args];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: flags }).output();
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
