/**
 * `node bench/learning/run.ts RUN_FILE [--seeds 0,1,2] [--modes async,sync,lockstep] [--keep FOLDER] [key.sub=value …]`:
 * trains a run file from scratch once per mode and seed, one after the other, and keeps each run's record (`record.ts`). With `--keep` the
 * last checkpoint of each is kept too, in FOLDER, for `ablation.ts` to start from.
 */
import { readArguments, refuse } from "../readArguments.ts";
import { train } from "./training.ts";

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "0,1,2" },
    modes: { type: "string", default: "async" },
    keep: { type: "string" },
  },
});
const [file = refuse("name a run file, e.g. quickstart"), ...overrides] = positionals;

for (const seed of values.seeds.split(",")) {
  for (const mode of values.modes.split(",")) {
    await train(
      file,
      [...overrides, `run.seed=${seed}`, `pipeline.mode=${mode}`],
      values.keep === undefined ? {} : { keep: values.keep },
    );
  }
}
