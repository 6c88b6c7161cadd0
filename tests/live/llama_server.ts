/**
 * A real llama-server for the live test: Debian's package, unpacked with its own libc into a folder of ours, so that it
 * runs on any Debian or Ubuntu of this processor and leaves the system's packages alone.
 *
 * @module
 */
import { writeScriptedModel } from "./scripted_gguf.ts";

const SUITE = "forky";
const PACKAGE = "llama.cpp-tools";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const LIBRARIES = "usr/lib/x86_64-linux-gnu";
/** What the unpacked packages hold and a running server does not need. */
const LEFT_OUT = ["usr/share", "usr/libexec", `${LIBRARIES}/gconv`];
const START_TIMEOUT_MS = 30_000;
const COMMAND_TIMEOUT_MS = 300_000;

/** Why there is no server here: a machine that cannot have one, as opposed to one that failed. */
export class Unavailable extends Error {
  override name = "Unavailable";
}

async function run(command: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const signal = AbortSignal.timeout(COMMAND_TIMEOUT_MS);
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(command, { args, env, signal, stdin: "null" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Unavailable(`${command} is not installed`);
    throw error;
  }
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  if (!output.success) throw new Unavailable(`${command} ${args.at(-1)} failed: ${stderr!.split("\n").at(-1)}`);
  return stdout!;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The Debian mirror that this machine's own apt uses. */
async function mirror(): Promise<string> {
  async function known(): Promise<string | undefined> {
    const lines = (await run("apt-get", ["indextargets", "--format", "$(REPO_URI)"])).split("\n");
    return lines.find((line) => /^http/.test(line) && !line.includes("security"));
  }
  const first = await known();
  if (first) return first;
  // A fresh machine knows its sources only after the first update.
  await run("apt-get", ["-qq", "update"]);
  const second = await known();
  if (!second) throw new Unavailable("apt has no Debian mirror here");
  return second;
}

/** A folder of apt's own: nothing is installed in it, so every library is fetched, libc included. */
async function privateApt(apt: string): Promise<Record<string, string>> {
  for (const folder of ["etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"]) {
    await Deno.mkdir(`${apt}/${folder}`, { recursive: true });
  }
  await Deno.writeTextFile(`${apt}/state/status`, "");
  await Deno.writeTextFile(`${apt}/etc/sources.list`, `deb [signed-by=${KEYRING}] ${await mirror()} ${SUITE} main\n`);
  const settings = {
    "Dir": "/",
    "Dir::Etc": `${apt}/etc`,
    "Dir::Etc::sourcelist": `${apt}/etc/sources.list`,
    "Dir::Etc::sourceparts": "-",
    "Dir::State": `${apt}/state`,
    "Dir::State::status": `${apt}/state/status`,
    "Dir::Cache": `${apt}/cache`,
    "APT::Architecture": "amd64",
    "APT::Architectures": "amd64",
    "Acquire::Languages": "none",
    // A mirror that lags may serve an index past its date. Its signature is still checked.
    "Acquire::Check-Valid-Until": "false",
    // The sandbox user may not write below this folder.
    "APT::Sandbox::User": "root",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
  await Deno.writeTextFile(`${apt}/apt.conf`, lines.join(""));
  return { APT_CONFIG: `${apt}/apt.conf` };
}

/**
 * Unpacks the server below a folder, once.
 *
 * @param folder Where to; about 20 MB are fetched
 * @returns The root of the unpacked packages
 * @throws Unavailable when this machine cannot have it, with the reason
 */
export async function installLlamaServer(folder: string): Promise<string> {
  const root = `${folder}/root`;
  if (await exists(`${folder}/installed`)) return root;
  if (Deno.build.target !== "x86_64-unknown-linux-gnu") throw new Unavailable(`no packages for ${Deno.build.target}`);
  if (!await exists(KEYRING)) throw new Unavailable("Debian's archive key is not on this machine");
  const apt = `${folder}/apt`;
  for (const stale of [apt, root]) if (await exists(stale)) await Deno.remove(stale, { recursive: true });
  await Deno.mkdir(root, { recursive: true });
  const env = await privateApt(apt);
  await run("apt-get", ["-qq", "update"], env);
  await run("apt-get", ["-qq", "-y", "-d", "--no-install-recommends", "install", PACKAGE], env);
  for await (const { name } of Deno.readDir(`${apt}/cache/archives`)) {
    if (/^(llama|lib|zlib).*\.deb$/.test(name)) await run("dpkg", ["-x", `${apt}/cache/archives/${name}`, root]);
  }
  // The server looks for its CPU backends beside the running executable, which is the loader here.
  for await (const { name } of Deno.readDir(`${root}/${LIBRARIES}/ggml/backends0`)) {
    if (name.startsWith("libggml-cpu-")) await Deno.symlink(`ggml/backends0/${name}`, `${root}/${LIBRARIES}/${name}`);
  }
  for (const path of [apt, ...LEFT_OUT.map((path) => `${root}/${path}`)]) {
    if (await exists(path)) await Deno.remove(path, { recursive: true });
  }
  await run(...command(root, ["--version"]));
  await Deno.writeTextFile(`${folder}/installed`, "");
  return root;
}

/** The server as a command with the libraries that were unpacked with it. */
function command(root: string, args: string[]): [command: string, args: string[]] {
  const libraries = `${root}/${LIBRARIES}`;
  return [`${libraries}/ld-linux-x86-64.so.2`, [
    "--library-path",
    `${libraries}:${libraries}/llama`,
    "--argv0",
    "llama-server",
    `${root}/usr/bin/llama-server`,
    ...args,
  ]];
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A running server with the scripted model. */
export interface LlamaServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Installs the server, makes the scripted model and starts both on a free port of 127.0.0.1.
 *
 * @param folder Where the server, the model and the log are kept
 * @returns The running server, called `tiny`; stop it
 * @throws Unavailable when this machine cannot have it, with the reason
 */
export async function startLlamaServer(folder: string): Promise<LlamaServer> {
  await Deno.mkdir(folder, { recursive: true });
  const root = await installLlamaServer(folder);
  const model = `${folder}/scripted.gguf`;
  writeScriptedModel(model);
  const url = `http://127.0.0.1:${freePort()}`;
  const flags = [
    "-m",
    model,
    "--alias",
    "tiny",
    "--host",
    "127.0.0.1",
    "--port",
    new URL(url).port,
    "--no-ui",
    "-t",
    "1",
  ];
  const [path, args] = command(root, [...flags, "--log-file", `${folder}/llama.log`]);
  const child = new Deno.Command(path, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
  let exited = false;
  const status = child.status.finally(() => exited = true);
  async function stop(): Promise<void> {
    if (!exited) child.kill("SIGTERM");
    await status;
  }
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!await isHealthy(url)) {
    if (exited || Date.now() > deadline) {
      await stop();
      throw new Error(`llama-server did not come up: see ${folder}/llama.log`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return { url, stop };
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`);
    await response.body?.cancel();
    return response.ok;
  } catch (error) {
    // Nothing listens yet.
    if (error instanceof TypeError) return false;
    throw error;
  }
}
