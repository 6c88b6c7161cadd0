/**
 * Brings a conversation into the order that every protocol wants, before a dialect puts it into its own words: system texts first,
 * each call with its one result, nothing empty, ids that the endpoint accepts.
 * @module
 */
import type { ImageBlock, Message, OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock } from "../model/message.ts";
import type { ToolResultBlock } from "../model/message.ts";
import type { JsonSchema } from "../model/tool.ts";
import type { DialectRequest, Thinking } from "./dialect.ts";
import type { Json } from "./read.ts";
import { normalizeInput } from "./tool_input.ts";

/** A call as it goes out, together with its result. */
export interface WireCall {
  type: "tool_use";
  id: string;
  /** Within `[a-zA-Z0-9_-]{1,64}`. */
  name: string;
  /** JSON text of one object, as the model sent it if it was valid. */
  input: string;
  /** Vendor keys, if they came from where the call goes. */
  extra?: Json;
  /** Never empty; an error begins with `error: `. */
  result: string;
  isError: boolean;
}

/** Results of the turn before, then what the user says. */
export interface UserTurn {
  role: "user";
  results: WireCall[];
  content: (TextBlock | ImageBlock)[];
}

/** What goes back of a reply. */
export interface AssistantTurn {
  role: "assistant";
  blocks: (TextBlock | ThinkingBlock | OpaqueBlock | WireCall)[];
}

/** A conversation in the order of the wire. */
export interface History {
  /** All system texts, joined with a blank line. */
  system: string;
  turns: (UserTurn | AssistantTurn)[];
  /** Tools to declare: the given ones, else one for each name that was called (rule R-05). */
  tools: { name: string; description?: string; schema: JsonSchema }[];
}

/** Where a reply came from, as far as it matters for what goes back (rules ). */
export interface Provenance {
  /** From this dialect and model. */
  ours: boolean;
  /** From another one. A message without origin is neither. */
  foreign: boolean;
  /** After the last thing the user said: part of the tool loop that is going on. */
  current: boolean;
}

/** What a dialect decides. */
export interface HistoryRules {
  /** `dialect.name`. */
  dialect: string;
  /** Whether reasoning and vendor blocks go back. */
  keeps(block: ThinkingBlock | OpaqueBlock, from: Provenance): boolean;
  /** Wire form of an id, `""` if it has none; with `n`, the n-th substitute. */
  wireId(id: string, n?: number): string;
  /** Ids are unique within one turn, or over the conversation. */
  unique: "turn" | "conversation";
  /** Neighbouring turns of one role become one. */
  merge: boolean;
}

/**
 * Reads a conversation.
 *
 * @param request What is to be sent.
 * @param rules What the dialect decides.
 * @throws {TypeError} `toolChoice` asks for a tool that is not given.
 */
