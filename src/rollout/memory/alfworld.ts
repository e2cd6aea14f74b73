/**
 * Writes a turn's user message for ALFWorld as RAGEN's AlfWorldMemory does. It holds the task of the first observation, then past turns, each
 * as its observation (at most 200 characters) and its reply's answer. The current observation and its admissible actions follow.
 */
import type { PastTurn } from "../Template.ts";
import type { Memory } from "./Memory.ts";

const mostCharacters = 200;

/** Lines of an observation that the message replaces or leaves out. */
const boilerplate: readonly RegExp[] = [
  /-= Welcome to TextWorld, ALFRED! =-/g,
  /You have \d+ actions left\.?/g,
  /Always output:[^\n]*/g,
  /Strictly follow this format\.[^\n]*/g,
  /Max response length:[^\n]*/g,
  /Admissible actions:[^\n]*/g,
];

const cleaned = (observation: string): string =>
  boilerplate
    .reduce((text, pattern) => text.replace(pattern, ""), observation)
    .replace(/\n\s*\n+/g, "\n")
    .trim();

const shortened = (text: string): string => {
  const characters = [...text];
  return characters.length <= mostCharacters ? text : `${characters.slice(0, mostCharacters - 3).join("")}...`;
};

const taskIn = (observation: string): string | undefined =>
  /Your task is to: (.+?)(?:\.\n|\n|$)/s.exec(observation)?.[1]?.trim();
const admissibleIn = (observation: string): string | undefined =>
  /Admissible actions: \[(.+?)\]/s.exec(observation)?.[1]?.trim();

/** Returns the text between the first opening tag and the next closing one; the whole reply without such a pair. */
const answerIn = (reply: string): string => {
  const [open, close] = ["<answer>", "</answer>"];
  const from = reply.indexOf(open);
  const end = from < 0 ? -1 : reply.indexOf(close, from);
  return (end < 0 ? reply : reply.slice(from + open.length, end)).trim();
};

const pastTurnText = ({ before: { turn, view }, reply }: PastTurn): string =>
  `[Observation ${turn}: '${shortened(cleaned(view.observation))}', Action ${turn}: '${answerIn(reply)}']`;

const lineIf = (condition: boolean, line: () => string): readonly string[] => (condition ? [line()] : []);

export const alfworld: Memory = (
  { actionsLeft, turn, view },
  { first, shown, summary, previousInvalid },
  { form, lengthSentence },
) => {
  const task = taskIn(first);
  const admissible = admissibleIn(view.observation);
  return [
    ...lineIf(task !== undefined, () => `Your task is to: ${task}.`),
    ...lineIf(turn > 1, () => `Prior to this step, you have already taken ${turn - 1} step(s).`),
    ...lineIf(summary !== "", () => summary),
    ...lineIf(
      shown.length > 0,
      () => `Below are the most recent ${shown.length} observations and the corresponding actions you took:`,
    ),
    ...shown.map(pastTurnText),
    `You are now at step ${turn} and your current observation is: ${cleaned(view.observation)}`,
    ...lineIf(admissible !== undefined, () => `Your admissible actions of the current situation are: [${admissible}]`),
    ...lineIf(previousInvalid, () => "No valid action provided previously. Environment state remains the same."),
    `Now it's your turn to take an action. You have ${actionsLeft} actions left. Always output: ${form} with no extra text. ${lengthSentence}`,
  ].join("\n");
};
