/**
 * Writes a row-major board as observation text, in one of RAGEN's three formats (`grid`: rows of symbols; `coord`: labelled coordinates;
 * `grid_coord`: both), and the legend that explains exactly what the format shows.
 */
import * as Schema from "effect/Schema";
import { field } from "../../config/field.ts";

export const observationFormats = ["grid", "coord", "grid_coord"] as const;
export type ObservationFormat = (typeof observationFormats)[number];

export const observationFormat = field(
  Schema.Literals(observationFormats),
  "grid",
  "Observation: rows of symbols, labelled coordinates, or both.",
);

export const renderMode = field(Schema.Literals(["text"]), "text", "Form of the observations; only text.");

/** The key `render_mode` of the grids that RAGEN also draws as images. */
export const imageRenderMode = field(
  Schema.Literals(["text", "rgb_array"]),
  "text",
  "Form of the observations: text. rgb_array is accepted in a run file, but a run with it does not start, because there are no images.",
);

/** The `lacks` of a grid: images are missing, because policies read text only. */
export const lacksImages = async ({
  render_mode,
}: {
  readonly render_mode: "text" | "rgb_array";
}): Promise<readonly string[]> =>
  render_mode === "text"
    ? []
    : [
        "env_config.render_mode: rgb_array shows images, and models here read text only; env_config.render_mode=text plays the same instances",
      ];

/** A symbol of one printed character. */
export const Glyph = Schema.String.check(Schema.isBetweenCodePoints(1, 1), Schema.isPattern(/^\S$/u));

/** RAGEN's key `grid_vocab`: meanings by symbol, in place of the standard words. */
export const gridVocab = field(
  Schema.Record(Schema.String, Schema.NonEmptyString),
  {},
  "Meanings by symbol; a symbol that is not named keeps its standard meaning.",
);

/** Checks that the symbols of a table are pairwise different; the error names two that are not. */
export const distinctGlyphs = (lookup: Readonly<Record<string, string>>): string | undefined => {
  const codesByGlyph = new Map<string, string>();
  for (const [code, glyph] of Object.entries(lookup)) {
    const earlier = codesByGlyph.get(glyph);
    if (earlier !== undefined) return `cells ${earlier} and ${code} both show "${glyph}"`;
    codesByGlyph.set(glyph, code);
  }
  return undefined;
};

/** Joins glyphs to rows of `cols` glyphs each. */
export const gridText = (cols: number, glyphs: readonly string[]): string => {
  const rows: string[] = [];
  for (let start = 0; start < glyphs.length; start += cols) rows.push(glyphs.slice(start, start + cols).join(""));
  return rows.join("\n");
};

/** A label and its cells, as indices into the row-major board. */
export type LabelledCells = readonly [label: string, cells: readonly number[]];

/** Writes the board's size, then one line per label that has cells; coordinates are (row, column) from zero. */
export const coordinateText = (rows: number, cols: number, located: readonly LabelledCells[]): string => {
  const lines = [`Board size: ${rows} rows x ${cols} cols (zero-indexed).`];
  for (const [label, cells] of located) {
    if (cells.length === 0) continue;
    lines.push(`${label}: ${cells.map((cell) => `(${Math.floor(cell / cols)}, ${cell % cols})`).join(", ")}`);
  }
  return lines.join("\n");
};

/** The observation in a format, from its two parts. */
const observationText = (format: ObservationFormat, grid: () => string, coordinates: () => string): string => {
  switch (format) {
    case "grid":
      return grid();
    case "coord":
      return coordinates();
    case "grid_coord":
      return `Coordinates: \n${coordinates()}\nGrid Map: \n${grid()}`;
  }
};

interface LegendParts {
  readonly format: ObservationFormat;
  readonly rows: number;
  readonly cols: number;
  /** The symbol and the standard meaning of every cell code, in order. */
  readonly symbols: readonly (readonly [glyph: string, meaning: string])[];
  /** Meanings that replace the standard ones. */
  readonly vocab: Readonly<Record<string, string>>;
}

/** Explains symbols if the format shows symbols, and coordinates if it shows coordinates. */
const legendText = ({ format, rows, cols, symbols, vocab }: LegendParts): string => {
  const lines: string[] = [];
  if (format !== "coord") {
    lines.push("The meaning of each symbol in the state is:");
    lines.push(symbols.map(([glyph, meaning]) => `${glyph}: ${vocab[glyph] ?? meaning}`).join(", "));
  }
  if (format !== "grid") {
    lines.push(
      `Coordinates are (row, column), counted from zero: (0, 0) is the top-left corner, (${rows - 1}, ${cols - 1}) the bottom-right corner.`,
    );
  }
  return lines.join("\n");
};

/** The parts from which the texts of an environment on a grid are made. */
export interface GridTexts<Config, State, Code extends string> {
  readonly size: (config: Config) => readonly [rows: number, cols: number];
  readonly grid: (config: Config, state: State) => string;
  readonly coordinates: (config: Config, state: State) => string;
  /** The cell codes in the legend's order, and their standard meanings. */
  readonly codes: readonly Code[];
  readonly meanings: Readonly<Record<Code, string>>;
}

interface GridConfig<Code extends string> {
  readonly observation_format: ObservationFormat;
  readonly grid_lookup: Readonly<Record<Code, string>>;
  readonly grid_vocab: Readonly<Record<string, string>>;
}

/**
 * Makes the observation, the compact observation and the legend of an environment on a grid. The compact observation is the grid alone, or the
 * coordinates where the observation has no grid.
 */
export const gridViews = <Config extends GridConfig<Code>, State, Code extends string>({
  codes,
  coordinates,
  grid,
  meanings,
  size,
}: GridTexts<Config, State, Code>) => ({
  render: (config: Config, state: State): string =>
    observationText(
      config.observation_format,
      () => grid(config, state),
      () => coordinates(config, state),
    ),
  compact: (config: Config, state: State): string =>
    config.observation_format === "coord" ? coordinates(config, state) : grid(config, state),
  legend: (config: Config): string => {
    const [rows, cols] = size(config);
    const symbols = codes.map((code) => [config.grid_lookup[code], meanings[code]] as const);
    return legendText({ format: config.observation_format, rows, cols, symbols, vocab: config.grid_vocab });
  },
});

/** Writes `name row col` for each cell, for thoughts; small models read single words best. */
export const placeText = (cols: number, name: string, cells: readonly number[]): string =>
  cells.map((cell) => `${name} ${Math.floor(cell / cols)} ${cell % cols}`).join(" ");
