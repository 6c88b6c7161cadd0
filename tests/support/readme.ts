/**
 * Plays the commands of the README in order, in one shell, with an empty home directory, against the scripted endpoint. The package
 * from JSR is this tree, every server is the endpoint, and what installs or compiles is only held against the flags that Deno knows.
 *
 * @module
 */
import { activeMapFlags } from "../../scripts/deps.ts";
import { type Endpoint, startEndpoint } from "./endpoint.ts";
import { readmeTurn } from "./readme_model.ts";

/** This tree. */
export const ROOT: string = new URL("../../", import.meta.url).pathname;

/** A fenced block. */
export interface Block {
  /** What stands behind the fence. */
  info: string;
  /** Its lines. */
  lines: string[];
  /** Index of the first of them in the document. */
  start: number;
}

/** A command that was run. */
export interface Played {
  block: Block;
  command: string;
  code: number;
  /** Both outputs, with the names that a reader has. */
  output: string;
}

/** `deno run` of pawl, as the README spells it. */
export interface Call {
  /** Flags of Deno. */
  flags: string[];
  /** Arguments of pawl. */
  args: string[];
}

/** Finds the fenced blocks of a document. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [i, line] of markdown.split("\n").entries()) {
    if (!line.startsWith("```")) open?.lines.push(line);
    else if (open) {
      blocks.push(open);
      open = undefined;
    } else open = { info: line.slice(3), lines: [], start: i + 1 };
  }
  return blocks;
}

/** The commands of a block: of a transcript what stands behind `$ `, else each line that is no comment. */
export function commandsOf({ info, lines }: Block): string[] {
  if (info === "console") return lines.flatMap((line) => line.startsWith("$ ") ? [line.slice(2)] : []);
  return info === "sh" ? lines.filter((line) => line !== "" && !line.startsWith("#")) : [];
}

/** Servers that the README names, as a pattern. */
const SERVERS = String
  .raw`(https?://)?(localhost:(11434|8080|8000|1234)|(openrouter\.ai|api\.anthropic\.com)(:443|/api)?)`;

/**
 * `deno` as the commands see it. It writes each of its calls into a file, and runs those of pawl: one endpoint has any model, for who
 * names one, the other has a single one.
 */
function shim({ one, any }: { one: Endpoint; any: Endpoint }): string {
  return String.raw`#!/usr/bin/env bash
printf '%s\0' "$@" >> "$CALLS"; printf '\n\0' >> "$CALLS"
case $1 in
  task)
    grep -q "^    \"$2\": {" ${ROOT}deno.json || { echo "there is no task $2" >&2; exit 1; }
    exit 0 ;;
  compile | add | install)
    args=()
    for word in "$@"; do case $word in jsr:*) ;; *) args+=("$word") ;; esac; done
    exec ${Deno.execPath()} "\${args[@]}" --help > /dev/null ;;
esac
host=${one.host}
for word in "$@"; do case $word in -m) host=${any.host} ;; esac; done
flags=() args=() entry= base=
for word in "$@"; do
  case $word in
    jsr:@pawl/pawl/cli) entry=1 ;;
    *) plain=$(sed -E "s#${SERVERS}#\1$host#g; s#https://$host#http://$host#" <<< "$word")
      if [ -z "$entry" ]; then flags+=("$plain"); else
        args+=("$plain")
        if [ "$word" = --base-url ]; then base=1; fi
      fi ;;
  esac
done
case \${args[0]} in run | chat | probe | models)
  path=/v1; case " \${args[*]} " in *anthropic_messages*) path= ;; esac
  if [ -z "$base" ]; then args+=(--base-url "http://$host$path"); fi ;;
esac
exec ${Deno.execPath()} "\${flags[@]}" --quiet --no-check ${activeMapFlags().join(" ")} ${ROOT}cli.ts "\${args[@]}"
`.replaceAll("\\${", "${");
}

const NPX = `#!/usr/bin/env bash
[ "$1 $2" = "-y deno@2" ] && shift 2 && exec deno "$@"
`;

async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

/** What a reader would see, where ours is another. */
function asRead(output: string, endpoints: readonly Endpoint[]): string {
  let text = output.replaceAll(/^Failed to open cache file .*\n/gm, "");
  for (const { host } of endpoints) {
    text = text.replaceAll(` --base-url http://${host}/v1`, "").replaceAll(host, "localhost:11434");
  }
  return text.replaceAll(`${ROOT}cli.ts`, "jsr:@pawl/pawl/cli").replaceAll(/ --quiet --no-check/g, "");
}

/**
 * Plays all commands of a README.
 *
 * @param markdown The document
 * @returns What each command did, and how pawl was called
 */
