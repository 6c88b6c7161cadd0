/**
 * What the scripted model says: a text for each name that a prompt may end with, `""` for all other prompts and after
 * the result of a tool. The chat template makes calls and thoughts of the tags.
 *
 * @module
 */

function call(name: string, input: unknown): string {
  const json = JSON.stringify(input).replaceAll(/([:,])(?=["\d{])/g, "$1 ");
  return `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`;
}

/** Name to text. */
export const SCRIPTS: Record<string, string> = {
  "": "Everything asked for is done. Two plus two is four.",
  "@think": "<think>\nThe user wants a thought. Let me weigh it step by step.\n</think>\n\nThe answer is forty-two.",
  "@tool": call("get_weather", { city: "Paris", unit: "celsius" }),
  "@thinktool": `<think>\nI need the weather before I answer.\n</think>\n\n${
    call("get_weather", { city: "Oslo", unit: "celsius" })
  }`,
  "@texttool": `Let me look that up for you.\n${call("get_weather", { city: "Rome", unit: "kelvin" })}`,
  "@parallel": `${call("get_weather", { city: "Lima", unit: "celsius" })}\n${
    call("get_time", { zone: "America/Lima" })
  }`,
  "@utf8": "Snowman ☃, family 👨‍👩‍👧, naïve café, 漢字, emoji 😀 end.",
  "@markdown": "# Title\n\n- item **bold**\n- `code`\n\n```ts\nconst x: number = 1;\n```\n",
  "@empty": "",
  // A run of several steps: the result of each tool names the script of the next.
  "@step1": `Starting.\n${call("load_skill", { name: "greet" })}`,
  "@step2": `<think>\nOne more file to read.\n</think>\n\n${call("read_file", { path: "notes.txt", lines: 3 })}`,
  // A run without an end, if the result of the tool names it again.
  "@forever": call("tick", {}),
};

/** ChatML with a tool section in the manner of Hermes and Qwen, and optional thoughts. */
export const CHAT_TEMPLATE: string = [
  "{%- if tools %}",
  "{{- '<|im_start|>system\\n' }}",
  "{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}",
  '{{- "You may call these functions. Signatures are inside <tools></tools>:\\n<tools>" }}',
  '{%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}',
  '{{- "\\n</tools>\\n\\nFor each call, answer with a JSON object inside <tool_call></tool_call> tags:\\n" }}',
  '{{- \'<tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n\' }}',
  "{%- elif messages[0].role == 'system' %}",
  "{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}",
  "{%- endif %}",
  "{%- for message in messages %}",
  "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}",
  "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
  "{%- elif message.role == 'assistant' %}",
  "{{- '<|im_start|>assistant\\n' }}",
  "{%- if message.reasoning_content %}{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}{%- endif %}",
  "{%- if message.content %}{{- message.content }}{%- endif %}",
  "{%- for tool_call in message.tool_calls or [] %}",
  "{%- if message.content or not loop.first %}{{- '\\n' }}{%- endif %}",
  "{%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}",
  '{{- \'<tool_call>\\n{"name": "\' + tool_call.name + \'", "arguments": \' }}',
  "{%- if tool_call.arguments is string %}{{- tool_call.arguments }}" +
  "{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}",
  "{{- '}\\n</tool_call>' }}",
  "{%- endfor %}",
  "{{- '<|im_end|>\\n' }}",
  "{%- elif message.role == 'tool' %}",
  "{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}",
  "{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}",
  "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}",
  "{%- endif %}",
  "{%- endfor %}",
  "{%- if add_generation_prompt %}",
  "{{- '<|im_start|>assistant\\n' }}",
  "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}",
  "{%- endif %}",
].join("\n");
