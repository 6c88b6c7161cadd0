/**
 * The profile that `probe --output` writes: what was given, and the switches that the checks ask for.
 * @module
 */
import type { ProbeReport } from "../agent/probe.ts";
import type { Settings } from "./config.ts";

/** Values by flag name; repeatable flags as a map. */
export type ProfileJson = Record<string, string | Record<string, string>>;

/**
 * Makes a profile.
 *
 * @param settings What the probe ran with. Its key is not written, only the variable that holds it, and no header, as it may hold a secret.
 * @param model The model that was probed.
 * @param report What was found.
 */
export function profileOf(
  { dialect, baseUrl, key, options }: Settings,
  model: string,
  report: ProbeReport,
): ProfileJson {
  const compat = { ...Object.fromEntries(options.compat ?? []), ...switches(report) };
  const profile: ProfileJson = { dialect, "base-url": baseUrl, model };
  if (key !== undefined && "variable" in key) profile["api-key-env"] = key.variable;
  const limits = Object.fromEntries(options.limit ?? []);
  for (const [name, values] of [["compat", compat], ["limit", limits]] as const) {
    const entries = Object.entries(values);
    if (entries.length > 0) {
      profile[name] = Object.fromEntries(entries.map(([switched, value]) => [switched, String(value)]));
    }
  }
  if (options.body) profile.body = JSON.stringify(Object.assign({}, ...options.body));
  if (options["max-tokens"] !== undefined) profile["max-tokens"] = String(options["max-tokens"]);
  return profile;
}

/** Switches that mend what a check found wrong. */
function switches({ checks }: ProbeReport): Record<string, string> {
  const failed = new Set(checks.filter(({ status }) => status === "fail").map(({ name }) => name));
  return {
    ...failed.has("reasoning") && { thinkTags: "auto" },
  };
}

/** The profile as YAML that `--profile FILE` reads back. Every value is a JSON string, which is YAML too. */
export function profileYaml(profile: ProfileJson): string {
  return Object.entries(profile).map(([name, value]) =>
    typeof value === "string"
      ? `${name}: ${JSON.stringify(value)}\n`
      : `${name}:\n${Object.entries(value).map(([key, text]) => `  ${key}: ${JSON.stringify(text)}\n`).join("")}`
  ).join("");
}
