/** Treasure: the player (P) walks to the treasure (G). The pit (O) and too many steps end the episode without a reward. */
import { defineEnvironment, integer } from "millrace/env";

/** Each action moves so far within the text of the board, whose rows end with a line break. */
const moves = (size: number): Record<string, number> => ({ Up: -size - 1, Down: size + 1, Left: -1, Right: 1 });

export default defineEnvironment({
  type: "treasure",
  config: { size: integer(3, 9, { default: 4, about: "Rows and columns of the board." }) },
  reset: ({ size }, random) => {
    const cells = random.shuffle([..."PGO".padEnd(size * size, "_")]);
    const rows = Array.from({ length: size }, (_, row) => cells.slice(row * size, (row + 1) * size).join(""));
    return { board: rows.join("\n"), steps: 0 };
  },
  step: ({ size }, { board, steps }, action) => {
    const cells = [...board];
    const from = cells.indexOf("P");
    const to = from + (moves(size)[action] ?? 0);
    const found = cells[to] ?? "\n";
    if (found !== "\n") [cells[from], cells[to]] = ["_", "P"];
    const terminated = found === "G" || found === "O";
    const truncated = !terminated && steps + 1 >= 2 * size;
    const state = { board: cells.join(""), steps: steps + 1 };
    return { state, reward: found === "G" ? 1 : 0, terminated, success: found === "G", truncated };
  },
  render: (_config, { board }) => board,
  actions: ({ size }) => Object.keys(moves(size)),
});
