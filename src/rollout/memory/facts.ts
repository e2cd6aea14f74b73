/**
 * A summary of turns without a model, in the words of RAGEN's pull request 160: how many there were, what was tried and what it came to.
 * Differs from it in that effective moves and named actions are the environment's own (there: moves by turn, and the four directions).
 */
import type { PastTurn } from "../Template.ts";

/** The lines of a state that name coordinates, as Sokoban's do. */
const coordinatesIn = (observation: string): readonly string[] =>
  observation
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /Targets:|Boxes:|Player:/.test(line) && /\(\d/.test(line));

export const facts = (past: readonly PastTurn[], separator: string): string => {
  const actions = past.flatMap((turn) => turn.actions);
  const add = (part: (turn: PastTurn) => number) => past.reduce((sum, turn) => sum + part(turn), 0);
  const last = past.at(-1);
  const coordinates = last === undefined ? [] : coordinatesIn(last.before.view.observation);
  const invalid = past.filter((turn) => turn.invalid).length;
  const legal = last?.before.view.actions ?? null;
  const choices = legal === null ? "" : ` Valid actions are: ${legal.join(", ")} (separated by ' ${separator} ').`;
  return [
    `[Memory: ${past.length} earlier step(s) summarized, not shown in full]`,
    `Actions tried: ${actions.length === 0 ? "none" : actions.join(", ")}`,
    `Effective moves: ${add(({ effective }) => effective)}/${actions.length}`,
    `Cumulative reward from these steps: ${add(({ reward }) => reward).toFixed(2)}`,
    ...(coordinates.length === 0 ? [] : [`State at end of summary: ${coordinates.join(" | ")}`]),
    ...(invalid === 0 ? [] : [`Invalid action format: ${invalid} time(s).${choices}`]),
  ].join("\n");
};
