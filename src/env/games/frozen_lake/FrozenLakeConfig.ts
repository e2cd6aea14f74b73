/** `env_config` of FrozenLake; keys and defaults are RAGEN's. */
import * as Schema from "effect/Schema";
import { field, fraction, section } from "../../../config/field.ts";
import { distinctGlyphs, Glyph, gridVocab, imageRenderMode, observationFormat } from "../GridText.ts";
import { instances } from "../instances.ts";

/** The symbols of the cell codes 0 to 5. */
const GridLookup = Schema.Struct({
  "0": field(Glyph, "P", "Player."),
  "1": field(Glyph, "_", "Frozen cell, the start included."),
  "2": field(Glyph, "O", "Hole."),
  "3": field(Glyph, "G", "Goal."),
  "4": field(Glyph, "X", "Player in a hole."),
  "5": field(Glyph, "√", "Player on the goal."),
}).check(Schema.makeFilter(distinctGlyphs));

export const meanings = {
  "0": "player",
  "1": "empty",
  "2": "hole",
  "3": "goal",
  "4": "player in hole",
  "5": "player on goal",
} as const;

export const FrozenLakeConfig = Schema.Struct({
  size: field(Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 64 })), 4, "Rows and columns of the lake."),
  p: field(fraction, 0.9, "Probability that a cell is frozen, not a hole."),
  is_slippery: field(Schema.Boolean, true, "If true, the player may slide sideways."),
  success_rate: field(
    fraction,
    0.8,
    "On slippery ice, the probability of the intended direction; the rest is shared by the two perpendicular ones.",
  ),
  instances,
  observation_format: observationFormat,
  render_mode: imageRenderMode,
  grid_lookup: section(GridLookup, "Symbol of each cell code."),
  grid_vocab: gridVocab,
});
export type FrozenLakeConfig = typeof FrozenLakeConfig.Type;
