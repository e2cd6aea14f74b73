/** Sokoban rooms drawn as rows of standard symbols joined by "/". */
import type { SokobanState } from "../../../../src/env/games/sokoban/Sokoban.ts";
import { SokobanConfig } from "../../../../src/env/games/sokoban/SokobanConfig.ts";
import { configsOf } from "../../../build/config.ts";

export const configWith = configsOf(SokobanConfig, { num_boxes: 1 });

export interface Drawn {
  readonly rows: number;
  readonly cols: number;
  readonly state: SokobanState;
}

export const room = (drawing: string, steps = 0): Drawn => {
  const lines = drawing.split("/");
  const cells = [...lines.join("")];
  const where = (symbols: string): number[] => cells.flatMap((cell, index) => (symbols.includes(cell) ? [index] : []));
  const layout = cells.map((cell) => (cell === "#" ? "0" : "O√S".includes(cell) ? "2" : "1")).join("");
  return {
    rows: lines.length,
    cols: lines[0]!.length,
    state: { layout, player: where("PS")[0]!, boxes: where("X√"), steps },
  };
};
