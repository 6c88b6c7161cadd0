/**
 * `deno task picture`: runs `pawl chat` in a terminal (tmux) against the scripted endpoint, and draws the screen as docs/terminal.svg.
 *
 * @module
 */
import { startEndpoint } from "../tests/support/endpoint.ts";
import { readmeTurn } from "../tests/support/readme_model.ts";
import { activeMapFlags } from "./deps.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const PATH = `${ROOT}docs/terminal.svg`;

/** Size of the screen, in characters. */
const COLUMNS = 100;
const ROWS = 18;

/** Size of a character, in the units of the picture. */
const WIDTH = 9;
const HEIGHT = 20;
const MARGIN = 18;

const BACKGROUND = "#16181d";
const FOREGROUND = "#d8dbe2";
/** The eight colours of a terminal, as dark themes have them. */
const COLORS = ["#3b4048", "#e8707a", "#8fc379", "#e2c07b", "#68aeef", "#c587db", "#5fc0c9", "#d8dbe2"];

/** How long a screen is waited for. */
const PATIENCE_MS = 30_000;

/** What is typed, and what the screen must show before the next. */
const SCENE: [keys: string[], shows: RegExp][] = [
  [["pawl chat -m qwen3:8b -t read_file -t edit_file", "Enter"], /^> $|^>$/m],
  [["How many things are on list.txt?", "Enter"], /Three: milk.*\n+>/],
  [["Correct the spelling in list.txt.", "Enter"], /Allow it\?/],
  [["y", "Enter"], /is "Eggs" now.*\n+>/],
];

/** Letters of one look. */
interface Run {
  text: string;
  column: number;
  style: Style;
}

interface Style {
  color?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
}

function restyle(style: Style, codes: readonly number[]): Style {
  let next = { ...style };
  for (const code of codes) {
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code >= 30 && code <= 37) next.color = COLORS[code - 30]!;
    else if (code >= 90 && code <= 97) next.color = COLORS[code - 90]!;
    else if (code === 39) delete next.color;
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 23) next.italic = false;
  }
  return next;
}

/** Takes a line of a screen apart where its look changes. */
function runsOf(line: string, from: Style): { runs: Run[]; style: Style } {
  const runs: Run[] = [];
  let column = 0;
  let style = from;
  for (const [, codes, text] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
    if (text === undefined) style = restyle(style, (codes || "0").split(";").map(Number));
    else {
      if (text.trim() !== "") runs.push({ text, column, style });
      column += [...text].length;
    }
  }
  return { runs, style };
}

function escape(text: string): string {
  return text.replace(/[&<>]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[mark]!);
}

function draw({ text, column, style: { color = FOREGROUND, bold, dim, italic } }: Run, y: number): string {
  // Leading blanks would be swallowed; the length keeps columns straight whatever font is at hand.
  const blanks = text.length - text.trimStart().length;
  const shown = text.trim();
  const look = [
    `fill="${color}"`,
    ...(bold ? ['font-weight="bold"'] : []),
    ...(dim ? ['opacity="0.6"'] : []),
    ...(italic ? ['font-style="italic"'] : []),
  ];
  const x = MARGIN + (column + blanks) * WIDTH;
  const length = [...shown].length * WIDTH;
  return `<text x="${x}" y="${y}" textLength="${length}" xml:space="preserve" ${look.join(" ")}>${
    escape(shown)
  }</text>`;
}

/**
 * Draws a screen.
 *
 * @param screen Its lines, with the escapes of colours
 * @returns An SVG document
 */
export function drawScreen(screen: string): string {
  const lines = screen.replace(/\s+$/, "").split("\n");
  const height = 2 * MARGIN + HEIGHT * lines.length;
  const width = 2 * MARGIN + WIDTH * COLUMNS;
  const drawn: string[] = [];
  let style: Style = {};
  for (const [row, line] of lines.entries()) {
    const read = runsOf(line, style);
    style = read.style;
    drawn.push(...read.runs.map((run) => draw(run, MARGIN + HEIGHT * (row + 0.75))));
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="pawl chat in a terminal" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="15">
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
${drawn.join("\n")}
</svg>
`;
}

/** Plays the scene. */
async function play(): Promise<string> {
  const endpoint = startEndpoint({ script: readmeTurn, models: ["qwen3:8b"] });
  const folder = await Deno.realPath(await Deno.makeTempDir());
  async function tmux(...args: string[]): Promise<string> {
    const command = new Deno.Command("tmux", { args: ["-S", `${folder}/socket`, "-f", "/dev/null", ...args] });
    return new TextDecoder().decode((await command.output()).stdout);
  }
  async function shown(pattern: RegExp): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    while (!pattern.test((await tmux("capture-pane", "-p")).trimEnd())) {
      if (performance.now() > end) {
        throw new Error(`The screen never showed ${pattern}:\n${await tmux("capture-pane", "-p")}`);
      }
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  try {
    await Deno.writeTextFile(`${folder}/list.txt`, "Milk\nBread\nEgs\n");
    const flags = [`--allow-net=${endpoint.host}`, "--allow-read=.", "--allow-write=."];
    const deno = [Deno.execPath(), "run", "--quiet", "--no-check", ...activeMapFlags(), ...flags, `${ROOT}cli.ts`];
    // The endpoint's own port would be another in each picture.
    const shell = `cd ${folder}; pawl() { ${
      deno.join(" ")
    } "$@" --base-url ${endpoint.url}/v1 2>&1; }; PS1='$ '; clear\n`;
    await Deno.writeTextFile(`${folder}/rc`, shell);
    const size = ["-x", String(COLUMNS), "-y", String(ROWS)];
    const env = "env -u NO_COLOR TERM=xterm-256color COLORTERM=truecolor LANG=C.UTF-8";
    await tmux("-u", "new-session", "-d", ...size, `${env} bash --rcfile ${folder}/rc`);
    await shown(/^\$/m);
    for (const [keys, pattern] of SCENE) {
      for (const key of keys) await tmux("send-keys", ...key === "Enter" ? [] : ["-l"], key);
      await shown(pattern);
    }
    return (await tmux("capture-pane", "-e", "-p")).replaceAll(endpoint.host, "localhost:11434");
  } finally {
    await tmux("kill-server");
    await endpoint.close();
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  await Deno.mkdir(`${ROOT}docs`, { recursive: true });
  await Deno.writeTextFile(PATH, drawScreen(await play()));
}
