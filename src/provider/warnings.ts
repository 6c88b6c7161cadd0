/**
 * What a person who runs the endpoint should know about a finished reply.
 * @module
 */
import type { Warning } from "../model/event.ts";
import type { ContentBlock, Usage } from "../model/message.ts";

/** Tool-call syntax of the usual chat templates; in text it means that the server did not parse it (quirks O-82, O-83). */
const CALL_SYNTAX = /<tool_call\b|<function=|<invoke name=|<\|(?:tool_call|channel\|>)|<｜|\[TOOL_CALLS\]/;
/** Text has about four characters a token; from this many on, most of the prompt cannot have been read (rule R-43). */
const CUT_CHARACTERS_PER_TOKEN = 12;

/**
 * Looks at a finished reply for what servers do silently.
 *
 * @param content Blocks of the reply.
 * @param usage As it was reported.
 * @param promptLength Characters of text that were sent; asked for only if input tokens were reported.
 */
export function warningsOf(
  content: readonly ContentBlock[],
  usage: Usage | undefined,
  promptLength: () => number,
): Warning[] {
  const warnings: Warning[] = [];
  if (
    !content.some(({ type }) => type === "tool_use") &&
    content.some((block) => block.type === "text" && CALL_SYNTAX.test(block.text))
  ) {
    warnings.push({
      kind: "tool_call_text",
      message: "A tool call came as text and was not run: the server does not parse this model's calls",
    });
  }
  const counted = usage?.inputTokens;
  if (usage === undefined) {
    warnings.push({ kind: "usage_missing", message: "The endpoint reported no token usage" });
  } else if (counted !== undefined && counted * CUT_CHARACTERS_PER_TOKEN < promptLength()) {
    warnings.push({
      kind: "context_cut",
      message: `The endpoint counted ${counted} input tokens: it seems to have cut the prompt`,
    });
  }
  return warnings;
}
