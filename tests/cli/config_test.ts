import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  loadProfile,
  type Profile,
  profileFiles,
  type ReadEnv,
  readKey,
  resolveSettings,
} from "../../src/cli/config.ts";
import { CliError } from "../../src/cli/exit.ts";
import type { Options } from "../../src/cli/flag_table.ts";

function env(values: Record<string, string>): ReadEnv {
  return (name) => values[name];
}

const NONE = env({});

function keyFor(
  given: Options,
  values: Record<string, string>,
  profile?: Profile,
): { key: string | undefined; notes: string[] } {
  const { key, notes } = resolveSettings(given, env(values), profile);
  return { key: readKey(key, env(values)), notes };
}

Deno.test("resolveSettings sends nothing away by omission", () => {
  const { dialect, baseUrl, host } = resolveSettings({}, NONE);
  assertEquals({ dialect, baseUrl, host }, {
    dialect: "openai_chat",
    baseUrl: "http://localhost:11434/v1",
    host: "localhost:11434",
  });
  assertEquals(resolveSettings({ dialect: "anthropic_messages" }, NONE).host, "api.anthropic.com:443");
});

Deno.test("resolveSettings prefers flag, then environment, then profile", () => {
  const profile: Profile = {
    label: "p",
    file: "f",
    options: { "base-url": "http://p.test", model: "p", "max-tokens": 5, compat: [["mergeRoles", true]] },
  };
  const values = { PAWL_MODEL: "e", PAWL_BASE_URL: "http://e.test:8080/v1" };
  const { model, host } = resolveSettings({ model: "f" }, env(values), profile);
  assertEquals([model, host], ["f", "e.test:8080"]);
  const settings = resolveSettings({ "max-tokens": 7, compat: [["streamUsage", false]] }, NONE, profile);
  assertEquals([settings.model, settings.host], ["p", "p.test:80"]);
  assertEquals(settings.options["max-tokens"], 7);
  assertEquals(settings.options.compat, [["mergeRoles", true], ["streamUsage", false]]);
});

Deno.test("resolveSettings sends PAWL_API_KEY only to the origin of PAWL_BASE_URL if that is set", () => {
  const values = { PAWL_API_KEY: "secret-key", PAWL_BASE_URL: "https://home.test/v1" };
  assertEquals(keyFor({}, values).key, "secret-key");
  assertEquals(keyFor({ "base-url": "https://HOME.test:443/other" }, values).key, "secret-key");
  for (const other of ["https://evil.test/v1", "http://home.test/v1", "https://home.test:444/v1"]) {
    const { key, notes } = keyFor({ "base-url": other }, values);
    assertEquals(key, undefined);
    assertStringIncludes(notes.join(), "PAWL_API_KEY is not sent");
  }
  assertEquals(keyFor({ "base-url": "https://any.test" }, { PAWL_API_KEY: "secret-key" }).key, "secret-key");
});

Deno.test("resolveSettings sends a profile's key only to the profile's own origin", () => {
  const profile: Profile = {
    label: 'the profile "p"',
    file: "f",
    options: { "base-url": "https://p.test/v1" },
    apiKey: "profile-key",
  };
  assertEquals(keyFor({}, {}, profile).key, "profile-key");
  const moved = keyFor({ "base-url": "https://other.test/v1" }, {}, profile);
  assertEquals(moved.key, undefined);
  assertStringIncludes(moved.notes.join(), 'the key of the profile "p" is not sent');
  assertEquals(keyFor({}, { PAWL_BASE_URL: "https://other.test" }, profile).key, undefined);
  const named: Profile = { label: "p", file: "f", options: { "base-url": "https://p.test", "api-key-env": "P_KEY" } };
  assertEquals(keyFor({}, { P_KEY: "named-key" }, named).key, "named-key");
  assertEquals(keyFor({ "base-url": "https://other.test" }, { P_KEY: "named-key" }, named).key, undefined);
});

Deno.test("resolveSettings reads vendor variables only by name", () => {
  const values = { OPENAI_API_KEY: "ambient-key", ANTHROPIC_API_KEY: "ambient-key", OPENAI_BASE_URL: "https://a.test" };
  const plain = keyFor({}, values);
  assertEquals(plain.key, undefined);
  assertEquals(keyFor({ "api-key-env": "OPENAI_API_KEY" }, values).key, "ambient-key");
});

Deno.test("readKey says which variable is not set", () => {
  const error = assertThrows(() => keyFor({ "api-key-env": "NOPE" }, {}), CliError);
  assertEquals([error.exit, error.message], [
    2,
    'Cannot use --api-key-env: the environment variable "NOPE" is not set',
  ]);
});

Deno.test("resolveSettings warns of a key over plain http, but not on this machine", () => {
  const given = { "api-key-env": "K" };
  assertStringIncludes(keyFor({ ...given, "base-url": "http://box:8000/v1" }, { K: "k" }).notes.join(), "plain http");
  for (const url of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", "https://box"]) {
    assertEquals(keyFor({ ...given, "base-url": url }, { K: "k" }).notes, []);
  }
  assertEquals(keyFor({ "base-url": "http://box:8000/v1" }, {}).notes, []);
});

