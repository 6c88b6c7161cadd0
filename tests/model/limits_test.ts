import { assertEquals, assertThrows } from "@std/assert";
import { DEFAULT_LIMITS, resolveLimits } from "../../src/model/limits.ts";

Deno.test("resolveLimits keeps defaults for what is not set and ignores unknown names", () => {
  assertEquals(resolveLimits({ maxBlocks: 2, ...{ unknown: 1 } }), { ...DEFAULT_LIMITS, maxBlocks: 2 });
  assertEquals(resolveLimits(), DEFAULT_LIMITS);
});

Deno.test("resolveLimits refuses what is no integer above 0 and names it", () => {
  for (const value of [0, -1, 1.5, NaN, Infinity, "1" as unknown as number, null as unknown as number]) {
    assertThrows(() => resolveLimits({ idleTimeoutMs: value }), RangeError, "limits.idleTimeoutMs");
  }
});
