/**
 * `pawl probe`: what an endpoint and its model can do, and which switch to set.
 * @module
 */
import { isPawlError, PawlError, quote } from "../../model/error.ts";
import { probe, type ProbeCheck, type ProbeReport } from "../../agent/probe.ts";
import { probeToolCalling } from "../../agent/probe_tool_calling.ts";
import type { Provider } from "../../provider/provider.ts";
import { type Context, keepOnly, makeReady, startDeadline } from "../context.ts";
import { openEndpoint } from "../endpoint.ts";
import { inFlags, usage } from "../exit.ts";
import { OutputFile } from "../output.ts";
import { hintOf } from "../probe_hint.ts";
import { type ProfileJson, profileOf, profileYaml } from "../profile.ts";
import { checkFlags } from "../task.ts";
import type { Terminal } from "../terminal.ts";

/** Exit statuses where a check fails that an agent cannot work without. */
const EXIT_REFUSED = 3;
const EXIT_UNREACHABLE = 4;
const EXIT_FAILED = 5;

const MARKS = { pass: "✓", fail: "✗", skip: "–" } as const;
const STYLES = { pass: "green", fail: "red", skip: "dim" } as const;

/** What each check is called on a terminal. */
const LABELS: Record<ProbeCheck["name"], string> = {
  reachable: "reachable",
  model: "model known",
  streaming: "streaming",
  usage: "usage",
  tool_call: "tool call",
  parallel_calls: "parallel calls",
  reasoning: "reasoning",
  token_field: "token field",
  system_role: "system role",
  context: "context",
};

/** Probes, prints a line for each check, and writes a profile if one is wanted. */
export default async function (context: Context): Promise<number> {
  const { options, terminal, signal, words } = context;
  if (words.length > 0) throw usage(`Cannot use ${quote(words[0]!)}: probe takes flags only`);
  checkFlags(options, [["tool-calling", "output"], ["tool-calling", "context"]]);
  const { output: path } = options;
  const ready = await makeReady(context, { run: path === undefined ? [] : [{ write: [path] }] });
  if (ready === undefined) return 0;
  startDeadline(context);
  const isJson = options.json === true || (options["output-format"] ?? "text") !== "text";
  const { provider } = await openEndpoint(context, ready);
  using output = path === undefined ? undefined : await OutputFile.open(path);
  keepOnly(context, ready);

  if (options["tool-calling"]) {
    await callTool(provider, signal);
    const detail = "the model calls a tool when told to";
    const { dialect, model } = provider;
    const report: ProbeReport = { ok: true, dialect, model, checks: [{ name: "tool_call", status: "pass", detail }] };
    context.progress.end();
    if (isJson) tellJson(terminal, report, profileOf(ready.settings, model, report));
    else report.checks.forEach((check) => tell(terminal, check));
    return 0;
  }
  let isRefused = false;
  const watched = watch(provider, ({ status }) => isRefused ||= status === 401 || status === 403);
  const report = await probe(watched, {
    signal,
    ...options.context !== undefined && { context: options.context },
    onCheck(check) {
      context.progress.end();
      check.detail = inFlags(check.detail);
      const hint = hintOf(check);
      if (hint !== undefined) check.hint = hint;
      if (!isJson) tell(terminal, check);
    },
  });
  const profile = profileOf(ready.settings, provider.model, report);
  if (isJson) tellJson(terminal, report, profile);
  if (output !== undefined && report.ok) {
    output.write(profileYaml(profile));
    terminal.note(`wrote the profile; use it with --profile ${path}`);
    if (ready.settings.options.header) terminal.note("note: --header is not in it, as it may hold a secret");
  } else if (output !== undefined) {
    terminal.note("note: the profile is not written, as a check failed that an agent needs");
  }
  const failed = report.checks.find(({ status }) => status === "fail");
  if (report.ok) return 0;
  return failed?.name === "reachable" ? EXIT_UNREACHABLE : isRefused ? EXIT_REFUSED : EXIT_FAILED;
}

/** The same provider; it tells with which error a reply fails, as a report has only the words of it. */
function watch(provider: Provider, onError: (error: PawlError) => void): Provider {
  return {
    ...provider,
    async *stream(...call) {
      try {
        return yield* provider.stream(...call);
      } catch (error) {
        if (isPawlError(error)) onError(error);
        throw error;
      }
    },
  };
}

/** The library's own words are for a service whose users choose the endpoint; whoever sits here may know the status. */
async function callTool(provider: Provider, signal: AbortSignal): Promise<void> {
  try {
    await probeToolCalling(provider, { signal });
  } catch (error) {
    if (!isPawlError(error) || error.status === undefined) throw error;
    throw new PawlError(error.code, `Cannot probe the model: HTTP status ${error.status}`, error);
  }
}

function tellJson(terminal: Terminal, report: ProbeReport, profile: ProfileJson): void {
  terminal.json(
    JSON.stringify(
      { type: "probe", ...report, profile } satisfies ProbeReport & { type: "probe"; profile: ProfileJson },
    ),
  );
}

function tell(terminal: Terminal, { name, status, detail, hint }: ProbeCheck): void {
  const line = `${terminal.outIsTerminal ? terminal.paint(STYLES[status], MARKS[status]) : MARKS[status]} `;
  terminal.raw(line);
  terminal.out(`${LABELS[name]}: ${detail}${hint === undefined ? "" : `; ${hint}`}\n`);
}