export async function playReadme(markdown: string): Promise<{ played: Played[]; calls: Call[] }> {
  const home = await Deno.realPath(await Deno.makeTempDir());
  const models = [...markdown.matchAll(/ -m (\S+)/g)].map(([, name]) => name!).filter((name) => name !== "qwen4");
  const one = startEndpoint({ script: readmeTurn, models: ["qwen3:8b"] });
  const any = startEndpoint({ script: readmeTurn, models });
  try {
    for (const name of ["bin", "work", "out"]) await Deno.mkdir(`${home}/${name}`);
    await Deno.writeTextFile(`${home}/bin/deno`, shim({ one, any }), { mode: 0o755 });
    await Deno.writeTextFile(`${home}/bin/npx`, NPX, { mode: 0o755 });
    const pending = blocksOf(markdown).flatMap((block) => commandsOf(block).map((command) => ({ block, command })));
    // One shell, so that functions and variables stay. A command sees the status of the one before it as a reader would.
    const script = pending.map(({ command }, i) =>
      `(exit $status); { ${command}\n} < /dev/null > ../out/${i} 2>&1; status=$?; echo $status > ../out/${i}.code`
    );
    await Deno.writeTextFile(`${home}/all.sh`, `status=0\n${script.join("\n")}\n`);
    await new Deno.Command("bash", {
      args: [`${home}/all.sh`],
      cwd: `${home}/work`,
      clearEnv: true,
      env: {
        PATH: `${home}/bin:${Deno.env.get("PATH")}`,
        HOME: `${home}/work`,
        DENO_DIR: await denoDir(),
        LANG: "C.UTF-8",
        CALLS: `${home}/calls`,
        NO_COLOR: "1",
      },
      stdin: "null",
    }).output();
    const played: Played[] = [];
    for (const [i, { block, command }] of pending.entries()) {
      const output = asRead(await Deno.readTextFile(`${home}/out/${i}`), [one, any]);
      played.push({ block, command, code: Number(await Deno.readTextFile(`${home}/out/${i}.code`)), output });
    }
    const words = (await Deno.readTextFile(`${home}/calls`)).split("\n\0").slice(0, -1).map((call) => call.split("\0"));
    const calls = words.flatMap((call): Call[] => {
      const entry = call.indexOf("jsr:@pawl/pawl/cli");
      return call[0] !== "run" || entry < 0 ? [] : [{ flags: call.slice(1, entry), args: call.slice(entry + 1, -1) }];
    });
    return { played, calls };
  } finally {
    await Promise.all([one.close(), any.close()]);
    await Deno.remove(home, { recursive: true });
  }
}

/** What the table of permissions tells, and the command line that shows it. */
const FEATURES: [feature: string, args: string[]][] = [
  ["a question to a local model", ["run", "PROMPT"]],
  ["another endpoint", ["run", "--base-url", "https://openrouter.ai/api/v1", "PROMPT"]],
  ["a key", ["run", "--api-key-env", "MY_KEY", "PROMPT"]],
  ["a file in the prompt, an image", ["run", "-a", "photo.png", "@notes.md", "PROMPT"]],
  ["`read_file`, `list_files`, `search_files`", ["run", "-t", "read_file=src,docs", "PROMPT"]],
  ["`write_file`, `edit_file`", ["run", "-t", "edit_file=src", "PROMPT"]],
  ["`fetch_url`", ["run", "-t", "fetch_url=example.com", "PROMPT"]],
  ["`run_command`", ["run", "-t", "run_command=date", "PROMPT"]],
  ["tools of your own", ["run", "--tools-file", "tools.ts", "PROMPT"]],
  ["skills of your own", ["run", "--skill", "skills", "PROMPT"]],
  ["built-in skills", ["run", "--use-skill", "find-cause", "PROMPT"]],
  ["a session", ["run", "--session", "oslo", "PROMPT"]],
  ["a schema in a file, an answer into one", ["run", "--schema", "s.json", "--output", "answer.json", "PROMPT"]],
  ["a recording", ["run", "--record", "talk.jsonl", "PROMPT"]],
  ["a replay: no network", ["run", "--replay", "talk.jsonl", "PROMPT"]],
  ["a profile (and what the profile names)", ["run", "--profile", "box.yaml", "PROMPT"]],
  ["`chat`, `models`, `probe`", ["chat"]],
  ["`skills`, `completions`", ["skills"]],
];

/** The permission flags that pawl asks for. */
export async function explainPermissions(args: readonly string[]): Promise<string[]> {
  const deno = ["run", "--quiet", "--no-check", "--no-prompt", ...activeMapFlags(), `${ROOT}cli.ts`];
  const options = { args: [...deno, "--explain-permissions", ...args], clearEnv: true, cwd: "/" };
  const env = { DENO_DIR: await denoDir(), NO_COLOR: "1" };
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { ...options, env }).output();
  if (!success) throw new Error(`Cannot explain ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).split(" ").filter((word) => word.startsWith("--allow-"));
}

async function permissionTable(): Promise<string> {
  const rows = await Promise.all(FEATURES.map(async ([feature, args]) => {
    const shown = args.filter((word) => word !== "PROMPT").join(" ");
    const flags = (await explainPermissions(args)).map((flag) => `\`${flag}\``).join(" ");
    return `| ${feature} | \`${shown}\` | ${flags || "none"} |`;
  }));
  return ["| for | such as | permissions |", "| --- | --- | --- |", ...rows].join("\n");
}

async function format(markdown: string): Promise<string> {
  const args = ["fmt", "--ext=md", "-"];
  const child = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdin: "piped", stdout: "piped" }).spawn();
  await new Blob([markdown]).stream().pipeTo(child.stdin);
  return new TextDecoder().decode((await child.output()).stdout);
}

/**
 * Writes into a README what its commands print now, and lays it out.
 *
 * @param markdown The document
 * @param played What {@linkcode playReadme} said
 * @returns The document as it should be
 */
export async function renderReadme(markdown: string, played: readonly Played[]): Promise<string> {
  const lines = markdown.split("\n");
  const transcripts = new Map<number, { end: number; text: string[] }>();
  for (const { block, command, output } of played) {
    if (block.info !== "console") continue;
    const end = block.start + block.lines.length;
    const { text } = transcripts.get(block.start) ?? transcripts.set(block.start, { end, text: [] }).get(block.start)!;
    text.push(`$ ${command}`, ...output === "" ? [] : output.replace(/\n$/, "").split("\n"));
  }
  for (const [start, { end, text }] of [...transcripts].reverse()) lines.splice(start, end - start, ...text);
  const table = `<!-- permissions -->\n\n${await permissionTable()}\n\n<!-- end -->`;
  return await format(lines.join("\n").replace(/<!-- permissions -->[^]*?<!-- end -->/, () => table));
}
