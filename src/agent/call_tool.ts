/**
 * One call: what stands against it, the tool's run, and the answer.
 * @module
 */
import { quote } from "../model/error.ts";
import type { ToolUseBlock } from "../model/message.ts";
import type { JsonSchema } from "../model/tool.ts";
import { createSpan, race } from "../provider/receiver.ts";
import { isObject, parse } from "../provider/tool_input.ts";
import type { RunSettings } from "./options.ts";

/** What a call led to, before it is scrubbed and cut: what went wrong, which the model sees, or what the tool answered. */
export type Outcome = [why: string | undefined, content?: string];

/**
 * Looks for what stands against a call; the caller is asked last, by `decide`.
 *
 * @param outer Signal of the run.
 * @returns What runs the tool, or the reason why it cannot run.
 * @throws Whatever `decide` throws, or `outer.reason`.
 */
export async function checkCall(
  call: ToolUseBlock,
  { tools, decide, toolTimeoutMs }: RunSettings,
  outer: AbortSignal,
): Promise<string | (() => Promise<Outcome>)> {
  const names = tools.map(({ name }) => name), tool = tools[names.indexOf(call.name)];
  if (!tool) return `unknown tool ${quote(call.name)}, the tools are: ${names.join(", ") || "none"}`;
  const input = parse(call.input);
  if (call.invalid || !isObject(input)) return "invalid input: it is not one JSON object";
  const misses = misfits(tool.inputSchema, input).join(", ");
  if (misses) return `invalid input: ${misses}`;
  if (decide) {
    // Only a plain yes allows: it is the caller's code and may return anything.
    const { allow, reason } = Object(await race(decide(call, { signal: outer }), outer));
    if (allow !== true) return reason && typeof reason === "string" ? `denied: ${reason}` : "denied";
  }

  /** The signal of a tool is aborted when the run is stopped or its time is over; it is not waited for then. */
  return async function run() {
    const ms = tool.timeoutMs ?? toolTimeoutMs;
    const { signal, close } = createSpan(
      outer,
      ms,
      () => new DOMException(`timed out after ${ms} ms`, "TimeoutError"),
    );
    try {
      const content: unknown = await race(tool.run(input, { signal, call }), signal);
      return typeof content === "string" ? [undefined, content] : [`the tool returned ${typeof content}, not text`];
    } catch (error) {
      outer.throwIfAborted();
      return [describe(error)];
    } finally {
      close();
    }
  };
}

/**
 * Holds an object against the `required` names and the top-level types of a schema; all else is left to the tool.
 *
 * @returns What is missing or of another type; empty if it fits.
 */
export function misfits({ required, properties }: JsonSchema, value: Record<string, unknown>): string[] {
  const misses: string[] = [];
  for (const name of Array.isArray(required) ? required : []) {
    if (!Object.hasOwn(value, name)) misses.push(`${quote(name)} is missing`);
  }
  for (const [name, property] of Object.entries(properties ?? {})) {
    const types = [(property as JsonSchema | null)?.type ?? "any"].flat();
    if (Object.hasOwn(value, name) && !types.some((type) => isOfType(value[name], type))) {
      misses.push(`${quote(name)} must be of type ${types.join(" or ")}`);
    }
  }
  return misses;
}

function isOfType(value: unknown, type: unknown): boolean {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  // A type that JSON Schema does not know forbids nothing.
  return type === kind ||
    (type === "integer" ? Number.isInteger(value) : !/^(null|array|object|string|number|boolean)$/.test(String(type)));
}

/** Text of whatever a tool threw: a getter of it may throw again. */
function describe(thrown: unknown): string {
  try {
    const text = (thrown as Error | undefined)?.message ?? thrown;
    if (typeof text === "string" && text) return text;
  } catch {
    // Then it says nothing.
  }
  return "the tool failed";
}

/**
 * Cuts a text in the middle, where the least is lost, with a note.
 *
 * @param max UTF-16 units of the result.
 */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = `\n[${text.length - max}+ characters cut]\n`;
  // The note counts too, unless it would be most of what is kept.
  const half = Math.max(max - note.length, max >> 1, 2) / 2;
  // What the cuts left of a pair goes too.
  return (text.slice(0, half) + note + text.slice(-half)).replace(/\p{Cs}/gu, "");
}
