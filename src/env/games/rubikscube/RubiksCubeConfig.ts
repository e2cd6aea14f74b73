/** `env_config` of the 2x2 cube. Keys and defaults are RAGEN's, except `back_turn` and `instances`, which correct its cube and its scrambles. */
import { Schema } from "effect";
import { field, steps, whole } from "../../../config/field.ts";
import { renderMode } from "../GridText.ts";
import { instances } from "../instances.ts";

/** No cube is farther from solved. */
const maxTurns = 14;

export const RubiksCubeConfig = Schema.Struct({
  scramble_depth: field(
    whole(0, 1_000),
    5,
    "Turns of the scramble. Our own instances are exactly as many turns from solved; in RAGEN's, turns may cancel.",
  ),
  max_steps: field(steps, 20, "Turns after which the environment itself cuts the episode."),
  instances,
  back_turn: field(
    Schema.Literals(["true", "ragen"]),
    "true",
    "Effect of B and B': true turns the back face; ragen swaps two stickers of D as in RAGEN, whose B is no turn of a cube.",
  ),
  render_mode: renderMode,
}).check(
  Schema.makeFilter(({ back_turn, instances, scramble_depth }) => {
    if (instances === "ragen") return undefined;
    if (back_turn === "ragen") return { path: ["back_turn"], issue: "ragen needs instances: ragen" };
    if (scramble_depth < 1 || scramble_depth > maxTurns)
      return { path: ["scramble_depth"], issue: `1 to ${maxTurns}, beyond which no cube is` };
    return undefined;
  }),
);
export type RubiksCubeConfig = typeof RubiksCubeConfig.Type;
