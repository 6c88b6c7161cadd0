/**
 * What the scripted model says in the README: short, true answers to the questions of its transcript, and what the model of the demo
 * says to everything else.
 *
 * @module
 */
import type { Turn } from "./replies.ts";
import { type Heard, scriptedTurn } from "./scripted_model.ts";

const LIST = "list.txt";

/** Answers, by what was asked last. */
const ANSWERS: [asked: RegExp, turn: Turn][] = [
  [/sky (is )?blue/, {
    thinking: "One sentence, then: scattering.",
    text: "Air scatters blue light far more than red, so it reaches the eye from every side.",
  }],
  [/misspelt/, { text: '"Egs": the word is "Eggs".' }],
  [/How many lines/, { text: "3" }],
  [/How many things/, {
    thinking: "The file will tell.",
    calls: [{ name: "read_file", input: { path: LIST } }],
  }],
  [/Correct the spelling/, {
    calls: [{ name: "edit_file", input: { path: LIST, old_text: "Egs", new_text: "Eggs" } }],
  }],
  [/What time/, { calls: [{ name: "clock", input: {} }] }],
  [/capital of Norway/, { text: '{"city":"Oslo","founded":1048}' }],
  [/I am Ada/, { text: "Hello, Ada." }],
  [/Who am I/, { text: "You are Ada, you said." }],
  [/days in Oslo/, { text: "Day one: the opera house. Day two: the fjord. Day three: Munch." }],
  [/it rains/, { text: "Then start with Munch, and take the fjord last." }],
];

/** Answers to results of tools, by what was asked before. */
const CONCLUSIONS: [asked: RegExp, text: string][] = [
  [/What time/, "Time to read on."],
  [/How many things/, "Three: milk, bread and eggs."],
  [/Correct the spelling/, 'Done: "Egs" is "Eggs" now.'],
];

/**
 * Answers a request.
 *
 * @param heard The request
 * @returns What the model says
 */
export function readmeTurn(heard: Heard): Turn {
  const asked = heard.messages.findLast(({ role, results }) => role === "user" && results.length === 0)?.text ?? "";
  const isAnswered = (heard.messages.at(-1)?.results.length ?? 0) > 0;
  const conclusion = isAnswered ? CONCLUSIONS.find(([pattern]) => pattern.test(asked))?.[1] : undefined;
  if (conclusion !== undefined) return { text: conclusion };
  return ANSWERS.find(([pattern]) => pattern.test(asked))?.[1] ?? scriptedTurn(heard);
}
