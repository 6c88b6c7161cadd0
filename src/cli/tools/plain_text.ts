/**
 * Foreign text made plain: without control characters, and without markup.
 * @module
 */

/** Terminal sequences and control characters removed, line feeds and tabs kept; every line end is a line feed. */
export function plainText(text: string): string {
  return text
    .replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -~])/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "");
}

const SKIPPED = ["script", "style", "template", "svg", "noscript"];
const BREAKS =
  /^(?:p|div|br|h[1-6]|li|ul|ol|tr|table|section|article|header|footer|nav|main|title|pre|blockquote|hr|dt|dd|form|aside|figure|option)$/;
const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  hellip: "…",
  mdash: "—",
  ndash: "–",
};

/** The readable text of an HTML page, in one pass: no tags, scripts or styles, a line for each block. */
export function htmlText(html: string): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) break;
    pieces.push(html.slice(at, open));
    const comment = html.startsWith("<!--", open);
    const close = comment ? html.indexOf("-->", open + 4) : html.indexOf(">", open);
    // What is never closed hides the rest, as in a browser: looking for its end again and again would be quadratic.
    at = close < 0 ? html.length : close + (comment ? 3 : 1);
    const name = /^<\/?([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 16))?.[1]?.toLowerCase();
    if (name === undefined) {
      if (!comment && !/^<[!?/]/.test(html.slice(open, open + 2))) {
        pieces.push("<");
        at = open + 1;
      }
    } else if (SKIPPED.includes(name) && html[open + 1] !== "/" && html[at - 2] !== "/") {
      const end = new RegExp(`</${name}`, "gi");
      end.lastIndex = at;
      at = end.exec(html)?.index ?? html.length;
    } else if (BREAKS.test(name)) {
      pieces.push("\n");
    }
  }
  pieces.push(html.slice(at));
  return pieces.join("")
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{1,8}));/gi, (entity, decimal, hex, name) => {
      const code = decimal ? Number(decimal) : hex ? parseInt(hex, 16) : -1;
      return code < 0 ? ENTITIES[name] ?? entity : code <= 0x10ffff ? String.fromCodePoint(code) : "";
    })
    .replace(/[ \t\f\v\r\u00a0]+/g, " ").replace(/ ?\n[ \n]*/g, "\n").trim();
}
