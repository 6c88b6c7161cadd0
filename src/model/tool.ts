/**
 * Tools: what a model may call.
 * @module
 */
import { quote } from "./error.ts";
import { checkInteger } from "./limits.ts";
import type { ToolUseBlock } from "./message.ts";

/** A JSON Schema of type `object`. */
export type JsonSchema = Record<string, unknown>;

/** What a running tool is given beside its input. */
export interface ToolContext {
  /** Aborted when the run is aborted or the tool's time is over. */
  signal: AbortSignal;
  /** The call as it stands in the conversation; `call.input` is the raw JSON text. */
  call: ToolUseBlock;
}

/** A function that a model may call. */
export interface Tool {
  /** `[a-zA-Z0-9_-]{1,64}`, unique among the tools of a run (rules ). */
  name: string;
  /** What it does, for the model; not blank. */
  description: string;
  /** JSON Schema of the input, of type `object`. */
  inputSchema: JsonSchema;
  /**
   * Does the work. `input` is the parsed object and holds own properties only.
   * A thrown error is answered to the model as `error: <message>`; it never ends the run.
   */
  run(input: Record<string, unknown>, context: ToolContext): string | Promise<string>;
  /** Milliseconds; overrides the agent's `toolTimeoutMs`. */
  timeoutMs?: number;
  /** The tool changes nothing and sends nothing; `--approve never` allows only such tools. */
  pure?: boolean;
}

/** How the model may use the tools. */
export type ToolChoice = "auto" | "none" | "required" | { name: string };

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Checks tools once, where they are registered (rig's rules, and R-34).
 *
 * @param tools Tools of one run.
 * @throws {TypeError} A name is malformed or taken, a description is blank, `run` is no function, or a schema is no object schema.
 * @throws {RangeError} A `timeoutMs` is no integer above 0.
 */
export function validateTools(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name, description, inputSchema, run, timeoutMs = 1 } of tools) {
    const fault = typeof name !== "string" || !NAME.test(name)
      ? `name must match ${NAME.source}`
      : seen.has(name)
      ? "name is taken"
      : !description?.trim()
      ? "description is blank"
      : typeof run !== "function"
      ? "run is no function"
      : Object(inputSchema) !== inputSchema || (inputSchema.type ?? "object") !== "object"
      ? "inputSchema is no schema of an object"
      : undefined;
    if (fault) throw new TypeError(`Cannot use the tool ${quote(name)}: its ${fault}`);
    checkInteger(`timeoutMs of the tool "${name}"`, timeoutMs);
    seen.add(name);
  }
}
