/** Texts that a model may write in the room: looks and jumps, nonsense, and now and then an answer. */
import { letterOf } from "../../../../src/env/games/spatial/questions/Question.ts";
import type { SpatialState } from "../../../../src/env/games/spatial/SpatialState.ts";
import type { Act } from "../../contract/players.ts";

export const sequence: Act = (state, random) => {
  const { question, things } = state as SpatialState;
  const { name } = random.pick(things);
  return random.pick([
    "Actions: [Observe()]",
    "Actions: [Rotate(90), Observe()]",
    "Actions: [Rotate(-90), Observe()]",
    `Actions: [JumpTo(${name}), Observe()]`,
    `Actions: [Rotate(180), JumpTo(${name}), Observe()]`,
    "Actions: [Return(), Observe()]",
    "Actions: [Rotate(45), Observe()]",
    "Actions: [Rotate(90)]",
    "what is this",
    `Actions: [Term(${letterOf(random.int(question.choices.length))})]`,
  ]);
};
