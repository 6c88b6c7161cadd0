/** A reader that stops reading: the process stops too, keeps nothing, and still ends when it is told to. */
import { assert, assertEquals } from "@std/assert";
import { denoArgs, spawn, withoutDeno } from "./pawl.ts";

/** What the endpoint would send if somebody took it. */
const ENDLESS_BYTES = 256 * 1024 * 1024;
const ENCODER = new TextEncoder();
const HEAD = ENCODER.encode("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
const EVENTS = ENCODER.encode('data: {"choices":[{"delta":{"content":"word after word "}}]}\n\n'.repeat(200));

/** An endpoint that sends as fast as it may, and counts. */
class Endless {
  readonly host: string;
  taken = 0;
  /** Its connection is over. */
  readonly left = Promise.withResolvers<void>();
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  constructor() {
    this.host = `127.0.0.1:${this.#listener.addr.port}`;
    this.#serve();
  }

  async #serve(): Promise<void> {
    using connection = await this.#listener.accept();
    this.#listener.close();
    try {
      await connection.read(new Uint8Array(64 * 1024));
      await connection.write(HEAD);
      while (this.taken < ENDLESS_BYTES) this.taken += await connection.write(EVENTS);
    } catch {
      // Reset or closed: the client has gone, which is what is waited for.
    }
    this.left.resolve();
  }

  /** Waits until nothing has been taken for a while. Returns how much has been. */
  async stalled(): Promise<number> {
    for (let before = -1, quiet = 0; quiet < 5; before = this.taken) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      quiet = this.taken > 0 && this.taken === before ? quiet + 1 : 0;
    }
    return this.taken;
  }
}

/**
 * Starts pawl on an endless reply, reads a little of it, and waits until nothing moves any more.
 *
 * @returns The exit status after a signal, or after the reader has gone.
 */
async function blocked(args: string[], signal?: Deno.Signal): Promise<number> {
  const endpoint = new Endless();
  const { host } = endpoint;
  const url = ["--base-url", `http://${host}/v1`, "-m", "m", "--limit", "maxResponseBytes=1GiB"];
  const stdin = args[0] === "chat" ? { stdin: "" } : {};
  const child = spawn(Deno.execPath(), denoArgs([`--allow-net=${host}`], [...args, ...url]), stdin);
  if (args[0] === "chat") await say(child);
  const reader = child.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  const taken = await endpoint.stalled();
  assert(taken < ENDLESS_BYTES / 4, `${taken} bytes were taken, with nobody reading`);
  if (Deno.build.os === "linux") {
    const rss = /^VmRSS:\s*(\d+) kB$/m.exec(await Deno.readTextFile(`/proc/${child.pid}/status`))![1];
    assert(Number(rss) < 150_000, `${rss} kB of memory, with nobody reading`);
  }
  if (signal) child.kill(signal);
  else await child.stdout.cancel();
  let isStuck = false;
  const timer = setTimeout(() => {
    isStuck = true;
    child.kill("SIGKILL");
  }, 2000);
  const { code } = await child.status;
  clearTimeout(timer);
  assertEquals(isStuck, false, "it went on for two seconds");
  if (signal) await child.stdout.cancel();
  const errors = new TextDecoder().decode(await new Response(child.stderr).bytes());
  assertEquals(withoutDeno(errors), "");
  await endpoint.left.promise;
  return code;
}

async function say(child: Deno.ChildProcess): Promise<void> {
  const writer = child.stdin.getWriter();
  await writer.write(ENCODER.encode("Hi\n"));
  await writer.close();
}

const FORMS = [["run", "--stream", "Hi"], ["run", "--output-format", "stream-json", "Hi"], ["chat"]];

for (const args of FORMS) {
  for (const [signal, exit] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    Deno.test(`pawl ${args.join(" ")} takes nothing more while its reader stops, and ${signal} still ends it`, async () => {
      assertEquals(await blocked(args, signal), exit);
    });
  }

  Deno.test(`pawl ${args.join(" ")} ends with 141 when a reader that stopped goes away`, async () => {
    assertEquals(await blocked(args), 141);
  });
}
