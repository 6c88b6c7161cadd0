/**
 * What a caller says about an endpoint, checked before the platform can quote it in an error of its own (quirk H-02).
 * @module
 */

/**
 * Checks an API key.
 *
 * @param key What the caller gave.
 * @returns The key.
 * @throws {TypeError} It is empty, or holds something else than visible ASCII; the text does not hold it.
 */
export function checkKey(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError("Cannot use apiKey as it must be visible ASCII");
  return key;
}

/**
 * Checks and completes a base URL. Blanks around it and slashes behind it are cut.
 *
 * @param baseUrl What the caller gave.
 * @param completePath Completes the path, which comes without trailing slashes.
 * @returns The base URL; a path that begins with a slash can be appended.
 * @throws {TypeError} It is no http(s) URL, or has userinfo, a query or a fragment; the text holds none of it.
 */
export function resolveBaseUrl(baseUrl: string, completePath: (path: string) => string): string {
  const text = baseUrl.trim();
  // The platform's own error quotes the whole URL, and its parser drops line ends and takes other schemes.
  if (!/^https?:\/\/[^\s?#@/\\]+(\/[^\s?#]*)?$/i.test(text) || !URL.canParse(text)) {
    throw new TypeError("Cannot use baseUrl as it must be http(s) without user, query and fragment");
  }
  const { origin, pathname } = new URL(text);
  return origin + completePath(pathname.replace(/\/+$/, ""));
}

/**
 * Joins header fields; names become lower case.
 *
 * @param own The dialect's.
 * @param extra The caller's: they add to the own ones or replace them.
 * @throws {TypeError} A name or value is invalid in HTTP, or the name belongs to the connection; the text holds no value.
 */
export function mergeHeaders(own: Record<string, string>, extra: Record<string, string> = {}): Record<string, string> {
  const headers = Object.fromEntries(
    [own, extra].flatMap(Object.entries<string>).map(([name, value]) => {
      // What is no name may be a whole field, with its value.
      const [shown = ""] = /^[\w!#$%&'*+.^`|~-]+$/.exec(name) ?? [];
      const isAllowed = typeof value === "string" && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
      if (!isAllowed || /^(host|content-length|connection|)$/i.test(shown)) {
        throw new TypeError(`Cannot use the header "${shown}" as its name or value is invalid`);
      }
      return [name.toLowerCase(), value];
    }),
  );
  // Whoever prints a request must not print its key; Deno, Node and Bun ask here. Node's `fetch` refuses an own symbol.
  return Object.setPrototypeOf(headers, { [Symbol.for("nodejs.util.inspect.custom")]: () => "[redacted]" });
}
