/**
 * What is measured: replies told by the scripted endpoint of the tests, cut as networks cut them, and hostile texts.
 *
 * @module
 */
import { anthropicEncoding, openAiEncoding, type Turn } from "../support/replies.ts";

/** Dialects by the name that a provider has. */
export type DialectName = "openai_chat" | "anthropic_messages";

/** What a reply is made of; `big` is one call whose whole argument comes in one event. */
export type Kind = "text" | "thinking" | "tool" | "big";

/** How it is cut: an event a chunk, as servers stream; chunks of some KiB, as proxies do; or an event every 5 ms. */
export type Framing = "event" | "1k" | "16k" | "paced";

/** Names a reply; written `openai_chat.text.1000.event` in a path. */
export interface Subject {
  dialect: DialectName;
  kind: Kind;
  /** Deltas; KiB for `big`. */
  size: number;
  framing: Framing;
}

/** The path segment of a subject. */
export function keyOf({ dialect, kind, size, framing }: Subject): string {
  return [dialect, kind, size, framing].join(".");
}

/** The subject of a path segment. */
export function subjectOf(key: string): Subject {
  const [dialect, kind, size, framing] = key.split(".");
  return { dialect, kind, size: Number(size), framing } as Subject;
}

/** Words of a model: mostly short, some with marks that a reader for leaked reasoning must look at. */
const WORDS =
  ("the of and to in is that for it was with be on not this have from or which one you all were there would " +
    "their we him been has when who will more if out so said what up its about into than them can only other new some " +
    "could time these two may then do first any my now such like our over even most made after also did many before must " +
    "through back years where much your way well down should because each just `code` a<b \n\n* item, value. stream: " +
    "response token buffer reader").split(" ");

/** Repeatable: each word by a multiplier that visits all of them in no visible order. */
function words(count: number): string {
  let text = "Well";
  for (let i = 1; i < count; i++) text += ` ${WORDS[(i * 7919) % WORDS.length]}`;
  return text;
}

/** Of as many characters as a fragment of arguments usually has. */
const FRAGMENT = `${"reading_and_writing,".repeat(2)}x\u00e9"\\n"`;

function turnOf({ kind, size }: Subject): Turn {
  switch (kind) {
    case "text":
      return { text: words(size) };
    case "thinking":
      return { thinking: words(Math.ceil(size / 2)), text: words(Math.floor(size / 2)) };
    case "tool":
      return { calls: [{ name: "write_file", input: { content: `${FRAGMENT} `.repeat(size).trimEnd() } }] };
    case "big":
      return { calls: [{ name: "write_file", input: { content: "0123456789abcde\n".repeat(size * 64) } }] };
  }
}

/** What a vendor adds to each chunk. */
const ENVELOPE = {
  id: "chatcmpl-Cq1vX0kD8aJ2mTzW7eYbR4sN5uPfG",
  created: 1764500000,
  service_tier: "default",
  system_fingerprint: "fp_7c3a91be05",
};

/** The events of a subject, each as its wire text. */
export function eventsOf(subject: Subject): string[] {
  const encoding = subject.dialect === "openai_chat" ? openAiEncoding : anthropicEncoding;
  return encoding.stream(turnOf(subject), { model: "bench-model", serial: 1, usage: true, envelope: ENVELOPE });
}

/** The chunks in which a subject arrives. */
export function chunksOf(subject: Subject): Uint8Array<ArrayBuffer>[] {
  const events = eventsOf(subject), { framing } = subject;
  if (framing === "event" || framing === "paced") return events.map((event) => encoder.encode(event));
  return cut(events, parseInt(framing) * 1024);
}

/** The same bytes in chunks of one size. */
export function cut(events: readonly string[], size: number): Uint8Array<ArrayBuffer>[] {
  const bytes = encoder.encode(events.join(""));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
}

/** What a client must have made of a subject; a client that drops or changes a character is not measured but refused. */
export function expected(subject: Subject): string {
  const { thinking = "", text = "", calls: [call] = [] } = turnOf(subject);
  return fingerprint([thinking, text, call ? JSON.stringify(call.input) : ""]);
}

/** Equal for equal texts. */
export function fingerprint(texts: readonly string[]): string {
  return texts.map((text) => {
    let hash = 0;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return `${text.length}:${hash}`;
  }).join(" ");
}

/** The fingerprint that all have; where they differ, one that no reply has. */
export function common(fingerprints: ReadonlyArray<string | undefined>): string | undefined {
  const [first, ...others] = new Set(fingerprints);
  return others.length > 0 ? "different replies" : first;
}

const encoder = new TextEncoder();

/** Pieces of texts that cost a careless search much; each is repeated to the size wanted. */
const HOSTILE = {
  decodeJsonObject: [
    '{"a":',
    "{",
    '{"a":"{',
    '":",',
    '[{"a":[',
    '{"a":1} and then ',
    '{"a":{"b":[1,2,{"c":"}"}]}}\n',
    `He said "use {curly} braces" and it's fine. `,
    "```json\n{",
    '\\"{\\',
  ],
  stripReasoning: [
    "<think>",
    "</think>",
    "<think></think>",
    "<think>a</think>b ",
    "<think><think></think>",
    "<",
    "<think",
    "</think",
    " ",
    "\n```\n<think>`</think>",
  ],
};

/** The two functions that read whole texts. */
export type TextFunction = keyof typeof HOSTILE;

/** Ten hostile texts for a function. */
export function hostileTexts(name: TextFunction, length: number): string[] {
  return HOSTILE[name].map((piece) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length));
}
