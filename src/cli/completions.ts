/**
 * Shell completions, made from the flag table.
 * @module
 */
import { type Command, COMMANDS, type Flag, flagList } from "./flag_table.ts";

/** Shells that {@linkcode completions} knows. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** What may follow a command beside flags. */
const WORDS: Partial<Record<Command, readonly string[]>> = {
  skills: ["list", "show", "validate"],
  completions: SHELLS,
};

const NAMES = Object.keys(COMMANDS) as Command[];

/** The script for one shell. */
export function completions(shell: (typeof SHELLS)[number]): string {
  return { bash, zsh, fish }[shell]().join("\n") + "\n";
}

function spellings(name: string, { short }: Flag): string[] {
  return short ? [`--${name}`, `-${short}`] : [`--${name}`];
}

function values(flag: Flag): readonly string[] {
  return flag.choices ?? flag.suggest ?? [];
}

/** A text in single quotes, for all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function bash(): string[] {
  const flags = flagList();
  const takesValue = flags.filter(([, flag]) => flag.value !== "");
  return [
    "# pawl completions for bash",
    "_pawl() {",
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="" word skip=""',
    "  COMPREPLY=()",
    "  compopt +o nospace 2>/dev/null",
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    if [ -n "$skip" ]; then skip=""; continue; fi',
    '    case "$word" in',
    `      ${takesValue.flatMap(([name, flag]) => spellings(name, flag)).join("|")}) skip=1 ;;`,
    "      -*) ;;",
    '      *) cmd="$word"; break ;;',
    "    esac",
    "  done",
    '  case "$prev" in',
    ...takesValue.map(([name, flag]) => {
      const list = values(flag);
      const nospace = list.some((value) => value.endsWith("=")) ? "compopt -o nospace 2>/dev/null; " : "";
      const action = list.length > 0
        ? `${nospace}COMPREPLY=($(compgen -W "${list.join(" ")}" -- "$cur"))`
        : flag.path
        ? 'COMPREPLY=($(compgen -f -- "$cur"))'
        : ":";
      return `    ${spellings(name, flag).join("|")}) ${action}; return ;;`;
    }),
    "  esac",
    '  case "$cmd" in',
    `    "") COMPREPLY=($(compgen -W "${NAMES.join(" ")} help --help --version" -- "$cur")) ;;`,
    ...NAMES.map((command) => {
      const own = flagList(command).flatMap(([name, flag]) => spellings(name, flag));
      const words = [...WORDS[command] ?? [], ...own].join(" ");
      const files = command === "run" ? ' [ "${cur:0:1}" = "@" ] && COMPREPLY+=($(compgen -P @ -f -- "${cur:1}"))' : "";
      return `    ${command}) COMPREPLY=($(compgen -W "${words}" -- "$cur"))${files && `;${files}`} ;;`;
    }),
    "  esac",
    "}",
    "complete -o default -F _pawl pawl",
  ];
}

function zsh(): string[] {
  return [
    "#compdef pawl",
    "_pawl() {",
    "  local -a commands",
    "  commands=(",
    ...NAMES.map((name) => `    ${quoted(`${name}:${COMMANDS[name].summary}`)}`),
    "  )",
    "  local curcontext=$curcontext state line",
    "  typeset -A opt_args",
    "  _arguments -C '1:command:->command' '*::argument:->argument'",
    "  case $state in",
    "    command) _describe command commands ;;",
    "    argument)",
    "      case $words[1] in",
    ...NAMES.flatMap((command) => [
      `        ${command})`,
      "          _arguments -S \\",
      ...flagList(command).map(([name, flag]) => `            ${zshFlag(name, flag)} \\`),
      `            ${WORDS[command] ? quoted(`1:argument:(${WORDS[command].join(" ")})`) : "'*:argument:_files'"}`,
      "          ;;",
    ]),
    "      esac",
    "      ;;",
    "  esac",
    "}",
    '_pawl "$@"',
  ];
}

function zshFlag(name: string, flag: Flag): string {
  const about = flag.help.replaceAll(/[\[\]:\\]/g, "\\$&");
  const list = values(flag);
  const noSpace = list.some((value) => value.endsWith("="));
  const action = list.length > 0
    ? noSpace ? `compadd -S "" -- ${list.join(" ")}` : `(${list.join(" ")})`
    : flag.path
    ? "_files"
    : " ";
  const value = flag.value === "" ? "" : `:value:${action}`;
  const all = spellings(name, flag);
  const head = flag.repeat ? "*" : all.length > 1 ? `(${all.join(" ")})` : "";
  return all.map((spelling) => quoted(`${head}${spelling}[${about}]${value}`)).join(" ");
}

function fish(): string[] {
  const lines = ["# pawl completions for fish", "complete -c pawl -f"];
  for (const name of NAMES) {
    lines.push(`complete -c pawl -n __fish_use_subcommand -a ${name} -d ${quoted(COMMANDS[name].summary)}`);
    const words = WORDS[name];
    if (words) lines.push(`complete -c pawl -n '__fish_seen_subcommand_from ${name}' -a ${quoted(words.join(" "))}`);
  }
  for (const [name, flag] of flagList()) {
    const where = flag.for ? `-n '__fish_seen_subcommand_from ${flag.for.join(" ")}' ` : "";
    const short = flag.short ? `-s ${flag.short} ` : "";
    const list = values(flag);
    const value = flag.value === ""
      ? ""
      : list.length > 0
      ? `-x -a ${quoted(list.join(" "))} `
      : flag.path
      ? "-r -F "
      : "-x ";
    lines.push(`complete -c pawl ${where}${short}-l ${name} ${value}-d ${quoted(flag.help)}`);
  }
  return lines;
}
