/**
 * `node bench/learning/thoughts.ts TRAJECTORIES…` measures how true the thoughts of FrozenLake episodes are. It reads
 * `trajectories.jsonl`, for instance of `millrace evaluate`. It prints how the episodes ended, and the share of turns
 * whose thought names the player's and the goal's cell as the grid shows them. Then it prints in how many turns the thought lists the free ways beside the
 * player rightly. It also prints in how many its first step is one of those that it lists. Success can rise while thoughts lose their content.
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

/** The directions from the player that have neither a hole nor the edge, as a thought lists them. */
const freeWays = (grid: string): string => {
  const rows = grid.split("\n");
  const row = rows.findIndex((cells) => cells.includes(symbols.player));
  const column = rows[row]?.indexOf(symbols.player) ?? -1;
  const free = Object.entries(directions).filter(([, [down, right]]) => {
    const cell = rows[row + down]?.[column + right];
    return cell !== undefined && cell !== hole;
  });
  return free.map(([name]) => name).join(" ");
};

/** The free ways that a thought lists for its first step, and the step that it chooses. */
const firstStep = (reply: string): { readonly free: string; readonly chosen: string } | undefined => {
  const found = /free ((?:\w+ )*?)then (\w+)/.exec(reply);
  return found === null ? undefined : { free: found[1]!.trim(), chosen: found[2]! };
};

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
  const steps = turns.flatMap(({ grid, reply }) => {
    const step = firstStep(reply);
    return step === undefined ? [] : [{ ...step, grid }];
  });
  const isRight = steps.filter(({ free, grid }) => free === freeWays(grid)).length;
  const isNamed = steps.filter(({ chosen, free }) => free.split(" ").includes(chosen)).length;
  console.log(
    `  they list the free ways beside the player rightly in ${isRight} of ${turns.length} turns, and step on one that they list in ${isNamed}`,
  );
}
