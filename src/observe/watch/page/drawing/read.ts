/** The picture of a state from a user message; null of environments without pictures and of texts that do not read. */
import type { Scene } from "../../Api.ts";
import { readCube } from "./cube.ts";
import type { Drawing } from "./Drawing.ts";
import { readLake } from "./frozenLake.ts";
import { read2048 } from "./game2048.ts";
import { readSokoban } from "./sokoban.ts";
import { readSudoku, withGivens } from "./sudoku.ts";

const ragenTurn =
  /(?:^|\n)Turn \d+:\nState:\n([\s\S]*?)\n(?:No valid action provided previously\.[^\n]*\n)?You have -?\d+ actions left\. /;
const compactTurn = /^([\s\S]*)\n\d+\n?$/;

/** Texts that may be the state, the likeliest first. */
export const stateTexts = (message: string): readonly string[] =>
  [message, ragenTurn.exec(message)?.[1], compactTurn.exec(message)?.[1]].filter((text) => text !== undefined);

type Read = (text: string, config: Scene["env_config"]) => Drawing | null;

const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  ["sokoban", readSokoban],
  ["frozen_lake", readLake],
  ["game_2048", read2048],
  ["sudoku", readSudoku],
  ["rubikscube", readCube],
]);

/** `first` is the message of the episode's first turn, which shows the numbers that the puzzle gave. */
export const drawingOf = (scene: Scene | null, message: string, first?: string): Drawing | null => {
  const read = scene === null ? undefined : readers.get(scene.env_type);
  if (scene === null || read === undefined) return null;
  for (const text of stateTexts(message)) {
    const drawing = read(text, scene.env_config);
    if (drawing === null) continue;
    if (drawing.kind !== "sudoku" || first === undefined) return drawing;
    const opening = drawingOf(scene, first);
    return opening?.kind === "sudoku" ? withGivens(drawing, opening) : drawing;
  }
  return null;
};
