/** `env_config` of Sokoban; keys and defaults are RAGEN's. `dim_x` (rows) and `dim_y` (columns) override `dim_room`. */
import { Schema } from "effect";
import { field, reward, section, signedCoefficient, steps, whole } from "../../../config/field.ts";
import { distinctGlyphs, Glyph, gridVocab, imageRenderMode, observationFormat } from "../GridText.ts";
import { instances } from "../instances.ts";

/** The symbols of the cell codes 0 to 6. */
const GridLookup = Schema.Struct({
  "0": field(Glyph, "#", "Wall."),
  "1": field(Glyph, "_", "Empty floor."),
  "2": field(Glyph, "O", "Target."),
  "3": field(Glyph, "√", "Box on a target."),
  "4": field(Glyph, "X", "Box."),
  "5": field(Glyph, "P", "Player."),
  "6": field(Glyph, "S", "Player on a target."),
}).check(Schema.makeFilter(distinctGlyphs));

export const meanings = {
  "0": "wall",
  "1": "empty",
  "2": "target",
  "3": "box on target",
  "4": "box",
  "5": "player",
  "6": "player on target",
} as const;

const side = Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 64 }));

const keys = Schema.Struct({
  dim_room: field(Schema.Tuple([side, side]), [6, 6], "Rows and columns, the outer wall included."),
  dim_x: Schema.optionalKey(side.annotate({ description: "Rows; overrides dim_room." })),
  dim_y: Schema.optionalKey(side.annotate({ description: "Columns; overrides dim_room." })),
  max_steps: field(steps, 100, "Steps after which the environment itself cuts the episode."),
  num_boxes: field(whole(1, 1_000), 3, "Boxes, and as many targets."),
  search_depth: field(
    Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 100_000 })),
    300,
    "Depth of the reverse play that moves the boxes off their targets.",
  ),
  min_solution_steps: field(
    Schema.NullOr(Schema.Tuple([whole(1, 100_000), whole(1, 100_000)])),
    null,
    "Fewest and most moves of a room's shortest solution; rooms outside are drawn again. Under instances: ragen the moves of the reverse play count, as in RAGEN.",
  ),
  max_reset_tries: field(
    whole(1, 100_000),
    1_000,
    "Rooms drawn for min_solution_steps before it is given up. Then the instance fails; under instances: ragen the next room is played.",
  ),
  ignore_gym_reward: field(
    Schema.Boolean,
    false,
    "If true, solving the room earns success_reward and nothing else earns anything, in place of -0.1 a step, 1 a box and 10 at the end.",
  ),
  success_reward: field(reward, 1, "ignore_gym_reward: reward of the move that solves the room."),
  distance_reward_coeff: field(
    signedCoefficient,
    0,
    "Reward added for each cell that a move brings the boxes nearer to their nearest targets, and subtracted for each cell that it brings them away.",
  ),
  no_op_penalty: field(
    reward,
    0,
    "Reward added for an action that does not move the player; a negative number discourages it.",
  ),
  instances,
  observation_format: observationFormat,
  render_mode: imageRenderMode,
  grid_lookup: section(GridLookup, "Symbol of each cell code."),
  grid_vocab: gridVocab,
});

interface RoomKeys {
  readonly dim_room: readonly [number, number];
  readonly dim_x?: number;
  readonly dim_y?: number;
}

export const roomSize = (config: RoomKeys): readonly [rows: number, cols: number] => [
  config.dim_x ?? config.dim_room[0],
  config.dim_y ?? config.dim_room[1],
];

/** The most boxes of a room: two interior cells stay free, and a search state (player, boxes) fits an exact integer. */
export const maxBoxes = (rows: number, cols: number): number => {
  const interior = (rows - 2) * (cols - 2);
  return Math.min(interior - 2, Math.floor((53 - Math.log2(interior)) / Math.log2(2 * interior)));
};

export const SokobanConfig = keys.check(
  Schema.makeFilter((config) => {
    const [first, last] = config.min_solution_steps ?? [1, 1];
    if (first > last) {
      return { path: ["min_solution_steps"], issue: `the fewest moves, ${first}, must not be above the most, ${last}` };
    }
    const [rows, cols] = roomSize(config);
    const most = maxBoxes(rows, cols);
    if (most < 1)
      return { path: ["dim_room"], issue: `a ${rows}x${cols} room has no space for a box, a target and the player` };
    if (config.num_boxes > most) return { path: ["num_boxes"], issue: `at most ${most} in a ${rows}x${cols} room` };
    return undefined;
  }),
);
export type SokobanConfig = typeof SokobanConfig.Type;
