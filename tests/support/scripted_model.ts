/**
 * What the scripted model of the demo and of the end-to-end tests says: enough for a chat, a task with tools and a
 * probe, decided by the conversation alone.
 *
 * @module
 */
import type { Call, Turn } from "./replies.ts";

/** One message of a request, in the words of neither dialect. */
export interface Said {
  role: string;
  /** Its text, tool results included. */
  text: string;
  /** The results of tools in it. */
  results: string[];
}

/** A request, in the words of neither dialect. */
export interface Heard {
  dialect: "openai_chat" | "anthropic_messages";
  model: string;
  system: string;
  /** The conversation without system messages. */
  messages: Said[];
  tools: Array<{ name: string; schema: Record<string, unknown> }>;
  toolChoice: unknown;
  maxTokens: number | undefined;
  stream: boolean;
  /** The request's own body. */
  body: Record<string, unknown>;
}

/** A value that a property's schema accepts. */
function sample(schema: unknown, said: string): unknown {
  const { type, enum: allowed, default: preset } = (schema ?? {}) as Record<string, unknown>;
  if (Array.isArray(allowed)) return allowed[0];
  if (preset !== undefined) return preset;
  switch (type) {
    case "integer":
    case "number":
      return Number(/\d+/.exec(said)?.[0] ?? 1);
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return {};
    default:
      // What was quoted, a path, or the last word.
      return /"([^"]+)"/.exec(said)?.[1] ?? (/[\w./-]*\w\.\w+\b/.exec(said) ?? /\w+(?=\W*$)/.exec(said))?.[0] ?? "x";
  }
}

function callOf(tool: Heard["tools"][number], said: string): Call {
  const { properties, required } = tool.schema as { properties?: Record<string, unknown>; required?: string[] };
  const names = required ?? [];
  return { name: tool.name, input: Object.fromEntries(names.map((name) => [name, sample(properties?.[name], said)])) };
}

function wantsTool(heard: Heard, said: string): boolean {
  if (heard.tools.length === 0 || heard.toolChoice === "none") return false;
  const forced = heard.toolChoice !== undefined && heard.toolChoice !== "auto" && heard.toolChoice !== null;
  return forced || /\b(call|use|read|list|tool|probe)\b/i.test(said) ||
    heard.tools.some(({ name }) => said.includes(name));
}

/** A text that ends where the tokens do, a word being one. */
function limited(text: string, maxTokens = Infinity): Turn {
  const words = text.split(" ");
  return words.length <= maxTokens ? { text } : { text: words.slice(0, maxTokens).join(" "), stop: "max_tokens" };
}

/**
 * Answers a greeting with a thought and a text, a request that a tool can serve with calls, and results of tools with
 * their first line. It counts, keeps a secret word and ends as it is told, which is what a probe looks at.
 *
 * @param heard The request
 * @returns What the model says
 */
export function scriptedTurn(heard: Heard): Turn {
  const last = heard.messages.at(-1);
  const said = heard.messages.findLast(({ role, results }) => role === "user" && results.length === 0)?.text ?? "";
  if (last && last.results.length > 0) {
    const lines = last.results.map((result) => JSON.stringify(result.trim().split("\n")[0]!.slice(0, 80)));
    return { text: `The tool says ${lines.join(" and ")}.` };
  }
  if (wantsTool(heard, said)) {
    const named = heard.tools.filter(({ name }) => said.includes(name));
    const tools = named.length > 0 ? named : heard.tools.slice(0, 1);
    const calls = tools.map((tool) => callOf(tool, said));
    const twice = calls.length === 1 && /\b(twice|two|both|parallel)\b/i.test(said);
    return { thinking: "A tool knows this.", calls: twice ? [...calls, ...calls] : calls };
  }
  const [, from, to] = /\bcount from (\d+) to (\d+)/i.exec(said) ?? [];
  const closing = /\bend every answer with the word (\w+)/i.exec(heard.system)?.[1];
  if (to !== undefined) {
    const numbers = Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i);
    return limited(`${numbers.join(", ")}.${closing ? ` ${closing}` : ""}`, heard.maxTokens);
  }
  const secret = /\bsecret word is (\w+)/i.exec(said)?.[1];
  if (secret !== undefined) return { text: secret };
  const turns = heard.messages.filter(({ role }) => role === "user").length;
  return {
    thinking: `This is message ${turns} of the user. I answer in one sentence.`,
    text: `You said ${JSON.stringify(said.slice(0, 200))}, and I heard it.`,
  };
}
