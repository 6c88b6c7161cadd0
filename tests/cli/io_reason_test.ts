import { assertEquals } from "@std/assert";
import { ioReason } from "../../src/cli/io_reason.ts";
import { inDirectory } from "./pawl.ts";

Deno.test("ioReason tells what the system says in words of ours, without a number or a path", async () => {
  await inDirectory((directory) => {
    const told = (use: () => unknown): string => {
      try {
        use();
      } catch (error) {
        return ioReason(error);
      }
      return "nothing";
    };
    assertEquals([
      told(() => Deno.readTextFileSync(`${directory}/none`)),
      told(() => Deno.readTextFileSync(directory)),
      told(() => Deno.openSync(directory, { write: true })),
      told(() => Deno.writeTextFileSync("/dev/full", "x")),
      told(() => Deno.readTextFileSync(`${directory}/${"x".repeat(300)}`)),
    ], [
      "there is no such file or directory",
      "it is a directory",
      "it is a directory",
      "the disk is full",
      "file name too long",
    ]);
    return Promise.resolve();
  });
  assertEquals(ioReason(Object.assign(new Error("x"), { code: "EROFS" })), "the file system is read-only");
  assertEquals(ioReason("why ever"), "why ever");
});
