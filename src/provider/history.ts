/**
 * Brings a conversation into the order that every protocol wants, before a dialect puts it into its own words: system texts first,
 * each call with its one result, nothing empty, ids that the endpoint accepts.
 * @module
 */
import { checkInteger } from "../model/limits.ts";
import type { ContentBlock, OpaqueBlock, Role, ThinkingBlock, ToolResultBlock } from "../model/message.ts";
import type { JsonSchema, Tool } from "../model/tool.ts";
import type { DialectRequest, Thinking } from "./dialect.ts";
import { normalizeInput } from "./tool_input.ts";

/** A turn of the wire. A user turn begins with the results of the turn before. */
export interface Turn {
  role: Role;
  /**
   * Never empty. Texts are not blank, and are copies; of a call, `name` is within `[a-zA-Z0-9_-]{1,64}` and `input` the JSON text of one object; a
   * result is never blank, and says `error: ` where it is one.
   */
  content: ContentBlock[];
}

/** A conversation in the order of the wire. */
export interface History {
  /** All system texts, joined with a blank line. */
  system: string;
  turns: Turn[];
  /** Tools to declare: the given ones, else one for each name that was called (rule R-05). Absent: none, for no list must be empty. */
  tools: { name: string; description?: string; parameters: JsonSchema }[] | undefined;
}

/** A result that waits for its content. */
interface Awaited extends ToolResultBlock {
  /** Id of the call as it stands in the conversation. */
  of: string;
}

/**
 * Reads a conversation.
 *
 * @param request What is to be sent.
 * @param dialect Its name.
 * @param keeps Whether reasoning or a vendor block goes back; not asked where it came from elsewhere, nor about reasoning that
 * `compat.echoReasoning` has decided on (rules ). With `isCurrent` it came from here, after the last thing that the user
 * said: the tool loop is still going on.
 * @param merge Neighbouring turns of one role become one.
 * @param ids What an id must be like; ids are then unique over the conversation. Absent: they are sent verbatim, unique within a turn
 * (R-17).
 * @throws {TypeError} The conversation is empty, or `toolChoice` is unknown or asks for a tool that is not given.
 * @throws {RangeError} `temperature` is no number.
 */
export function readHistory(
  request: DialectRequest,
  dialect: string,
  keeps: (block: ThinkingBlock | OpaqueBlock, isCurrent: boolean) => boolean,
  merge?: boolean,
  ids?: RegExp,
): History {
  const { model, conversation: { messages }, compat: { echoReasoning }, temperature } = request;
  const system: string[] = [];
  const turns: Turn[] = [];
  const names = new Set<string>();
  /** Results that are still to come, those of the newest reply first: ids may repeat from turn to turn. */
  let awaited: Awaited[] = [];
  const lastSaid = messages.findLastIndex(({ role, content }) =>
    role === "user" && content.some(({ type }) => type !== "tool_result")
  );
  if (!messages.length) throw new TypeError("Cannot send the conversation: it is empty");
  if (!Number.isFinite(temperature ?? 0)) {
    throw new RangeError(`Cannot use temperature: current value is ${temperature}`);
  }
  let used = new Set<string>();
  let substitutes = 10_000;

  function add(role: Role, content: ContentBlock[]): void {
    if (merge && turns.at(-1)?.role === role) turns.at(-1)!.content.push(...content);
    else turns.push({ role, content });
  }

  for (const [i, { role, content, origin }] of messages.entries()) {
    const isOurs = origin && origin.dialect === dialect && origin.model === model;
    const kept: ContentBlock[] = [];
    const results: Awaited[] = [];
    if (!ids) used = new Set();
    for (const block of content) {
      switch (block.type) {
        case "tool_result": {
          const at = awaited.findIndex((result) => result.of === block.toolUseId);
          const text = block.content.trim() ? block.content : "(no output)";
          // A result without a call is dropped.
          Object.assign(at < 0 ? {} : awaited.splice(at, 1)[0]!, {
            content: block.isError ? text.replace(/^(error: )?/, "error: ") : text,
            isError: block.isError,
          });
          break;
        }
        case "tool_use": {
          let { id } = block;
          // Nine letters and digits please every server.
          while (used.has(id) || !(ids ?? /./).test(id)) id = `call${++substitutes}`;
          used.add(id);
          const name = block.name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
          // Raw text is what keeps 64-bit integers; servers would answer 400 ever after to what they cannot parse.
          const { input, invalid } = normalizeInput(block.input);
          const sent = invalid ? JSON.stringify({ INVALID_JSON: input.slice(0, 1000).toWellFormed() }) : input;
          names.add(name);
          results.push({
            type: "tool_result",
            toolUseId: id,
            content: "error: no result: interrupted",
            isError: true,
            of: block.id,
          });
          kept.push({ type: "tool_use", id, name, input: sent, extra: (isOurs && block.extra) || {} });
          break;
        }
        case "text":
          if (!block.text.trim()) break;
          if (role === "system") system.push(block.text);
          else kept.push({ type: "text", text: block.text });
          break;
        case "image":
          kept.push(block);
          break;
        default: {
          const echo = block.type === "thinking" ? echoReasoning : undefined;
          const isKept = echo === "always" || (echo !== "never" && keeps(block, isOurs === true && i > lastSaid));
          if (isKept && isOurs !== false) kept.push(block);
        }
      }
    }
    awaited = [...results, ...awaited];
    // A turn of reasoning alone is refused by most servers.
    if (kept.some(({ type }) => type !== "thinking")) add(role, kept);
    if (results[0]) add("user", results);
  }
  return { system: system.join("\n\n"), turns, tools: toolsOf(request, names) };
}

function toolsOf({ tools, toolChoice }: DialectRequest, called: ReadonlySet<string>): History["tools"] {
  const choices: unknown[] = [undefined, "auto", "none", tools[0] && "required"];
  if (!choices.includes(toolChoice) && !tools.some(({ name }) => name === (toolChoice as Partial<Tool>).name)) {
    throw new TypeError(`Cannot use toolChoice as no tool fits it: current value is ${JSON.stringify(toolChoice)}`);
  }
  // Strict servers refuse an object schema without properties; what is undefined counts as absent.
  return filled(
    tools[0]
      ? tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        parameters: { ...inputSchema, type: "object", properties: inputSchema.properties ?? {} },
      }))
      : [...called].map((name) => ({ name, parameters: { type: "object", properties: {} } })),
  );
}

const BUDGETS: Record<string, number> = { low: 1024, medium: 4096, high: 16384 };

/**
 * Tokens that a model may think.
 *
 * @param thinking A level or a budget.
 * @param least The least that the protocol takes.
 * @param most The most.
 * @throws {RangeError} It is neither, or out of range.
 */
export function thinkingBudget(thinking: Thinking, least?: number, most?: number): number {
  const budget = BUDGETS[thinking as string] ?? (thinking as { budgetTokens: number }).budgetTokens;
  return checkInteger("thinking.budgetTokens", budget, least, most);
}

/** Where the protocol wants a user turn and the user said nothing. */
export function filler(): Turn {
  return { role: "user", content: [{ type: "text", text: "(continue)" }] };
}

/** A list, or `undefined` for one that must not be sent since it is empty. */
export function filled<T extends readonly unknown[]>(list?: T): T | undefined {
  return list?.length ? list : undefined;
}
