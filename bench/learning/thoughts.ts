/**
 * `node bench/learning/thoughts.ts TRAJECTORIES…` measures how true the thoughts of FrozenLake episodes are. It reads
 * `trajectories.jsonl`, for instance of `millrace evaluate`. It prints how the episodes ended, and the share of turns
 * whose thought names the player's and the goal's cell as the grid shows them. Of the holes beside the player it prints the share that the thought says
 * to avoid, and of all such warnings the share that is right. Success can rise while thoughts lose their content.
 */
import { readFileSync } from "node:fs";
import { readableSchemas } from "../../src/domain/EpisodeRecord.ts";

/** A line of trajectories.jsonl: one sequence of an episode; the outcome is the whole episode's. */
interface Line {
  readonly schema: number;
  readonly sequence: number;
  readonly success: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

const symbols = { player: "P", goal: "G" } as const;
type Label = keyof typeof symbols;
const labels = Object.keys(symbols) as readonly Label[];

/** Row and column of the first such cell of a grid, as thoughts spell them. */
const place = (grid: string, symbol: string): string | undefined =>
  grid
    .split("\n")
    .map((row, at) => (row.includes(symbol) ? `${at} ${row.indexOf(symbol)}` : undefined))
    .find((found) => found !== undefined);

const says = (grid: string, reply: string, label: Label): boolean => {
  const at = place(grid, symbols[label]);
  return at !== undefined && reply.includes(`${label} ${at}`);
};

/** A hole in the grid. */
const hole = "O";
const directions = { Left: [0, -1], Down: [1, 0], Right: [0, 1], Up: [-1, 0] } as const;

/** The directions in which a hole is beside the player. */
const holesBeside = (grid: string): readonly string[] => {
  const rows = grid.split("\n");
  const row = rows.findIndex((cells) => cells.includes(symbols.player));
  if (row < 0) return [];
  const column = rows[row]!.indexOf(symbols.player);
  return Object.entries(directions).flatMap(([name, [down, right]]) =>
    rows[row + down]?.[column + right] === hole ? [name] : [],
  );
};

/** The directions that a thought says to avoid, each once. */
const avoided = (reply: string): readonly string[] => [
  ...new Set([...reply.matchAll(/avoid (\w+)/g)].map(([, direction]) => direction!)),
];

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error("name the file of trajectories, e.g. runs/quickstart-evaluate/…/trajectories.jsonl");
  process.exit(2);
}
for (const file of files) {
  const sequences: readonly Line[] = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  const other = sequences.find(({ schema }) => !readableSchemas.includes(schema));
  if (other !== undefined) {
    console.error(`${file}: a line of schema ${other.schema ?? 1}; this reads ${readableSchemas.join(" and ")}`);
    process.exit(2);
  }
  const episodes = sequences.filter(({ sequence }) => sequence === 0);
  const turns = sequences.flatMap(({ messages }) =>
    messages.flatMap(({ role, content }, i) =>
      role === "user" ? [{ grid: content, reply: messages[i + 1]?.content ?? "" }] : [],
    ),
  );
  const share = (label: Label): string =>
    (turns.filter(({ grid, reply }) => says(grid, reply, label)).length / turns.length).toFixed(3);
  const success = (episodes.filter((episode) => episode.success).length / episodes.length).toFixed(3);
  console.log(`${file}: ${episodes.length} episodes, success ${success}`);
  console.log(
    `  thoughts name ${labels.map((label) => `the ${label} ${share(label)}`).join(", ")} of ${turns.length} turns`,
  );
  let [holes, warnings, right] = [0, 0, 0];
  for (const { grid, reply } of turns) {
    const [beside, named] = [holesBeside(grid), avoided(reply)];
    holes += beside.length;
    warnings += named.length;
    right += named.filter((direction) => beside.includes(direction)).length;
  }
  console.log(
    `  they name ${right} of ${holes} holes beside the player; ${right} of their ${warnings} warnings are right`,
  );
}
