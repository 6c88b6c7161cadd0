/**
 * The one place that judges the raw arguments of a call: when they are complete, what they are, and whether they may run.
 * @module
 */
const BLANK = 0, INSIDE = 1, COMPLETE = 2, OTHER = 3;

/** A look at raw arguments that grow by fragments. */
export interface InputScan {
  /** Takes the next fragment, before it is added. Returns whether they are more than so many bytes of UTF-8 with it. */
  exceeds(max: number, fragment: string): boolean;
  /** One object has closed, and only blank space came behind it. */
  isComplete(): boolean;
  /** An object, array or string has begun and not closed. */
  isOpen(): boolean;
}

/**
 * Looks at raw arguments. Nothing is read before it is asked about, and then each character once: most calls are never asked about, and
 * a megabyte in any number of fragments stays linear. It tells when one JSON object is complete; whether it is valid is for
 * {@linkcode normalizeInput} to say.
 *
 * @param raw Holds them: a text of its own would double what the collector carries along.
 */
export function createInputScan(raw: { readonly input: string }): InputScan {
  let state = BLANK, depth = 0, inString = false, escaped = false, empty = true, bytes = 0;
  /** Absent once it is read; then fragments are read as they come, for to cut them from what grows would copy it each time. */
  let unread: typeof raw | undefined = raw;

  function read(fragment = ""): void {
    const text = (unread?.input ?? "") + fragment;
    unread = undefined;
    bytes += text.length;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      // A surrogate pair is two units and four bytes.
      if (c > 0x7f) bytes += c < 0x800 || (c & 0xf800) === 0xd800 ? 1 : 2;
      if (inString) {
        if (escaped) escaped = false;
        else if (c === 92) escaped = true;
        else if (c === 34) inString = false;
      } else if (c === 123 || c === 91) {
        // A gateway sends `{}` before the real object (quirk O-67): the look starts anew.
        if (depth === 0) {
          state = c === 123 && (state === BLANK || (state === COMPLETE && empty)) ? INSIDE : OTHER;
          empty = true;
        } else empty = false;
        depth++;
      } else if (c === 125 || c === 93) {
        if (depth > 0 && --depth === 0 && state === INSIDE) state = COMPLETE;
      } else if (c !== 32 && c !== 10 && c !== 13 && c !== 9) {
        if (depth === 0) state = OTHER;
        empty = false;
        inString = c === 34;
      }
    }
  }

  return {
    exceeds(max, fragment) {
      // No unit takes more than three.
      if (!unread || 3 * (unread.input.length + fragment.length) > max) read(fragment);
      return bytes > max;
    },
    isComplete() {
      read();
      return state === COMPLETE;
    },
    isOpen() {
      read();
      return depth > 0 || inString;
    },
  };
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
