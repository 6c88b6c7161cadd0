/**
 * The one place that judges the raw arguments of a call: when they are complete, what they are, and whether they may run.
 * @module
 */
const BLANK = 0, INSIDE = 1, COMPLETE = 2, OTHER = 3;

/**
 * A look at raw arguments that arrive in fragments. Nothing is read before it is asked about, and then each character once: most calls
 * are never asked about, and a megabyte in any number of fragments stays linear. It tells when one JSON object is complete; whether it
 * is valid is for {@linkcode normalizeInput} to say.
 */
export class InputScan {
  #unread = "";
  #state = BLANK;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #empty = true;
  #bytes = 0;

  /** Takes the next fragment. */
  feed(fragment: string): void {
    this.#unread += fragment;
  }

  /** One object has closed, and only blank space came behind it. */
  get complete(): boolean {
    this.#read();
    return this.#state === COMPLETE;
  }

  /** An object, array or string has begun and not closed. */
  get open(): boolean {
    this.#read();
    return this.#depth > 0 || this.#inString;
  }

  /** Whether there are more than so many bytes of UTF-8. */
  exceeds(bytes: number): boolean {
    // No unit takes more than three.
    if (this.#bytes + 3 * this.#unread.length > bytes) this.#read();
    return this.#bytes > bytes;
  }

  #read(): void {
    const text = this.#unread, { length } = text;
    let inString = this.#inString, escaped = this.#escaped, bytes = length;
    this.#unread = "";
    for (let i = 0; i < length; i++) {
      const c = text.charCodeAt(i);
      // A surrogate pair is two units and four bytes.
      if (c > 0x7f) bytes += c < 0x800 || (c & 0xf800) === 0xd800 ? 1 : 2;
      if (inString) {
        if (escaped) escaped = false;
        else if (c === 92) escaped = true;
        else if (c === 34) inString = false;
      } else if (c === 123 || c === 91) {
        // A gateway sends `{}` before the real object (quirk O-67): the look starts anew.
        if (this.#depth === 0) {
          this.#state = c === 123 && (this.#state === BLANK || (this.#state === COMPLETE && this.#empty))
            ? INSIDE
            : OTHER;
          this.#empty = true;
        } else this.#empty = false;
        this.#depth++;
      } else if (c === 125 || c === 93) {
        if (this.#depth > 0 && --this.#depth === 0 && this.#state === INSIDE) this.#state = COMPLETE;
      } else if (c !== 32 && c !== 10 && c !== 13 && c !== 9) {
        if (this.#depth === 0) this.#state = OTHER;
        this.#empty = false;
        inString = c === 34;
      }
    }
    this.#inString = inString;
    this.#escaped = escaped;
    this.#bytes += bytes;
  }
}

/** The judged input of a call. */
export interface JudgedInput {
  /** JSON text of one object, or with `invalid` the raw text. */
  input: string;
  invalid?: true;
  /** The arguments; without them the look at how deep they nest would parse them once more. */
  value?: Record<string, unknown>;
}

/**
 * Judges complete arguments. No arguments are `{}`; an empty object before the real one is dropped; one JSON-string layer or one code
 * fence around a single object is removed (quirks O-65, O-67, O-68). Everything else, two objects in a row included, is invalid: it is
 * answered with an error and never repaired, split or run.
 */
export function normalizeInput(raw: string): JudgedInput {
  const whole = parse(raw), text = raw.trim();
  if (isObject(whole)) return { input: repairEscapes(raw), value: whole };
  const input =
    (typeof whole === "string"
      ? whole
      : text.startsWith("```") && text.endsWith("```")
      ? text.slice(3, -3).replace(/^\w*/, "")
      : text.replace(/^\{\s*\}\s*(?=\{)/, "")).trim();
  const value = parse(input || "null");
  if (value === null) return { input: "{}" };
  return isObject(value) ? { input: repairEscapes(input), value } : { input: raw, invalid: true };
}

/**
 * Replaces escapes of lone surrogates in JSON text by `\ufffd`. `JSON.stringify` writes them silently and servers answer with 400 for
 * ever after (rule R-21, quirk S-16).
 */
export function repairEscapes(json: string): string {
  if (!/\\ud/i.test(json)) return json;
  // Every escape is matched, so that an escaped backslash never begins one.
  return json.replace(
    /\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)|\\[^]/gi,
    (escape, lone) => lone ? "\\ufffd" : escape,
  );
}

/** Parsed JSON with own properties only, or `undefined` for text that is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is an object, and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether JSON data nests deeper than `max`; looks no deeper than that itself. */
export function isDeeper(value: unknown, max: number): boolean {
  if (max < 0) return true;
  return typeof value === "object" && value !== null && Object.values(value).some((item) => isDeeper(item, max - 1));
}
