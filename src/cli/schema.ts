/**
 * `--schema`: loaded only when it is asked for, as the validator is.
 * @module
 */
import {
  dereference,
  type Schema as Rules,
  schemaArrayKeyword,
  schemaKeyword,
  schemaMapKeyword,
  Validator,
} from "@cfworker/json-schema";
import { quote } from "../model/error.ts";
import type { JsonSchema } from "../model/tool.ts";
import { type CliError, usage } from "./exit.ts";
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
    checkRules(schema, dereference(schema), new Set());
    validator.validate({});
  } catch (error) {
    throw unusable(label, error);
  }
  function validate(value: Record<string, unknown>): string[] {
    const { valid, errors } = check(value);
    // An outer finding only repeats that an inner one exists.
    const inner = errors.filter(({ instanceLocation }) =>
      !errors.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`))
    );
    return valid ? [] : inner.slice(0, MAX_FINDINGS).map((one) => `${one.instanceLocation}: ${one.error}`);
  }
  function check(value: unknown): ReturnType<Validator["validate"]> {
    try {
      return validator.validate(value);
    } catch (error) {
      throw unusable(label, error);
    }
  }
  return { schema, validate };
}

/**
 * The validator looks at a pattern or a reference only when a value meets it, and then the answer is paid.
 *
 * @param known All schemas that a reference may lead to.
 * @param seen Schemas that have been looked at.
 * @throws {Error} A pattern or a reference cannot be used.
 */
function checkRules(rules: unknown, known: ReturnType<typeof dereference>, seen: Set<unknown>): void {
  if (typeof rules !== "object" || rules === null || seen.has(rules)) return;
  seen.add(rules);
  const { $ref, pattern, patternProperties = {}, __absolute_ref__: target = String($ref) } = rules as Rules;
  for (const text of [pattern ?? "", ...Object.keys(patternProperties)]) new RegExp(text, "u");
  if ($ref !== undefined) {
    if (known[target] === undefined) throw new Error(`its $ref ${quote(String($ref))} leads nowhere`);
    checkRules(known[target], known, seen);
  }
  for (const [keyword, value] of Object.entries(rules)) {
    const isMany = schemaMapKeyword[keyword] || keyword === "dependencies" ||
      schemaArrayKeyword[keyword] && Array.isArray(value);
    if (isMany) { for (const inner of Object.values(Object(value))) checkRules(inner, known, seen); }
    else if (schemaKeyword[keyword]) checkRules(value, known, seen);
  }
}

function unusable(label: string, error: unknown): CliError {
  return usage(`Cannot use ${label}: ${(error as Error).message.split("\n", 1)[0]}`);
}