Deno.test("resolveSettings refuses a base URL without showing it", () => {
  for (const url of ["ftp://user:password@host", "localhost:11434", "", "not a url"]) {
    const error = assertThrows(() => resolveSettings({ "base-url": url }, NONE), CliError);
    assertEquals(error.exit, 2);
    assertEquals(error.message.includes("password"), false);
  }
});

Deno.test("resolveSettings names the variable that holds a wrong dialect", () => {
  const error = assertThrows(() => resolveSettings({}, env({ PAWL_DIALECT: "gpt" })), CliError);
  assertStringIncludes(error.message, "Cannot use PAWL_DIALECT as it must be openai_chat or anthropic_messages");
});

Deno.test("profileFiles looks only where it is asked to", () => {
  assertEquals(profileFiles({}, "/home/me"), []);
  assertEquals(profileFiles({ profile: "box.yaml" }, "/home/me"), ["box.yaml"]);
  assertEquals(profileFiles({ profile: "dir/box" }, undefined), ["dir/box"]);
  assertEquals(profileFiles({ profile: "box" }, undefined), ["./.pawl/config.yaml"]);
  assertEquals(profileFiles({ profile: "box" }, "/home/me"), [
    "./.pawl/config.yaml",
    "/home/me/.config/pawl/config.yaml",
  ]);
  assertEquals(profileFiles({ profile: "box", config: "c.yaml" }, "/home/me"), ["c.yaml"]);
});

function files(texts: Record<string, string>): (path: string) => Promise<string> {
  return (path) =>
    texts[path] === undefined ? Promise.reject(new CliError("usage", `no ${path}`)) : Promise.resolve(texts[path]);
}

const CONFIG = `
default: box
profiles:
  box:
    base-url: http://box:8000/v1
    model: 1.10
    max-tokens: 4096
    header: { X-Team: blue }
    limit: { idleTimeoutMs: 30s }
    compat: [streamUsage=false]
    body: '{"top_k": 40}'
  cloud: { dialect: anthropic_messages, api-key: abcdefgh12 }
`;

Deno.test("loadProfile reads every value as its flag would", async () => {
  const read = files({ "c.yaml": CONFIG });
  const { options } = await loadProfile({ config: "c.yaml" }, ["c.yaml"], read);
  assertEquals(options, {
    "base-url": "http://box:8000/v1",
    model: "1.10",
    "max-tokens": 4096,
    header: [["x-team", "blue"]],
    limit: [["idleTimeoutMs", 30_000]],
    compat: [["streamUsage", false]],
    body: [{ top_k: 40 }],
  });
  const cloud = await loadProfile({ profile: "cloud" }, ["c.yaml"], read);
  assertEquals([cloud.apiKey, cloud.options], ["abcdefgh12", { dialect: "anthropic_messages" }]);
});

Deno.test("loadProfile looks on where a file or a name is missing", async () => {
  const read = files({ home: CONFIG, own: "profiles:\n  other: {}\n" });
  assertEquals((await loadProfile({ profile: "box" }, ["none", "home"], read)).options.model, "1.10");
  assertEquals((await loadProfile({ profile: "box" }, ["own", "home"], read)).options.model, "1.10");
});

Deno.test("loadProfile reads a file that is one profile", async () => {
  const read = files({ "box.yaml": "model: m\n" });
  assertEquals((await loadProfile({ profile: "box.yaml" }, ["box.yaml"], read)).options, { model: "m" });
});

Deno.test("loadProfile says in one line what is wrong and where", async () => {
  const cases: [string, Options, string][] = [
    ["a: [b", {}, 'Cannot read "f" as YAML: '],
    ["- a", {}, 'Cannot use "f": it must be a YAML map'],
    ["model: m", {}, 'Cannot use "f": it has no "profiles"'],
    ["profiles: []", {}, '"profiles" must be a map'],
    ["profiles: {a: {}, b: {}}", {}, 'Cannot choose a profile of "f": name one with --profile, there is "a", "b"'],
    ["profiles: {a: {}}", { profile: "z" }, 'Cannot find the profile "z": there is "a"'],
    ["profiles: {a: text}", {}, 'Cannot use the profile "a": it must be a map'],
    ["profiles: {a: {modle: m}}", {}, 'it has no setting "modle"; did you mean model?'],
    ["profiles: {a: {tool: rm}}", {}, 'it has no setting "tool"'],
    [
      "profiles: {a: {max-tokens: many}}",
      {},
      'Cannot use "max-tokens" of the profile "a" as it must be an integer above 0',
    ],
    ["profiles: {a: {model: [x]}}", {}, 'Cannot use "model" of the profile "a" as it must be one value'],
    ["profiles: {a: {limit: {maxBlox: 1}}}", {}, 'Cannot use "limit" of the profile "a" as it must name one of'],
  ];
  for (const [text, given, why] of cases) {
    const error = await assertRejects(() => loadProfile(given, ["f"], files({ f: text })), CliError);
    assertStringIncludes(error.message, why);
    assertEquals(error.message.includes("\n"), false);
  }
});
