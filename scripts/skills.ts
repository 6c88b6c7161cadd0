/**
 * `deno task skills`: writes the skills of `skills/` into `src/cli/builtin_skills.ts`, so that they are there from JSR, in a compiled binary and
 * without permission to read. A test holds the two against each other.
 *
 *     deno run --allow-read=skills --allow-write=src/cli/builtin_skills.ts scripts/skills.ts
 *
 * @module
 */
import { loadSkills, type Skill } from "../src/skills/skill.ts";

/** The text of `src/cli/builtin_skills.ts`. */
export function renderSkills(skills: readonly Skill[]): string {
  return `/**
 * The skills that come with pawl. Written by scripts/skills.ts from skills/: change them there.
 * @module
 */
import type { Skill } from "../skills/skill.ts";

/** The skills of skills/, sorted by name. */
export const BUILTIN_SKILLS: readonly Skill[] = [
${skills.map(renderSkill).join("\n")}
];
`;
}

function renderSkill({ name, description, body }: Skill): string {
  const text = body.replace(/[\\`]|\$\{/g, (mark) => `\\${mark}`);
  return `  {
    name: ${JSON.stringify(name)},
    description: ${JSON.stringify(description)},
    body: \`${text}\`,
  },`;
}

if (import.meta.main) {
  const path = "src/cli/builtin_skills.ts";
  const skills = await loadSkills(Deno, "skills");
  await Deno.writeTextFile(path, renderSkills(skills));
  console.log(`${path}: ${skills.map((skill) => skill.name).join(", ")}`);
}
