/**
 * What a person who runs the endpoint should know about a finished reply.
 * @module
 */
import type { Warning } from "../model/event.ts";
import type { ContentBlock, Message, Usage } from "../model/message.ts";

/** Tool-call syntax of the usual chat templates; in text it means that the server did not parse it (quirks O-82, O-83). */
const CALL_SYNTAX =
  /<(\|?(\w+_)?tool_?call|function=|invoke name=|arg_key>|\|(channel|python_tag|start_action)\||｜)|\[tool_calls]|functools\[/i;
/** The estimate is three times what was counted: most of the prompt cannot have been read (rule R-43). */
const CUT_FACTOR = 3;

/**
 * Tokens of messages, at four characters each.
 *
 * @param messages To be counted.
 * @param isSent As they are sent: without reasoning, of which most does not go back.
 */
export function estimateTokens(messages: readonly Message[], isSent?: boolean): number {
  let length = 0;
  for (const block of messages.flatMap(({ content }) => content)) {
    const { type, text, input, content = "" } = block as {
      type: string;
      text?: string;
      input?: string;
      content?: string;
    };
    if (!isSent || type !== "thinking") length += (text ?? input ?? content).length;
  }
  return Math.ceil(length / 4);
}

/**
 * Looks at a finished reply for what servers do silently.
 *
 * @param content Blocks of the reply.
 * @param usage As it was reported.
 * @param sent What was sent.
 */
export function warningsOf(
  content: readonly ContentBlock[],
  usage: Usage | undefined,
  sent: readonly Message[],
): Warning[] {
  const warnings: Warning[] = [];
  const isLeaked = content.some((block) => block.type === "text" && CALL_SYNTAX.test(block.text));
  if (isLeaked && !content.some(({ type }) => type === "tool_use")) {
    warnings.push({
      kind: "tool_call_text",
      message: "A tool call came as text: the server does not parse it",
    });
  }
  const counted = usage?.inputTokens;
  if (!usage) warnings.push({ kind: "usage_missing", message: "The endpoint reported no token usage" });
  else if (counted! * CUT_FACTOR < estimateTokens(sent, true)) {
    warnings.push({
      kind: "context_cut",
      message: `The endpoint counted ${counted} input tokens: it seems to have cut the prompt`,
    });
  }
  return warnings;
}
