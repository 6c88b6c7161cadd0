/**
 * A client as many are written: it splits at blank lines, trusts what it reads and takes every end for a good one. It shows what the
 * cases find, and how a command is driven by `deno task conformance --command`.
 * @module
 */
import type { Outcome, OutcomeBlock } from "./outcome.ts";
import type { CommandRequest } from "./runner.ts";

type Json = Record<string, unknown>;

/** Reads one reply. */
export async function readNaively({ dialect, base_url, api_key, model, prompt }: CommandRequest): Promise<Outcome> {
  const openai = dialect === "openai";
  const response = await fetch(base_url + (openai ? "/chat/completions" : "/v1/messages"), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${api_key}` },
    body: JSON.stringify({ model, stream: true, max_tokens: 9, messages: [{ role: "user", content: prompt }] }),
  });
  const body = await response.text();
  if (!response.ok) return { outcome: "error", kind: "http", status: response.status, message: body };
  let text = "";
  let stop = "end_turn";
  const calls = new Map<unknown, OutcomeBlock>();
  for (const event of body.split("\n\n")) {
    const json = /^data: (\{.*\})$/m.exec(event)?.[1];
    if (json === undefined) continue;
    const { choices, delta, index, content_block } = JSON.parse(json) as Json;
    const choice = (choices as Json[] | undefined)?.[0];
    const piece = (openai ? choice?.delta : delta) as Json | undefined;
    text += piece?.content ?? piece?.text ?? "";
    if (choice?.finish_reason === "length" || piece?.stop_reason === "max_tokens") stop = "max_tokens";
    const block = content_block as Json | undefined;
    if (block?.type === "tool_use") {
      calls.set(index, { type: "tool_use", id: String(block.id), name: String(block.name), input: "" });
    }
    const call = calls.get(index);
    if (call) call.input += String(piece?.partial_json ?? "");
    for (const { index, id, function: called } of (piece?.tool_calls ?? []) as Json[]) {
      const { name, arguments: args } = called as Json;
      const known = calls.get(index);
      if (known) known.input += String(args);
      else calls.set(index, { type: "tool_use", id: String(id), name: String(name), input: String(args) });
    }
  }
  if (calls.size > 0) stop = "tool_use";
  return { outcome: "message", stop, blocks: [{ type: "text", text }, ...calls.values()] };
}

if (import.meta.main) {
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    for (const line of chunk.split("\n").filter(Boolean)) {
      const outcome = await readNaively(JSON.parse(line)).catch((error: unknown): Outcome => ({
        outcome: "error",
        kind: "protocol",
        message: String(error),
      }));
      console.log(JSON.stringify(outcome));
    }
  }
}
