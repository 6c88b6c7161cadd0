/**
 * `--schema`: loaded only when it is asked for, as the validator is.
 * @module
 */
import { Validator } from "@cfworker/json-schema";
import { quote } from "../model/error.ts";
import type { JsonSchema } from "../model/tool.ts";
import { usage } from "./exit.ts";
import { readText } from "./input.ts";

/** Findings told to the model: it repairs a few at a time anyway. */
const MAX_FINDINGS = 20;

/** A schema, and what holds an answer against it. */
export interface Schema {
  schema: JsonSchema;
  validate(value: Record<string, unknown>): string[];
}

/**
 * Reads a schema.
 *
 * @param source JSON text if it begins with `{`, else a file.
 * @throws {CliError} `usage`: unreadable, no JSON object, or no schema.
 */
export async function readSchema(source: string): Promise<Schema> {
  const isText = source.trimStart().startsWith("{");
  const label = isText ? "--schema" : `the schema ${quote(source)}`;
  const text = isText ? source : await readText(source);
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw usage(`Cannot use ${label} as it must be JSON: ${(error as Error).message}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw usage(`Cannot use ${label} as it must be a JSON object`);
  }
  return makeSchema(schema as JsonSchema, label);
}

function makeSchema(schema: JsonSchema, label: string): Schema {
  if (schema.type !== undefined && schema.type !== "object") {
    throw usage(`Cannot use ${label} as its type must be "object": current value is ${quote(String(schema.type))}`);
  }
  // "2020-12" reads what older drafts wrote too, but for a few keywords that `$schema` announces.
  const draft = /draft-0?([47])/.exec(String(schema.$schema))?.[1] as "4" | "7" | undefined;
  let validator: Validator;
  try {
    validator = new Validator(schema, draft ?? "2020-12", false);
    // An unknown reference shows only when a value is held against it.
    validator.validate({});
  } catch (error) {
    throw usage(`Cannot use ${label}: ${(error as Error).message.split("\n", 1)[0]}`);
  }
  function validate(value: Record<string, unknown>): string[] {
    const { valid, errors } = validator.validate(value);
    // An outer finding only repeats that an inner one exists.
    const inner = errors.filter(({ instanceLocation }) =>
      !errors.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`))
    );
    return valid ? [] : inner.slice(0, MAX_FINDINGS).map((one) => `${one.instanceLocation}: ${one.error}`);
  }
  return { schema, validate };
}
