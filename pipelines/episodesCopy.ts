/** RAGEN's `output` block: a copy of an evaluation's episodes under a name and in a folder of the user's. */
import { join, parse, resolve } from "node:path";
import { Clock, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { timeStamp } from "../src/observe/record/RunFolder.ts";
import { replaceText } from "../src/support/files/AtomicWrite.ts";
import * as EpisodeLine from "../src/tools/evaluation/EpisodeLine.ts";
import type { EvaluatedEpisode } from "../src/tools/evaluation/EvaluatedEpisode.ts";

/** The file's name; `player` is part of it where several play. */
export const nameOf = ({ append_timestamp, filename }: RunConfig["output"], player: string | null, now: number) => {
  const { ext, name } = parse(filename);
  const parts = [name, ...(player === null ? [] : [player]), ...(append_timestamp ? [timeStamp(now)] : [])];
  return `${parts.join("_")}${ext === "" || ext === ".pkl" ? ".jsonl" : ext}`;
};

/** Writes the copy, where one is asked for; what to say of it. `player` as in `nameOf`. */
export const writeCopy = Effect.fnUntraced(function* (
  { es_manager, output }: RunConfig,
  player: string | null,
  episodes: readonly EvaluatedEpisode[],
) {
  if (output.dir === "") return [];
  const path = join(resolve(output.dir), nameOf(output, player, yield* Clock.currentTimeMillis));
  const size = es_manager.val.group_size;
  const lines = episodes.map((episode) => `${JSON.stringify(EpisodeLine.write(episode, size))}\n`);
  yield* replaceText(path, lines.join("")).pipe(
    Effect.mapError(({ message }) => new BadInput({ message: `output.dir: cannot write ${message}` })),
  );
  return [`a copy in ${path}`];
});
