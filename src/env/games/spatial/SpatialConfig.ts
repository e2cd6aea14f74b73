/** `env_config` of the spatial room; `room_size`, `n_objects`, `max_exp_steps` and `eval_tasks` with their defaults are RAGEN's. */
import { Schema } from "effect";
import { field, whole } from "../../../config/field.ts";
import { renderMode } from "../GridText.ts";

/** The names of objects; all of them have a front. */
export const objectNames: readonly string[] = [
  ...["armchair", "bookcase", "cabinet", "computer", "desk", "dresser", "fireplace", "fridge"],
  ...["mirror", "oven", "piano", "printer", "sofa", "television", "wardrobe", "washer"],
];

/** RAGEN's names of the questions; a file in `questions/` makes each of them. */
export const questionTypes = [
  "dir",
  "rot",
  "rot_dual",
  "pov",
  "bwd_pov",
  "e2a",
  "fwd_loc",
  "bwd_loc",
  "fwd_fov",
  "bwd_nav",
] as const;
export type QuestionType = (typeof questionTypes)[number];

const side = Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 40 }));

export const SpatialConfig = Schema.Struct({
  room_size: field(Schema.Tuple([side, side]), [10, 10], "Cells from west to east and from south to north."),
  n_objects: field(
    Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: objectNames.length })),
    3,
    "Objects in the room, each in a cell of its own.",
  ),
  max_exp_steps: field(whole(1, 100_000), 10, "Actions for exploring; one more is left for the answer."),
  eval_tasks: field(
    Schema.NonEmptyArray(Schema.Literals(questionTypes)),
    [...questionTypes],
    "Question types, of which an instance draws one.",
  ),
  field_of_view: field(Schema.Literals([90, 180]), 90, "Degrees of the field of view."),
  repeat_question: field(
    Schema.Boolean,
    false,
    "If true, every observation shows the question, for prompts that forget the first; if false, only the first one, as in RAGEN.",
  ),
  render_mode: renderMode,
}).check(
  Schema.makeFilter(({ n_objects, room_size: [width, height] }) =>
    n_objects + 1 > width * height
      ? { path: ["n_objects"], issue: `at most ${width * height - 1} in a ${width}x${height} room` }
      : undefined,
  ),
);
export type SpatialConfig = typeof SpatialConfig.Type;
