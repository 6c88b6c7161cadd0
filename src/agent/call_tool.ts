/**
 * One call: what stands against it, the tool's run, and the answer.
 * @module
 */
import { quote } from "../model/error.ts";
import type { ToolUseBlock } from "../model/message.ts";
import type { JsonSchema, Tool } from "../model/tool.ts";
import { race } from "../provider/receiver.ts";
import { parseInput } from "../provider/tool_input.ts";

/** Starts a timer, if there is a delay; a longer one than a timer can hold would fire at once. */
export function startTimer(ms: number | undefined, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return ms === undefined ? undefined : setTimeout(act, Math.min(ms, 2 ** 31 - 1));
}

const KINDS = "null array object string number boolean";

/** What a call led to, before it is scrubbed and cut. */
export interface Outcome {
  content: string;
  isError?: true;
}

/** An answer that says what went wrong; the model sees it, the run goes on. */
export function failure(why: string): Outcome {
  return { content: `error: ${why}`, isError: true };
}

/**
 * Looks for what stands against a call before anybody is asked and anything runs.
 *
 * @returns The tool and its input, or the reason why it cannot run.
 */
export function checkCall(
  call: ToolUseBlock,
  tools: readonly Tool[],
): { tool: Tool; input: Record<string, unknown> } | string {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    return `unknown tool ${quote(call.name)}, the tools are: ${tools.map(({ name }) => name).join(", ") || "none"}`;
  }
  if (call.invalid) return "invalid input: the arguments are not one JSON object";
  const input = parseInput(call);
  const misses = misfits(tool.inputSchema, input);
  return misses.length > 0 ? `invalid input: ${misses.join(", ")}` : { tool, input };
}

/**
 * Holds an object against the `required` names and the top-level types of a schema; all else is left to the tool.
 *
 * @returns What is missing or of another type; empty if it fits.
 */
export function misfits(schema: JsonSchema, value: Record<string, unknown>): string[] {
  const { required, properties } = schema;
  const misses = (Array.isArray(required) ? required : [])
    .filter((name) => !Object.hasOwn(value, name)).map((name) => `${JSON.stringify(name)} is missing`);
  for (const [name, property] of Object.entries(properties ?? {})) {
    const types = [(property as JsonSchema | null)?.type ?? "any"].flat();
    if (Object.hasOwn(value, name) && !types.some((type) => isOfType(value[name], type))) {
      misses.push(`${JSON.stringify(name)} must be of type ${types.join(" or ")}`);
    }
  }
  return misses;
}

function isOfType(value: unknown, type: unknown): boolean {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  // A type that JSON Schema does not know forbids nothing.
  return type === kind || (type === "integer" ? Number.isInteger(value) : !KINDS.includes(String(type)));
}

/**
 * Runs a tool. Its signal is aborted when the run is stopped or its time is over; it is not waited for then.
 *
 * @param timeoutMs Milliseconds; absent: no bound of its own.
 * @throws `signal.reason`, once `signal` is aborted; nothing else.
 */
export async function callTool(
  { tool, input }: { tool: Tool; input: Record<string, unknown> },
  call: ToolUseBlock,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs?: number | undefined },
): Promise<Outcome> {
  const stop = new AbortController();
  const timer = startTimer(timeoutMs, () => {
    stop.abort(new DOMException(`timed out after ${timeoutMs} ms`, "TimeoutError"));
  });
  try {
    const work = new Promise((done) => done(tool.run(input, { signal: stop.signal, call })));
    const value = await race(race(work, stop.signal), signal);
    return typeof value === "string" ? { content: value } : failure(`the tool returned ${typeof value}, not text`);
  } catch (error) {
    if (signal.aborted) {
      stop.abort(signal.reason);
      throw signal.reason;
    }
    return failure(describe(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Text of whatever a tool threw: a getter of it may throw again. */
function describe(thrown: unknown): string {
  let text;
  try {
    text = (thrown as Error | undefined)?.message ?? thrown;
  } catch {
    // Then it says nothing.
  }
  return typeof text === "string" && text || "the tool failed";
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
