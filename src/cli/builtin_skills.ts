/**
 * The skills that come with pawl. Written by scripts/skills.ts from skills/: change them there.
 * @module
 */
import type { Skill } from "../skills/skill.ts";

/** The skills of skills/, sorted by name. */
export const BUILTIN_SKILLS: readonly Skill[] = [
  {
    name: "commit-message",
    description: "Use when asked for a commit message, a pull request text or a changelog entry for a change. Writes what changed and why, in the style of the project.",
    body: `Write for somebody who looks for the reason of a line in two years. The diff shows what changed; the message says why.

## Gather

1. The change: the diff in the conversation. Otherwise, with \`run_command\` and git: \`["diff", "--cached"]\`; if that is
   empty, \`["diff", "HEAD"]\`. Without a diff and without the tool, ask for the diff in one sentence and stop.
2. The style: \`["log", "-12", "--format=%s"]\`, if you can run git. Follow it: prefixes such as \`fix(parser):\`, capital
   letters, language, tense. For a changelog, read the top of \`CHANGELOG.md\`.
3. The reason: look for it in the request, in comments of the diff, in the names of its tests. Never make one up. If it
   cannot be known, describe the effect instead.

## Sort

- What is the one change that the others serve? It becomes the subject line.
- Are there two that have nothing to do with each other? Propose two commits and name the files of each.
- Leave out what follows from the main change: renamed variables, updated imports, adapted tests.

## Write a commit message

- Subject: at most 60 characters, no full stop, imperative ("Keep the lock until the file is closed"), unless the log
  shows another style. Name the effect, not the activity: not "Fix bug", "Update code", "Refactor parser".
- One empty line, then a body of one to six lines, at most 72 characters each. Omit it if the subject says everything.
- The body answers: what was wrong or missing, what happens now, what somebody must know who relies on the old
  behaviour.
- Something that breaks users gets a last paragraph \`BREAKING CHANGE: …\`, with what they have to do.
- Issue numbers only if they stand in the request or in the branch name.

## Write a changelog entry or a pull request text

- Changelog: one line for each effect that a user notices, under Added, Changed, Fixed or Removed, in the tense of the
  entries above it. No file names, no internals.
- Pull request: a title like a subject line; then "Why", "What", "How to check" with commands that can be pasted.

## Check

Read each statement again: which line of the diff proves it? Delete what none proves.

## Answer

Only the text itself, without a fence, a greeting or an explanation: it may be piped into \`git commit -F -\`. Two
proposed commits are the exception: each under a line \`# commit 1: FILES\`.`,
  },
  {
    name: "find-cause",
    description: "Use when something failed - a build, a test, a program, a log with errors - and the cause is asked for. Goes from the output to the line that is to blame.",
    body: `Explain the failure so that somebody can fix it without searching. A plausible guess that is wrong costs more than "I do
not know".

## 1. Find the first error

- Logs are long and the end is mostly consequences. Look for the earliest line that reports a failure: search for
  \`error\`, \`fail\`, \`fatal\`, \`panic\`, \`exception\`, \`denied\`, \`not found\`, \`timed out\`, \`killed\`.
- With a log file, use \`search_files\` on it with \`ignore_case\`, then \`read_file\` with \`offset\` some 20 lines before the
  first hit. Do not read it from the top.
- With several errors, take the first one that does not mention another. "Caused by" points downwards: the last "Caused
  by" is the origin.
- Copy that line word for word. All that follows must explain this line.

## 2. Go to the source

- From the line take the names that can be searched: file and line, function, test, option, the fixed part of the
  message (without numbers and paths).
- Stack traces: the topmost frame that belongs to this project, not to a library.
- \`search_files\` for them, then read the function around the hit, and the code that calls it.
- Nothing found? Then the message comes from a dependency, the system or the configuration: look at what was passed to
  it.

## 3. Explain it, then test the explanation

Write one sentence: "X happens because Y at FILE:LINE." Then try to prove it wrong:

- Does Y explain every detail of the error line: the value, the position, the time?
- Why did it work before? What changed: code, version, environment, data, time of day, load?
- Would it also fail somewhere where it did not fail? Then the explanation is wrong.
- Can you check it with the tools that you have: a search, a file, one command that changes nothing? Do it now.

If it falls, take the next candidate. After three, stop and report what is known.

## 4. Answer

    Cause: one sentence, with file and line.
    Evidence: the error line, word for word, and the code or value that leads to it.
    Fix: the smallest change that removes the cause, not the symptom.
    Sure: certain, likely or a guess; if not certain, the one check that would settle it.

Name other failures of the same output in one line each, only if they have another cause. Change nothing unless you were
asked to fix it.`,
  },
  {
    name: "review-change",
    description: "Use when asked to review a diff, a patch, a commit or edited files. Finds real defects in the change and reports them with file and line.",
    body: `Find what is wrong with the change, not what you would have written differently.

## Get the change

1. Is the diff in the conversation? Use that. Never ask for what you already have.
2. Otherwise, with \`run_command\` and git: \`["diff", "HEAD"]\` for uncommitted work, \`["show", "COMMIT"]\` for a commit,
   \`["diff", "A...B"]\` for a branch.
3. Otherwise ask for the diff in one sentence and stop. Do not review files as if all of them were new.

## Read around it

For each changed function:

1. Read the whole function as it is now with \`read_file\`, not only the lines of the diff.
2. Find its callers with \`search_files\` (search for its name). Does every caller still work?
3. Find its tests. Would one of them fail without the change? Does one of them now check something false?

Without these tools, review what you see, and say which files you could not look at.

## Look for

In this order; stop looking for trifles once you have found something serious:

- Wrong results: off by one, a condition turned round, a missing case (empty, zero, negative, very large, not ASCII), an
  early return that skips work.
- Errors: swallowed, turned into a default, reported as success; cleanup that does not run on the error path.
- State: two things that must change together and do not; a value read before it is set; work done twice on a retry;
  races.
- Contracts: a changed name, type, default, file format or output that somebody depends on.
- Safety: outside input that reaches a command, a path, a query or a page unchecked; secrets in logs or errors; a check
  that was removed.
- Cost: a loop in a loop over the same data; something unbounded that outside input can grow.
- Tests: changed behaviour that no test would notice.

Ignore style that a formatter or linter decides.

## Prove each finding

Before you report one, give an input or a sequence of steps for which the new code does the wrong thing, and re-read the
lines to make sure that nothing handles it. If you cannot, drop the finding, or report it as a question.

## Answer

Most serious first, at most ten, each like this:

    src/parse.ts:42 (wrong result): an empty list gives NaN, since the sum is divided by its length.
    Input: mean([]). Fix: return undefined for an empty list.

Then one line with what you checked and found in order, and one with what you could not check. If you found nothing, say
"No defects found" and stop: do not invent any.`,
  },
];
