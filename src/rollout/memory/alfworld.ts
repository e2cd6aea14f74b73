/**
 * RAGEN's AlfWorldMemory. The message holds the task of the first observation, then pairs of an observation (at most 200 characters) and
 * the named action. The current observation and its admissible actions follow.
 */
import type { PastTurn } from "../Template.ts";
import type { Memory } from "./Memory.ts";

const longest = 200;

/** Lines of an observation that the memory replaces or drops. */
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

const cut = (text: string): string => {
  const characters = [...text];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 3).join("")}...`;
};

const taskIn = (observation: string): string | undefined =>
  /Your task is to: (.+?)(?:\.\n|\n|$)/s.exec(observation)?.[1]?.trim();
const admissibleIn = (observation: string): string | undefined =>
  /Admissible actions: \[(.+?)\]/s.exec(observation)?.[1]?.trim();

/** Up to the first closing tag after the first opening one; the whole reply where there is no such pair. */
const answerIn = (reply: string): string => {
  const [open, close] = ["<answer>", "</answer>"];
  const from = reply.indexOf(open);
  const end = from < 0 ? -1 : reply.indexOf(close, from);
  return (end < 0 ? reply : reply.slice(from + open.length, end)).trim();
};

const pair = ({ before: { turn, view }, reply }: PastTurn): string =>
  `[Observation ${turn}: '${cut(cleaned(view.observation))}', Action ${turn}: '${answerIn(reply)}']`;

const when = (condition: boolean, line: () => string): readonly string[] => (condition ? [line()] : []);

export const alfworld: Memory = (
  { actionsLeft, turn, view },
  { first, shown, summary, previousInvalid },
  { form, length },
) => {
  const task = taskIn(first);
  const admissible = admissibleIn(view.observation);
  return [
    ...when(task !== undefined, () => `Your task is to: ${task}.`),
    ...when(turn > 1, () => `Prior to this step, you have already taken ${turn - 1} step(s).`),
    ...when(summary !== "", () => summary),
    ...when(
      shown.length > 0,
      () => `Below are the most recent ${shown.length} observations and the corresponding actions you took:`,
    ),
    ...shown.map(pair),
    `You are now at step ${turn} and your current observation is: ${cleaned(view.observation)}`,
    ...when(admissible !== undefined, () => `Your admissible actions of the current situation are: [${admissible}]`),
    ...when(previousInvalid, () => "No valid action provided previously. Environment state remains the same."),
    `Now it's your turn to take an action. You have ${actionsLeft} actions left. Always output: ${form} with no extra text. ${length}`,
  ].join("\n");
};
