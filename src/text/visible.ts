/**
 * Control and invisible characters, made visible: what an endpoint wrote must not steer a terminal or hide (design §7).
 * @module
 */

/**
 * C0 but line feed and tab, DEL, C1; marks that reorder, hide or break text; tag characters; lone surrogates.
 * U+200C and U+200D are not among them: Persian, Indic scripts and emoji need them.
 */
export const HIDDEN: RegExp =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

/** How {@linkcode visible} writes. */
export interface VisibleOptions {
  /** The result is one line: line feeds are shown as well. Default `false`. */
  oneLine?: boolean;
}

/**
 * Shows what cannot be seen as its code point: ESC becomes `\u{1b}`. Line feeds and tabs stay. Linear, and the same string comes
 * back if there is nothing to show.
 *
 * @param text Anything a model or an endpoint wrote.
 * @param options Whether line feeds stay.
 */
export function visible(text: string, options: VisibleOptions = {}): string {
  const shown = text.replace(HIDDEN, codeOf);
  return options.oneLine ? shown.replaceAll("\n", codeOf) : shown;
}

function codeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
