/**
 * YAML of a skill's frontmatter, whoever wrote it.
 * @module
 */

/**
 * Imports the YAML parser and returns what `parseYaml` of the skills wants: every scalar is a string, anchors, aliases and merge keys are
 * refused, and where `name` or `description` lack quotes that they need (`description: use when: always`), they are read as if they had them.
 *
 * @param options `strict`: without that second try, for a validator.
 */
export async function frontmatterParser(options: { strict?: boolean } = {}): Promise<(yaml: string) => unknown> {
  const { parse } = await import("@std/yaml/parse");

  function read(yaml: string): unknown {
    try {
      return parse(yaml, { schema: "failsafe" });
    } catch (error) {
      // Deep nesting ends the parser with a RangeError: to the reader that is one more kind of bad YAML.
      throw new Error(error instanceof RangeError ? "it is nested too deeply" : (error as Error).message);
    }
  }

  return (yaml) => {
    const line = findReference(yaml);
    if (line > 0) throw new Error(`line ${line} of it holds an anchor, an alias or a merge key`);
    try {
      return read(yaml);
    } catch (error) {
      if (options.strict) throw error;
      const quoted = yaml.replace(
        /^(name|description):[ \t]+(.+)$/gm,
        (_line, key, value) => `${key}: ${JSON.stringify(value.trim())}`,
      );
      try {
        return read(quoted);
      } catch {
        throw error; // the first error speaks of the text as it was written
      }
    }
  };
}

/** Number of the first line with a value that begins with `&`, `*` or `<<`, outside of block texts; 0 if there is none. */
function findReference(yaml: string): number {
  let block = -1;
  for (const [i, line] of yaml.split("\n").entries()) {
    const indent = line.search(/\S/);
    if (indent < 0 || block >= 0 && indent > block) continue;
    const entry = line.replace(/^\s*(?:-\s+)*/, "");
    const value = entry.replace(/^(?:"[^"]*"|'[^']*'|[^\s"':#[{&*<][^:]*):(?:\s+|$)/, "");
    block = /^[|>]/.test(value) ? indent : -1;
    if (/^(?:[&*]|<<)/.test(value) || /^[[{]/.test(value) && /[[{,:\s](?:[&*]\w|<<)/.test(value)) return i + 1;
  }
  return 0;
}
