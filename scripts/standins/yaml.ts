/** Stand-in for `@std/yaml` over js-yaml 4, which reads no environment (the `yaml` package does). */
// @ts-types="@types/js-yaml"
import * as jsYaml from "js-yaml";

/** The schemas of `@std/yaml` that have a counterpart here. */
export type SchemaType = "failsafe" | "json" | "core" | "default";

/** Options of {@linkcode parse}. */
export interface ParseOptions {
  schema?: SchemaType;
  allowDuplicateKeys?: boolean;
}

/** Options of {@linkcode stringify}. */
export interface StringifyOptions {
  schema?: SchemaType;
  indent?: number;
  lineWidth?: number;
  sortKeys?: boolean;
  skipInvalid?: boolean;
  useAnchors?: boolean;
}

/** What {@linkcode parse} throws for text that is no YAML. */
export class YamlSyntaxError extends SyntaxError {
  override name = "YamlSyntaxError";
}

const SCHEMAS: Record<SchemaType, jsYaml.Schema> = {
  failsafe: jsYaml.FAILSAFE_SCHEMA,
  json: jsYaml.JSON_SCHEMA,
  core: jsYaml.CORE_SCHEMA,
  default: jsYaml.DEFAULT_SCHEMA,
};

/** One YAML document as a value; null for an empty one. */
export function parse(content: string, options: ParseOptions = {}): unknown {
  try {
    const schema = SCHEMAS[options.schema ?? "default"];
    return jsYaml.load(content, { schema, json: options.allowDuplicateKeys ?? false }) ?? null;
  } catch (error) {
    if (error instanceof jsYaml.YAMLException) throw new YamlSyntaxError(error.message);
    throw error;
  }
}

/** A value as a YAML document. */
export function stringify(data: unknown, options: StringifyOptions = {}): string {
  const { schema = "default", useAnchors = true, ...rest } = options;
  try {
    return jsYaml.dump(data, { ...rest, schema: SCHEMAS[schema], noRefs: !useAnchors });
  } catch (error) {
    if (error instanceof jsYaml.YAMLException) throw new TypeError(error.message);
    throw error;
  }
}
