/**
 * Looks for a key where it must not be: whole, or any eight characters of it in a row, raw, in base64 or percent-encoded.
 * @module
 */

/** No eight characters of it come up by chance. */
export const CANARY = "sk-canary-7Qm2Zx9Lp4Vt8Rk1Ws6Yb";
const WINDOW = 8;

/** Everything that a log, a debugger or a crash report could show of a value. */
export function shown(value: unknown): string {
  const options = { depth: 100, showHidden: true, getters: true, iterableLimit: 1e6, strAbbreviateSize: 1e8 };
  let text = Deno.inspect(value, options) + String(value) + (JSON.stringify(value) ?? "");
  if (value instanceof Error) {
    const { message, stack, cause } = value;
    text += message + stack + shown(Object.getOwnPropertyDescriptors(value)) + (cause ? shown(cause) : "");
  }
  return text;
}

/** The first part of the key that is in a text. */
export function leakIn(text: string, key = CANARY): string | undefined {
  const plain = text.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const texts = plain === text ? [text] : [text, plain];
  const spellings = [key, btoa(key), btoa(`0${key}`).slice(2), btoa(`00${key}`).slice(3)];
  for (const spelling of spellings) {
    const bare = spelling.replace(/=+$/, "");
    for (let i = 0; i + WINDOW <= bare.length; i++) {
      const window = bare.slice(i, i + WINDOW);
      if (texts.some((one) => one.includes(window))) return window;
    }
  }
  return undefined;
}
