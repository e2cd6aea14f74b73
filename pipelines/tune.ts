/**
 * The tune pipeline: short real runs, a machine fitted to them, a search in virtual time, real runs of the best, a table, and a run file with
 * what was found. A stop ends it with what is known so far.
 */
import { Clock, Effect } from "effect";
import { BadInput } from "../src/domain/Errors.ts";
import { readModelConfig } from "../src/policy/checkpoint/HuggingFaceFolder.ts";
import * as Stop from "../src/process/Stop.ts";
import { type Progress, progressOn } from "./progress.ts";
import { type TuneOptions, Tuning } from "./tuning.ts";
import { checkOutput, report } from "./tuningReport.ts";

export const tune = (options: TuneOptions, progress: Progress = progressOn()) =>
  Effect.gen(function* () {
    yield* checkOutput(options);
    const { config: model } = yield* Effect.mapError(
      readModelConfig(options.config.model.path),
      ({ message }) => new BadInput({ message }),
    );
    const tuning = new Tuning(options, model, progress, yield* Clock.currentTimeMillis);
    const { requested } = yield* Stop.Stop;
    const stopped = yield* Effect.raceFirst(Effect.as(tuning.run, false), Effect.as(requested, true)).pipe(
      Effect.ensuring(Effect.sync(progress.close)),
    );
    yield* report(options, tuning.known, tuning.shipped, stopped);
  });
