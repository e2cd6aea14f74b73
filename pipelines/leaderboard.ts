/** `millrace leaderboard`: one HTML page of all evaluations below some folders, a table for each benchmark. */
import { basename, dirname, relative, resolve } from "node:path";
import { Clock, Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { replaceText } from "../src/support/files/AtomicWrite.ts";
import { readSummary } from "../src/tools/evaluation/EvaluationFolder.ts";
import { benchmarks, type LeaderboardEntry, leaderboard as page } from "../src/tools/evaluation/leaderboard.ts";
import { evaluationsIn } from "./evaluationsIn.ts";
import { existingFolder } from "./paths.ts";

/** Levels of folders that are searched: a folder of runs holds names, these hold times, these models. */
const deepest = 5;

/** Its place below the folder that was asked for: no path of this machine goes into the page. */
const originOf = (root: string, folder: string): string => relative(dirname(root), folder) || basename(folder);

const entriesIn = Effect.fnUntraced(function* (word: string) {
  const root = yield* existingFolder("DIR", word);
  const found = yield* Effect.forEach(evaluationsIn(root, deepest), (folder) =>
    Effect.map(readSummary(folder), (summary): readonly LeaderboardEntry[] =>
      summary === null ? [] : [{ summary, origin: originOf(root, folder) }],
    ),
  );
  return found.flat();
});

/** Writes the page; returns lines that report it. */
export const leaderboard = Effect.fnUntraced(function* (options: {
  readonly folders: readonly string[];
  readonly output: string;
  readonly title: string;
}) {
  const entries = (yield* Effect.forEach(options.folders, entriesIn)).flat();
  const found = benchmarks(entries);
  if (found.length === 0) {
    const message = `leaderboard: ${options.folders.map(showValue).join(", ")}: no evaluation with a summary and a finished episode lies there; millrace evaluate makes one`;
    return yield* new BadInput({ message });
  }
  const path = resolve(options.output);
  yield* replaceText(path, page(entries, options.title, yield* Clock.currentTimeMillis)).pipe(
    Effect.mapError(({ message }) => new BadInput({ message: `--output: cannot write ${message}` })),
  );
  const tables = found.length;
  return [`${path}: ${found.flat().length} results in ${tables} ${tables === 1 ? "table" : "tables"}`];
});
