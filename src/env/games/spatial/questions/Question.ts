/**
 * A question about a room, answered by the letter of a choice. Invariant: one choice is right, and its maker checks that every other is wrong;
 * makers return null for rooms in which their question cannot be asked.
 */
import type { Random } from "../../../../domain/Random.ts";
import type { SpatialRoom } from "../Room.ts";
import type { QuestionType } from "../SpatialConfig.ts";

export interface RoomQuestion {
  readonly type: QuestionType;
  /** The question without the choices. */
  readonly text: string;
  /** The question in a few words, for small models. */
  readonly brief: string;
  readonly choices: readonly string[];
  /** The index of the right choice. */
  readonly answer: number;
}

export type QuestionMaker = (room: SpatialRoom, random: Random) => Omit<RoomQuestion, "type"> | null;

const mostChoices = 4;

export const letterOf = (choice: number): string => String.fromCharCode(65 + choice);

/** Shuffles the right choice among up to three wrong ones; null if there is no wrong one. */
export const withChoices = (
  text: string,
  brief: string,
  right: string,
  wrong: readonly string[],
  random: Random,
): Omit<RoomQuestion, "type"> | null => {
  const others = random.shuffle([...new Set(wrong)].filter((choice) => choice !== right)).slice(0, mostChoices - 1);
  if (others.length === 0) return null;
  const choices = random.shuffle([right, ...others]);
  return { text, brief, choices, answer: choices.indexOf(right) };
};
