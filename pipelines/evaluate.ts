/** The evaluate pipeline: validation only. Writes a run's folder with every trajectory and a summary, and the summary to stdout. */
import { join } from "node:path";
import { Console, Effect, Layer } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import type { BadInput, EnvironmentError, PolicyError } from "../src/domain/Errors.ts";
import { toRecord } from "../src/domain/metrics/Metrics.ts";
import * as Backend from "../src/engine/Backend.ts";
import * as Validation from "../src/engine/Validation.ts";
import { Policy } from "../src/policy/generation/Policy.ts";
import * as Model from "../src/policy/Model.ts";
import * as RunFolder from "../src/record/RunFolder.ts";
import * as Sampled from "../src/record/sampled.ts";
import * as Trajectories from "../src/record/Trajectories.ts";
import { boundEnvironments } from "./presets.ts";

export interface EvaluateOptions {
  readonly config: RunConfig;
}

export const evaluate = ({ config }: EvaluateOptions): Effect.Effect<void, BadInput | PolicyError | EnvironmentError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const environments = yield* boundEnvironments(config, [...new Set(config.es_manager.val.tags)]);
      const model = yield* Model.load(config.model.path);
      yield* Model.checkContext(config, model);
      const folder = yield* RunFolder.create(config.run.dir, `${config.run.name}-evaluate`, render(config));
      const generator = yield* Backend.generator(config, model, 0);
      const pool = yield* Layer.build(Backend.environmentsLayer(config, environments));
      const rollout = Backend.rollout(config, model, environments);
      const { groups, metrics } = yield* Validation.play(config, rollout, 0).pipe(
        Effect.provideService(Policy, generator),
        Effect.provideContext(pool),
      );
      yield* Trajectories.append(folder, Sampled.ofValidation(groups, 0, Number.POSITIVE_INFINITY, rollout.pieces));
      yield* RunFolder.appendLine(join(folder.path, "summary.json"), toRecord(metrics));
      const width = Math.max(...Array.from(metrics.keys(), (name) => name.length));
      for (const [name, value] of metrics) yield* Console.log(`${name.padEnd(width)}  ${value.toFixed(4)}`);
      yield* Console.log(`${groups.length} groups; trajectories in ${folder.trajectories}`);
    }),
  );
