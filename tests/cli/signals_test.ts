import { assertEquals } from "@std/assert";
import { hear, hearNothing, unheard } from "../../src/cli/signals.ts";

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

/** The signal arrives, and no listener can run yet. */
function killAndBlock(): void {
  Deno.kill(Deno.pid, "SIGUSR2");
  const end = performance.now() + 50;
  while (performance.now() < end);
}

Deno.test("unheard loses no signal that came before it, and hears again behind it", async () => {
  let heard = 0;
  hear("SIGUSR2", () => heard++);
  try {
    killAndBlock();
    unheard(() => {});
    await turn();
    assertEquals(heard, 1);
    for (let i = 0; i < 100; i++) {
      unheard(() => {});
      await Promise.resolve();
    }
    killAndBlock();
    await turn();
    assertEquals(heard, 2);
  } finally {
    hearNothing();
  }
});

Deno.test("unheard hands on what is thrown, and hears again", async () => {
  let heard = 0;
  hear("SIGUSR2", () => heard++);
  try {
    let thrown = "";
    try {
      unheard(() => {
        throw new Error("full");
      });
    } catch (error) {
      thrown = (error as Error).message;
    }
    killAndBlock();
    await turn();
    assertEquals([thrown, heard], ["full", 1]);
  } finally {
    hearNothing();
  }
});