export function readHistory(request: DialectRequest, rules: HistoryRules): History {
  const { messages } = request.conversation;
  const systemTexts: string[] = [];
  const turns: (UserTurn | AssistantTurn)[] = [];
  const names = new Set<string>();
  const lastSaid = messages.findLastIndex(({ role, content }) =>
    role === "user" && content.some(({ type }) => type !== "tool_result")
  );
  let used = new Set<string>();
  let substitutes = 0;
  const open = new Map<string, WireCall[]>();

  function wireCall(block: ToolUseBlock, ours: boolean): WireCall {
    let id = rules.wireId(block.id);
    while (id === "" || used.has(id)) id = rules.wireId(block.id, ++substitutes);
    used.add(id);
    const name = block.name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_";
    names.add(name);
    const call: WireCall = {
      type: "tool_use",
      id,
      name,
      input: wireInput(block),
      result: "error: no result: interrupted",
      isError: true,
    };
    if (ours && block.extra) call.extra = block.extra;
    return call;
  }

  function add(turn: UserTurn | AssistantTurn): void {
    const last = turns[turns.length - 1];
    if (!rules.merge || last?.role !== turn.role) turns.push(turn);
    else if (last.role === "assistant") last.blocks.push(...(turn as AssistantTurn).blocks);
    else last.content.push(...(turn as UserTurn).content);
  }

  function addReply({ content, origin }: Message, current: boolean): void {
    const ours = origin?.dialect === rules.dialect && origin.model === request.model;
    const from = { ours, foreign: origin !== undefined && !ours, current };
    const blocks: AssistantTurn["blocks"] = [];
    const calls = new Map<string, WireCall[]>();
    if (rules.unique === "turn") used = new Set();
    for (const block of content) {
      if (block.type === "tool_use") {
        const call = wireCall(block, ours);
        blocks.push(call);
        const list = calls.get(block.id);
        if (list) list.push(call);
        else calls.set(block.id, [call]);
      } else if (
        block.type === "text" || ((block.type === "thinking" || block.type === "opaque") && rules.keeps(block, from))
      ) {
        blocks.push(block);
      }
    }
    // An answer to a call is looked for behind the newest reply that called under its id: ids may repeat from turn to turn.
    for (const [id, list] of calls) open.set(id, list);
    // A turn of blank text and reasoning alone is refused by most servers.
    if (!blocks.some((block) => block.type === "text" ? block.text.trim() !== "" : block.type !== "thinking")) return;
    add({ role: "assistant", blocks });
    const results = blocks.filter((block) => block.type === "tool_use");
    if (results.length > 0) add({ role: "user", results, content: [] });
  }

  for (const [i, message] of messages.entries()) {
    const { role, content } = message;
    if (role === "assistant") {
      addReply(message, i > lastSaid);
      continue;
    }
    const said: UserTurn["content"] = [];
    for (const block of content) {
      if (block.type === "tool_result") answer(open, block);
      else if (block.type === "image") said.push(block);
      else if (block.type === "text" && block.text.trim() !== "") {
        if (role === "system") systemTexts.push(block.text);
        else said.push(block);
      }
    }
    if (said.length > 0) add({ role: "user", results: [], content: said });
  }
  return { system: systemTexts.join("\n\n"), turns, tools: toolsOf(request, names) };
}

/** Gives a result to the first call under its id that has none; a result without a call is dropped. */
function answer(open: ReadonlyMap<string, WireCall[]>, { toolUseId, content, isError = false }: ToolResultBlock): void {
  const call = open.get(toolUseId)?.shift();
  if (call === undefined) return;
  const text = content.trim() === "" ? "(no output)" : content;
  call.result = isError && !text.startsWith("error: ") ? `error: ${text}` : text;
  call.isError = isError;
}

/** The raw text is what keeps 64-bit integers; text that servers could not parse would be answered with 400 ever after. */
function wireInput(block: ToolUseBlock): string {
  const { input, invalid } = block.invalid ? block : normalizeInput(block.input);
  return invalid ? JSON.stringify({ INVALID_JSON: input.slice(0, 1000).toWellFormed() }) : input;
}

function toolsOf({ tools, toolChoice = "auto" }: DialectRequest, called: ReadonlySet<string>): History["tools"] {
  const wanted = typeof toolChoice === "object" ? toolChoice.name : undefined;
  if (
    wanted === undefined ? toolChoice === "required" && tools.length === 0 : !tools.some(({ name }) => name === wanted)
  ) {
    throw new TypeError(
      `Cannot use toolChoice as it asks for a tool that is not given: current value is ${JSON.stringify(toolChoice)}`,
    );
  }
  // Strict servers refuse an object schema without properties.
  const empty = { type: "object", properties: {} };
  return tools.length > 0
    ? tools.map(({ name, description, inputSchema }) => ({ name, description, schema: { ...empty, ...inputSchema } }))
    : [...called].map((name) => ({ name, schema: empty }));
}

const BUDGETS: Record<string, number> = { low: 1024, medium: 4096, high: 16384 };

/**
 * Tokens that a model may think.
 *
 * @param thinking A level or a budget.
 * @param options The least that the protocol takes, and `maxTokens` if the budget is a part of it.
 * @throws {RangeError} It is neither, or out of range.
 */
export function thinkingBudget(thinking: Thinking, { min = 1, maxTokens = Infinity } = {}): number {
  const budget = typeof thinking === "string" ? BUDGETS[thinking] : thinking.budgetTokens;
  if (Number.isSafeInteger(budget) && budget! >= min && budget! < maxTokens) return budget!;
  const below = maxTokens === Infinity ? "" : ` and below maxTokens (${maxTokens})`;
  throw new RangeError(
    `Cannot use thinking as its budget must be at least ${min}${below}: current value is ${JSON.stringify(thinking)}`,
  );
}

/** A list, or `undefined` for one that must not be sent since it is empty. */
export function filled<T>(list: readonly T[] = []): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}
