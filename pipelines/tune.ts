/**
 * The tune pipeline: short real runs, a machine fitted to them, a search in virtual time, real runs of the best, a table, and a run file with
 * what was found. A stop ends it with what is known so far.
 */
import { availableParallelism } from "node:os";
import { Effect } from "effect";
import { monotonicMillis } from "../src/domain/Instant.ts";
import { type ProgressBar, progressBar } from "../src/support/process/ProgressBar.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { withSettings } from "../src/tools/tuning/Space.ts";
import { Tuning } from "../src/tools/tuning/Tuning.ts";
import { withFittingThreads } from "./plan.ts";
import { probe } from "./probe.ts";
import { checkOutput, report, type TuneOptions } from "./tuningReport.ts";

export const tune = (options: TuneOptions, progress: ProgressBar = progressBar()) =>
  Effect.gen(function* () {
    yield* checkOutput(options);
    const { config, maxStaleness } = options;
    const fits = yield* withFittingThreads(config);
    const tuning = new Tuning({
      config,
      budget: options.budgetMinutes * 60_000,
      began: yield* monotonicMillis,
      cores: options.cores ?? availableParallelism(),
      maxStaleness,
      fits: (settings) => fits(withSettings(config, settings)),
      probe,
      show: progress.show,
    });
    const { requested } = yield* Stop.Stop;
    const stopped = yield* Effect.raceFirst(Effect.as(tuning.run, false), Effect.as(requested, true)).pipe(
      Effect.ensuring(Effect.sync(progress.close)),
    );
    yield* report(options, tuning.state, tuning.shipped, stopped);
  });
