/** Stand-in for `@cliffy/prompt`: Confirm, Select, Secret and Input, plain, with the same options and keys. */

/** Where a prompt reads its keys. */
export interface PromptReader {
  read(buffer: Uint8Array): Promise<number | null>;
  setRaw(mode: boolean, options?: Deno.SetRawOptions): void;
  isTerminal(): boolean;
}

/** Options that every prompt takes. */
export interface PromptOptions<T> {
  message: string;
  default?: T;
  hint?: string;
  /** Leaves Ctrl-C to the terminal, which then sends SIGINT. Without it Ctrl-C ends the process with 130. */
  cbreak?: boolean;
  reader?: PromptReader;
  writer?: { writeSync(data: Uint8Array): number };
}

/** Options of {@linkcode Input}. */
export interface InputOptions extends PromptOptions<string> {
  validate?: (value: string) => boolean | string | Promise<boolean | string>;
  minLength?: number;
}

/** Options of {@linkcode Secret}. */
export interface SecretOptions extends InputOptions {
  label?: string;
  hidden?: boolean;
}

/** Options of {@linkcode Select}. */
export interface SelectOptions<T> extends PromptOptions<T> {
  options: Array<T | { name?: string; value: T; disabled?: boolean }>;
  search?: boolean;
  maxRows?: number;
}

let injected: unknown;

interface Question<T> {
  settings: PromptOptions<T>;
  /** What stands behind the message while the answer is typed. */
  view(): string;
  key(key: string): void;
  /** The answer so far, or why it is none. */
  answer(raw: unknown): T | Error | Promise<T | Error>;
  shown(value: T): string;
}

const ESCAPE = "\x1b[";
const KEYS = new RegExp("\x1b\\[[0-9;]*[A-Za-z~]|[^]", "gu");
const BACK = [`${ESCAPE}A`, `${ESCAPE}D`, "k", "u", "p", "8"];
const ON = [`${ESCAPE}B`, `${ESCAPE}C`, "j", "d", "n", "2"];

async function ask<T>(question: Question<T>): Promise<T> {
  const { message, cbreak = false, hint, reader = Deno.stdin, writer = Deno.stdout } = question.settings;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1024);
  let trouble = hint ?? "";
  for (;;) {
    writer.writeSync(encoder.encode(`\r${ESCAPE}J? ${message}${trouble && ` [${trouble}]`} › ${question.view()}`));
    let submitted = injected !== undefined;
    if (!submitted) {
      if (reader.isTerminal()) reader.setRaw(true, { cbreak });
      const length = await reader.read(buffer);
      if (reader.isTerminal()) reader.setRaw(false);
      if (length === null) throw new Error("Cannot read an answer: the input has ended");
      for (const [key] of decoder.decode(buffer.subarray(0, length), { stream: true }).matchAll(KEYS)) {
        if (key === "\x03") Deno.exit(130);
        submitted ||= key === "\r" || key === "\n";
        if (!submitted) question.key(key);
      }
    }
    if (!submitted) continue;
    const raw = injected;
    injected = undefined;
    const value = await question.answer(raw);
    if (!(value instanceof Error)) {
      writer.writeSync(encoder.encode(`\r${ESCAPE}J? ${message} › ${question.shown(value)}\n`));
      return value;
    }
    if (raw !== undefined) throw value;
    trouble = value.message;
  }
}

class Line {
  text = "";

  key(key: string): void {
    if (key === "\x7f" || key === "\b") this.text = [...this.text].slice(0, -1).join("");
    else if (!/[\p{Cc}]/u.test(key)) this.text += key;
  }
}

async function verdict(value: string, options: InputOptions, label: string): Promise<string | Error> {
  if (value === "" && options.default !== undefined) return options.default;
  const { minLength = 0 } = options;
  if (value.length < minLength) {
    return new Error(`${label} must be longer than ${minLength} but has a length of ${value.length}.`);
  }
  const result = await (options.validate?.(value) ?? true);
  return result === true ? value : new Error(result || "Invalid answer.");
}

function askLine(options: string | SecretOptions, label: string, mask: (text: string) => string): Promise<string> {
  const settings = typeof options === "string" ? { message: options } : options;
  const line = new Line();
  return ask<string>({
    settings,
    view: () => mask(line.text),
    key: (key) => line.key(key),
    answer: (raw) => verdict(raw === undefined ? line.text : String(raw), settings, settings.label ?? label),
    shown: mask,
  });
}

/** Asks for a line of text. */
export class Input {
  static prompt(options: string | InputOptions): Promise<string> {
    return askLine(options, "Value", (text) => text);
  }

  static inject(value: string): void {
    injected = value;
  }
}

/** Asks for a line that is not shown. */
export class Secret {
  static prompt(options: string | SecretOptions): Promise<string> {
    const hidden = typeof options === "object" && options.hidden === true;
    return askLine(options, "Secret", (text) => hidden ? "" : "*".repeat(text.length));
  }

  static inject(value: string): void {
    injected = value;
  }
}

/** Asks for yes or no. */
export class Confirm {
  static prompt(options: string | PromptOptions<boolean>): Promise<boolean> {
    const settings = typeof options === "string" ? { message: options } : options;
    const line = new Line();
    return ask<boolean>({
      settings,
      view: () => line.text,
      key: (key) => line.key(key),
      answer(raw) {
        const text = (raw === undefined ? line.text : String(raw)).toLowerCase();
        if (text === "" && settings.default !== undefined) return settings.default;
        line.text = "";
        return /^y(es)?$/.test(text) || (!/^no?$/.test(text) && new Error("Invalid answer."));
      },
      shown: (value) => value ? "Yes" : "No",
    });
  }

  static inject(value: string): void {
    injected = value;
  }
}

/** Asks to choose one of a list with the arrow keys. */
export class Select {
  static prompt<T>(settings: SelectOptions<T>): Promise<T> {
    const items = settings.options.map((item) =>
      typeof item === "object" && item !== null && "value" in item
        ? { name: item.name ?? String(item.value), ...item }
        : { name: String(item), value: item as T }
    ).filter((item) => !("disabled" in item && item.disabled));
    let index = Math.max(0, items.findIndex((item) => item.value === settings.default));
    return ask<T>({
      settings,
      view: () => items.map((item, i) => `${i === index ? "❯" : " "} ${item.name}`).join("  "),
      key(key) {
        const step = Number(ON.includes(key)) - Number(BACK.includes(key));
        index = (index + step + items.length) % items.length;
      },
      answer(raw) {
        const chosen = raw === undefined ? items[index] : items.find((item) => item.value === raw);
        return chosen ? chosen.value : new Error("Invalid answer.");
      },
      shown: (value) => items.find((item) => item.value === value)?.name ?? "",
    });
  }

  static inject(value: unknown): void {
    injected = value;
  }
}
