/**
 * Control and invisible characters, made visible: what an endpoint wrote must not steer a terminal or hide.
 * @module
 */

/**
 * C0 but line feed and tab, C1; what reorders, hides or breaks text, as Unicode lists it; lone surrogates.
 * U+200C, U+200D and the first variation selectors are not among them: Persian, Indic scripts and emoji need them.
 */
export function hidden(): RegExp {
  // Made when it is asked for: a pattern with Unicode's tables would cost every process up to a millisecond.
  return /[[\p{Cc}\p{Cs}\p{DI}\u2028\u2029]--[\n\t\u200c\u200d\ufe00-\ufe0f]]/gv;
}

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
  const shown = text.replace(hidden(), codeOf);
  return options.oneLine ? shown.replaceAll("\n", codeOf) : shown;
}

function codeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
