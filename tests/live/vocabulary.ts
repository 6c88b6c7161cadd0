/**
 * The tokens of the scripted model. Scripts are cut into pieces that occur once over all of them, so that the last
 * token alone mostly says where in which script the model is.
 *
 * @module
 */

const encoder = new TextEncoder();

/** Tags that the chat template and llama.cpp's parsers know. */
export const TAGS: readonly string[] = [
  "<think>",
  "</think>",
  "<tool_call>",
  "</tool_call>",
  "<tool_response>",
  "</tool_response>",
];

const SPOKEN_TAGS = /(<\/?think>|<\/?tool_call>)/;

/** The kinds of tokens by llama.cpp's numbers. */
const TOKEN_TYPES = { normal: 1, control: 3, userDefined: 4 } as const;

/** GPT-2's character for each byte: itself where it is printable in Latin-1, else one of the 256 behind Latin-1. */
export const BYTE_CHARACTERS: readonly string[] = byteCharacters();

function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(printable ? byte : next++);
  });
}

/** All tokens, their types, and their numbers by text. */
export class Vocabulary {
  readonly tokens: string[] = [];
  readonly types: number[] = [];
  readonly #ids = new Map<string, number>();

  /** @param selectors Names of scripts and other texts that must be tokens of their own */
  constructor(selectors: readonly string[]) {
    for (const character of BYTE_CHARACTERS) this.add(character);
    for (const control of ["<|im_start|>", "<|im_end|>"]) this.add(control, "control");
    for (const text of [...TAGS, ...selectors]) this.add(text, "userDefined");
  }

  /** A new token's number. */
  add(token: string, type: keyof typeof TOKEN_TYPES = "normal"): number {
    if (this.#ids.has(token)) throw new Error(`Cannot add the token "${token}": it is there already`);
    this.#ids.set(token, this.tokens.length);
    this.types.push(TOKEN_TYPES[type]);
    return this.tokens.push(token) - 1;
  }

  has(token: string): boolean {
    return this.#ids.has(token);
  }

  /** The number of a known token. */
  id(token: string): number {
    const id = this.#ids.get(token);
    if (id === undefined) throw new Error(`Cannot find the token "${token}"`);
    return id;
  }
}

/** Scripts as sequences of pieces, and the pieces that occur only once over all scripts. */
export interface Cut {
  pieces: Map<string, string[]>;
  unique: Set<string>;
}

/**
 * Cuts scripts into pieces of a few bytes, as many of them unique as can be.
 *
 * @param scripts Name to text
 * @param vocabulary The tokens that no piece may equal
 * @returns The pieces of each script
 */
export function cutScripts(scripts: Record<string, string>, vocabulary: Vocabulary): Cut {
  const unique = new Set<string>();
  const pieces = new Map<string, string[]>();
  for (const [name, text] of Object.entries(scripts)) {
    const sequence: string[] = [];
    for (const segment of text.split(SPOKEN_TAGS)) {
      if (TAGS.includes(segment)) sequence.push(segment);
      else if (segment !== "") sequence.push(...cutSegment(encoder.encode(segment), unique, vocabulary));
    }
    pieces.set(name, sequence);
  }
  return { pieces, unique };
}

function cutSegment(bytes: Uint8Array, unique: Set<string>, vocabulary: Vocabulary): string[] {
  const pieces: string[] = [];
  const starts: number[] = [];
  function piece(start: number, length: number): string {
    return Array.from(bytes.subarray(start, start + length), (byte) => BYTE_CHARACTERS[byte]).join("");
  }
  function isNew(start: number, length: number): boolean {
    const text = piece(start, length);
    // Blank space between two tags is in many scripts, whichever comes first.
    const isBlank = bytes.subarray(start, start + length).every((byte) => byte <= 32);
    return length > 1 && !isBlank && !unique.has(text) && !vocabulary.has(text);
  }
  for (let start = 0; start < bytes.length;) {
    let length = 3 + starts.length % 4;
    while (start + length < bytes.length && !isNew(start, length)) length++;
    length = Math.min(length, bytes.length - start);
    const isRest = start + length === bytes.length;
    if (isRest && !isNew(start, length) && starts.length > 0) {
      // The rest alone would not be unique: it joins the piece before it.
      start = starts.pop()!;
      unique.delete(pieces.pop()!);
      length = bytes.length - start;
    }
    const text = piece(start, length);
    // What is not unique, as a blank line between two tags, stays shared by several scripts.
    if (isNew(start, length)) unique.add(text);
    pieces.push(text);
    starts.push(start);
    start += length;
  }
  return pieces;
}
