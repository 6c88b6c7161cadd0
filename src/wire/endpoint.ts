/**
 * What a caller says about an endpoint, checked before the platform can quote it in an error of its own (quirk H-02).
 * @module
 */

/** They belong to the connection. */
const RESERVED = ["host", "content-length", "connection"];

/**
 * Checks an API key.
 *
 * @param key What the caller gave.
 * @returns The key.
 * @throws {TypeError} It is empty, or holds something else than visible ASCII; the text does not hold it.
 */
export function checkKey(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("Cannot use the API key as it must be visible ASCII without blanks and line ends");
  }
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
  if (!/^https?:\/\/[^\s?#]+$/i.test(text) || !URL.canParse(text)) {
    throw new TypeError("Cannot use the base URL as it must be an http or https URL without query and fragment");
  }
  const { origin, pathname, username, password } = new URL(text);
  if (username !== "" || password !== "") throw new TypeError("Cannot use the base URL as it holds a user or password");
  return origin + completePath(pathname.replace(/\/+$/, ""));
}

/**
 * Joins header fields; names become lower case.
 *
 * @param own The dialect's.
 * @param extra The caller's: they add to the own ones or replace them.
 * @throws {TypeError} A name or value is not allowed in HTTP, or the name belongs to the connection; the text holds no value.
 */
export function mergeHeaders(own: Record<string, string>, extra: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(extra)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new TypeError("Cannot use a header field as its name is no token");
    if (RESERVED.includes(name.toLowerCase())) throw new TypeError(`Cannot set the header field "${name}"`);
    if (typeof value !== "string" || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new TypeError(`Cannot use the header field "${name}" as its value is not allowed in HTTP`);
    }
  }
  return Object.fromEntries(
    [own, extra].flatMap(Object.entries<string>).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
