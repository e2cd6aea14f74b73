/** Draws a room with a question about it: the type first, then rooms until the question can be asked in one. */
import type { Random } from "../../../../domain/Random.ts";
import { NoInstance } from "../../../contract/NoInstance.ts";
import { drawRoom, type Room } from "../Room.ts";
import type { QuestionType, SpatialConfig } from "../SpatialConfig.ts";
import { coordinates } from "./coordinates.ts";
import { direction } from "./direction.ts";
import { backwardLocalisation, localisation } from "./localisation.ts";
import { backwardNavigation, navigation } from "./navigation.ts";
import { backwardPerspective, perspective } from "./perspective.ts";
import type { Maker, Question } from "./Question.ts";
import { backwardRotation, rotation } from "./rotation.ts";

const makers: Readonly<Record<QuestionType, Maker>> = {
  dir: direction,
  rot: rotation,
  rot_dual: backwardRotation,
  pov: perspective,
  bwd_pov: backwardPerspective,
  e2a: coordinates,
  fwd_loc: localisation,
  bwd_loc: backwardLocalisation,
  fwd_fov: navigation,
  bwd_nav: backwardNavigation,
};

const mostDraws = 1_000;

/** Throws NoInstance where the question can be asked in no room. */
export const draw = (config: SpatialConfig, random: Random): { readonly room: Room; readonly question: Question } => {
  const type = random.pick(config.eval_tasks);
  for (let tries = 0; tries < mostDraws; tries++) {
    const room = drawRoom(config, random);
    const made = makers[type](room, random);
    if (made !== null) return { room, question: { type, ...made } };
  }
  throw new NoInstance({ env_type: "spatial", draws: mostDraws });
};
