/**
 * What `run` and `chat` share: system prompt, tools, skills, approval.
 * @module
 */
import type { Decision } from "../agent/options.ts";
import type { ToolUseBlock } from "../model/message.ts";
import type { Tool } from "../model/tool.ts";
import type { Provider } from "../provider/provider.ts";
import type { Context, Ready } from "./context.ts";
import { usage } from "./exit.ts";
import type { Options } from "./flag_table.ts";
import { textOrFile } from "./input.ts";
import type { Needs } from "./permissions.ts";

/** Everything that a conversation is held with. */
export interface Task {
  system: string;
  tools: readonly Tool[];
  decide?(call: ToolUseBlock): Promise<Decision>;
}

/** Files that flags of the prompt name. */
export function promptNeeds(options: Options): Needs {
  const texts = [options.system, options["append-system"]].filter((text) => text !== undefined && /^@[^@]/s.test(text));
  const files = texts.map((text) => text!.slice(1));
  return { read: [...files, ...options.attach ?? [], ...options["tools-file"] ?? []] };
}
