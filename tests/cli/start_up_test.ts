import { assertEquals } from "@std/assert";
import { denoArgs, inDirectory, spawn, withoutDeno } from "./pawl.ts";

const URL = ["--base-url", "http://127.0.0.1:9/v1", "-m", "x"];

/** Starts pawl and waits until it ends by a signal that `use` sends. */
async function stopped(
  args: string[],
  { cwd, signal }: { cwd: string; signal: Deno.Signal },
  use: (child: Deno.ChildProcess) => Promise<void>,
): Promise<void> {
  const child = spawn(Deno.execPath(), denoArgs(["-A"], args), { cwd });
  await use(child);
  const { code, stdout, stderr } = await child.output();
  assertEquals([code, stdout.length], [signal === "SIGINT" ? 130 : 143, 0], args.join(" "));
  assertEquals(withoutDeno(new TextDecoder().decode(stderr)), `error: aborted: Stopped by ${signal}\n`);
}

async function withFifo(use: (cwd: string) => Promise<void>): Promise<void> {
  await inDirectory(async (cwd) => {
    await new Deno.Command("mkfifo", { args: ["fifo", "prompt"], cwd }).output();
    await use(cwd);
  });
}

Deno.test("pawl hears the first signal while a file that was named is being read", async () => {
  await withFifo(async (cwd) => {
    const named = [
      ["run", ...URL, "@fifo"],
      ["run", ...URL, "-s", "@fifo", "hi"],
      ["run", ...URL, "-a", "fifo", "hi"],
      ["run", ...URL, "--schema", "fifo", "hi"],
      ["models", ...URL.slice(0, 2), "--replay", "fifo"],
      ["chat", "--config", "fifo"],
    ];
    for (const [i, args] of named.entries()) {
      const signal = i % 2 === 0 ? "SIGINT" : "SIGTERM";
      await stopped(args, { cwd, signal }, async (child) => {
        // Opens as soon as somebody reads; nothing is ever written.
        using _writer = await Deno.open(`${cwd}/fifo`, { write: true });
        child.kill(signal);
        await child.status;
      });
    }
  });
});

Deno.test("pawl hears the first signal while a file that it writes waits for its reader", async () => {
  await withFifo(async (cwd) => {
    for (const flag of ["--output", "--record"]) {
      await stopped(["run", ...URL, flag, "fifo", "@prompt"], { cwd, signal: "SIGINT" }, async (child) => {
        const prompt = await Deno.open(`${cwd}/prompt`, { write: true });
        await prompt.write(new TextEncoder().encode("hi"));
        prompt.close();
        await new Promise((done) => setTimeout(done, 200));
        child.kill("SIGINT");
        await child.status;
      });
    }
  });
});
