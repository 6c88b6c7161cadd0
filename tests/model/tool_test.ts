import { assertThrows } from "@std/assert";
import { type Tool, validateTools } from "../../src/model/tool.ts";

const tool: Tool = { name: "look", description: "Looks.", inputSchema: { type: "object" }, run: () => "" };

Deno.test("validateTools accepts good tools", () => {
  validateTools([tool, { ...tool, name: "a-B_9" }, { ...tool, name: "n".repeat(64), inputSchema: {} }]);
});

Deno.test("validateTools refuses each fault, with the name", () => {
  const bad = (change: Partial<Record<keyof Tool, unknown>>, why: string) =>
    assertThrows(() => validateTools([{ ...tool, ...change } as Tool]), TypeError, why);
  for (const name of ["", "a b", "é", "n".repeat(65), undefined, 7]) bad({ name }, "its name must match");
  for (const description of ["", "  ", undefined]) bad({ description }, "its description is blank");
  for (const run of [undefined, "x"]) bad({ run }, "its run is no function");
  for (const inputSchema of [null, undefined, "x", { type: "array" }]) {
    bad({ inputSchema }, "no schema of an object");
  }
  assertThrows(() => validateTools([tool, tool]), TypeError, 'the tool "look": its name is taken');
});
