/** Draws a room with a question about it: the type first, then rooms until the question can be asked in one. */
import type { Random } from "../../../../domain/Random.ts";
import { NoInstance } from "../../../contract/NoInstance.ts";
import { drawRoom, type SpatialRoom } from "../Room.ts";
import type { QuestionType, SpatialConfig } from "../SpatialConfig.ts";
import { coordinates } from "./coordinates.ts";
import { direction } from "./direction.ts";
import { backwardLocalisation, localisation } from "./localisation.ts";
import { backwardNavigation, navigation } from "./navigation.ts";
import { backwardPerspective, perspective } from "./perspective.ts";
import type { QuestionMaker, RoomQuestion } from "./Question.ts";
import { backwardRotation, rotation } from "./rotation.ts";

const questionMakers: Readonly<Record<QuestionType, QuestionMaker>> = {
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

/** Draws a room and a question. It throws NoInstance if the question can be asked in no drawn room. */
export const drawRoomAndQuestion = (
  config: SpatialConfig,
  random: Random,
): { readonly room: SpatialRoom; readonly question: RoomQuestion } => {
  const type = random.pick(config.eval_tasks);
  for (let tries = 0; tries < mostDraws; tries++) {
    const room = drawRoom(config, random);
    const question = questionMakers[type](room, random);
    if (question !== null) return { room, question: { type, ...question } };
  }
  throw new NoInstance({ env_type: "spatial", draws: mostDraws });
};
