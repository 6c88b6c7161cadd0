/**
 * The rules of the house that types cannot keep: which floor may import which, where the outside world may be touched,
 * and how files are written. `deno.json` hands this plugin to `deno lint`.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url).pathname;

/** The rooms that a file of each room may import, besides its own. */
const FLOORS: Record<string, readonly string[]> = {
  model: [],
  text: ["model"],
  wire: ["text", "model"],
  skills: ["text", "model"],
  provider: ["wire", "text", "model"],
  dialects: ["provider", "text", "model"],
  agent: ["provider", "text", "model"],
  cli: ["agent", "dialects", "provider", "skills", "wire", "text", "model"],
};

/** Files outside the rooms that are entry points, and the rooms whose exports they may hand on. */
const ENTRIES: Record<string, readonly string[]> = {
  "mod.ts": ["agent", "dialects", "provider", "skills", "wire", "text", "model"],
  "src/testing.ts": ["wire", "text", "model"],
  "src/sse.ts": ["wire"],
  "cli.ts": ["cli"],
};

/** Names that reach the process, its environment or its streams; `navigator` tells system facts. */
const OUTSIDE_WORLD = new Set(["Deno", "process", "console", "Bun", "navigator", "localStorage", "prompt", "alert"]);

const MAX_LINES = 320;

/** The path within the project: `src/text/visible.ts`. */
function pathOf(filename: string): string {
  return filename.startsWith(ROOT) ? filename.slice(ROOT.length) : filename;
}

/** The room of a project path: `text` for `src/text/visible.ts`; undefined outside the rooms. */
function roomOf(path: string): string | undefined {
  const [top, room, file] = path.split("/");
  return top === "src" && file !== undefined ? room : undefined;
}

/** Whether the file belongs to what a user of `mod.ts` loads. */
function isLibrary(path: string): boolean {
  return (path.startsWith("src/") || path === "mod.ts") && roomOf(path) !== "cli";
}

function isCli(path: string): boolean {
  return roomOf(path) === "cli" || path === "cli.ts";
}

/** Visitors for every way to name a module, static or dynamic. */
function onImport(look: (specifier: string, node: Deno.lint.Node) => void): Deno.lint.LintVisitor {
  function visit(node: { source: Deno.lint.Node | null } & Deno.lint.Node): void {
    if (node.source?.type === "Literal" && typeof node.source.value === "string") look(node.source.value, node);
  }
  return {
    ImportDeclaration: visit,
    ExportAllDeclaration: visit,
    ExportNamedDeclaration: visit,
    ImportExpression: visit,
  };
}

/** A relative specifier as a path within the project. */
function resolve(specifier: string, from: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

const floors: Deno.lint.Rule = {
  create(context) {
    const path = pathOf(context.filename);
    const room = roomOf(path);
    const allowed = room === undefined ? ENTRIES[path] : FLOORS[room];
    if (path.startsWith("src/") && allowed === undefined) {
      return {
        Program: (node) =>
          context.report({ node, message: `"${path}" is in no room: ${Object.keys(FLOORS).join(", ")}` }),
      };
    }
    if (allowed === undefined) return {};
    return onImport((specifier, node) => {
      if (!specifier.startsWith(".")) return;
      const target = resolve(specifier, path);
      const targetRoom = roomOf(target);
      if (targetRoom !== undefined && (targetRoom === room || allowed.includes(targetRoom))) return;
      // The command line tells its version.
      if (target === "deno.json" && room === "cli") return;
      context.report({
        node,
        message: `"${path}" must not import "${target}": allowed rooms are ${allowed.join(", ") || "none"}`,
      });
    });
  },
};

const packages: Deno.lint.Rule = {
  create(context) {
    const path = pathOf(context.filename);
    if (!isLibrary(path)) return {};
    return {
      ...onImport((specifier, node) => {
        if (specifier.startsWith(".")) return;
        context.report({ node, message: `The library has no dependency, but imports "${specifier}"` });
      }),
      // A computed specifier hides what it names.
      "ImportExpression[source.type!='Literal']": (node: Deno.lint.Node) =>
        context.report({ node, message: "The library must not import what it computes" }),
    };
  },
};

const outsideWorld: Deno.lint.Rule = {
  create(context) {
    if (!isLibrary(pathOf(context.filename))) return {};
    return {
      Identifier(node) {
        if (!OUTSIDE_WORLD.has(node.name)) return;
        const { parent } = node;
        const isName = parent.type === "MemberExpression" && parent.property === node && !parent.computed &&
          !(parent.object.type === "Identifier" && parent.object.name === "globalThis");
        const isKey = parent.type === "Property" && parent.key === node && !parent.shorthand && !parent.computed;
        if (isName || isKey || parent.type === "TSPropertySignature") return;
        context.report({ node, message: `"${node.name}" is for src/cli only` });
      },
    };
  },
};

const fetchCalls: Deno.lint.Rule = {
  create(context) {
    const path = pathOf(context.filename);
    if ((!isLibrary(path) && !isCli(path)) || roomOf(path) === "wire") return {};
    return {
      CallExpression(node) {
        const { callee } = node;
        const name = callee.type === "MemberExpression" ? callee.property : callee;
        if (name.type !== "Identifier" || name.name !== "fetch") return;
        context.report({ node, message: "fetch is called in src/wire only" });
      },
    };
  },
};

const topLevelFunctions: Deno.lint.Rule = {
  create(context) {
    function check(node: Deno.lint.VariableDeclarator): void {
      const kind = node.init?.type;
      if (kind !== "ArrowFunctionExpression" && kind !== "FunctionExpression") return;
      context.report({ node, message: "A top-level function is written with the word function" });
    }
    return {
      "Program > VariableDeclaration > VariableDeclarator": check,
      "Program > ExportNamedDeclaration > VariableDeclaration > VariableDeclarator": check,
    };
  },
};

const hashPrivate: Deno.lint.Rule = {
  create(context) {
    function refuse(node: Deno.lint.Node): void {
      context.report({ node, message: "Write #name, not private, protected or a parameter property" });
    }
    function check(node: Deno.lint.PropertyDefinition | Deno.lint.MethodDefinition): void {
      if (node.accessibility !== undefined) refuse(node);
    }
    return { PropertyDefinition: check, MethodDefinition: check, TSParameterProperty: refuse };
  },
};

const oneBarrel: Deno.lint.Rule = {
  create(context) {
    const path = pathOf(context.filename);
    if (!path.startsWith("src/") || path in ENTRIES) return {};
    return {
      ExportAllDeclaration: (node) => context.report({ node, message: "mod.ts is the only barrel" }),
    };
  },
};

const fileLength: Deno.lint.Rule = {
  create(context) {
    if (!pathOf(context.filename).startsWith("src/")) return {};
    return {
      Program(node) {
        const lines = context.sourceCode.text.split("\n").length - 1;
        if (lines > MAX_LINES) {
          context.report({ node, message: `${lines} lines are more than one story: at most ${MAX_LINES}` });
        }
      },
    };
  },
};

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    floors,
    packages,
    "outside-world": outsideWorld,
    "fetch-calls": fetchCalls,
    "top-level-functions": topLevelFunctions,
    "hash-private": hashPrivate,
    "one-barrel": oneBarrel,
    "file-length": fileLength,
  },
};

export default plugin;
