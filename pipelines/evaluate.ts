/**
 * The evaluate pipeline: plays the validation instances by a checkpoint, by a chat endpoint, or by each of a list, in a run's folder that has every
 * episode and a summary. What finishes is kept at once, so that an evaluation that was cut short goes on from its folder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Console, Effect, Layer, Result } from "effect";
import { isAgentTag } from "../src/config/agentForms.ts";
import { playedTags } from "../src/config/levels.ts";
import { playersOf, singlePlayerConfigs } from "../src/config/players.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import { BadInput, type EnvironmentError, type PolicyError } from "../src/domain/Errors.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import * as RunLock from "../src/observe/record/RunLock.ts";
import { replaceText } from "../src/support/files/AtomicWrite.ts";
import type { EndpointStopped } from "../src/tools/endpoints/Chat.ts";
import { episodesFile } from "../src/tools/evaluation/EvaluationFolder.ts";
import { comparedLines } from "./compare.ts";
import { type EvaluatedModel, evaluateOne } from "./evaluateOne.ts";
import { evaluationsIn } from "./evaluationsIn.ts";
import { playedEnvironments } from "./presets.ts";

export interface EvaluateOptions {
  readonly config: RunConfig;
  /** Folder of an evaluation to go on with. */
  readonly resume?: string | null;
}

/** The folder of one model of a list, made where it is missing. One that is there keeps its configuration until the model was evaluated. */
const folderOf = Effect.fnUntraced(function* (parent: string, name: string, config: RunConfig) {
  const path = join(parent, name);
  const file = join(path, "config.yaml");
  if (!existsSync(file)) {
    yield* replaceText(file, render(config)).pipe(
      Effect.mapError(({ message }) => new BadInput({ message: `cannot write ${message}` })),
    );
  }
  return yield* RunFolder.open(path);
});

/** Every model of the list, one after the other, and one table of all. One that fails does not keep the others from playing. */
const evaluateAll = Effect.fnUntraced(function* (
  config: RunConfig,
  folder: typeof RunFolder.RunFolder.Service,
  environments: Pool.RunEnvironments,
) {
  const players = playersOf(config);
  const folders: string[] = [];
  const evaluated: EvaluatedModel[] = [];
  let failure: BadInput | PolicyError | EnvironmentError | EndpointStopped | null = null;
  for (const [index, single] of singlePlayerConfigs(config).entries()) {
    const player = players[index];
    if (player === undefined) continue;
    const playerFolder = yield* folderOf(folder.path, player.name, single);
    yield* Console.log(`\n${player.name}`);
    const result = yield* Effect.result(evaluateOne(single, player, playerFolder, environments, true));
    if (Result.isFailure(result)) {
      failure ??= result.failure;
      yield* Console.error(`${player.name}: ${result.failure.message}`);
    } else {
      yield* RunFolder.replaceConfig(playerFolder, render(single));
      evaluated.push(result.success);
    }
    if (existsSync(join(playerFolder.path, episodesFile))) folders.push(playerFolder.path);
  }
  const lines = folders.length > 1 ? yield* comparedLines(folders) : [];
  yield* Effect.forEach(["", ...lines], (line) => Console.log(line), { discard: true });
  if (failure !== null) return yield* failure;
  return evaluated;
});

/** The folder of an evaluation to go on with; that of a training is bad input. */
const reopenFolder = Effect.fnUntraced(function* (path: string) {
  const folder = yield* RunFolder.open(path);
  if (!existsSync(folder.metrics)) return folder;
  const message = `--resume: ${path}: a training run; millrace evaluate --config-name NAME model.path=CHECKPOINT plays one of its checkpoints`;
  return yield* new BadInput({ message });
});

/** Plays all that the configuration names, in a folder that nobody else writes. */
const playIn = Effect.fnUntraced(function* (
  config: RunConfig,
  folder: typeof RunFolder.RunFolder.Service,
  environments: Pool.RunEnvironments,
) {
  yield* RunLock.hold(folder.path);
  const pool = yield* Layer.build(Pool.layer(config, environments, gamesUrl));
  const [player] = playersOf(config);
  const play =
    config.evaluation.models.length > 0 || player === undefined
      ? evaluateAll(config, folder, environments)
      : Effect.map(evaluateOne(config, player, folder, environments, false), (evaluated) => [evaluated]);
  return yield* Effect.provideContext(play, pool);
});

/** Tags of the environments that a validation plays, each once. */
const validationTags = (config: RunConfig): readonly string[] =>
  playedTags(config, "val").filter((tag) => !isAgentTag(config.agent, tag));

/** Returns each model that was evaluated, in the order of the list. */
export const evaluate = ({
  config,
  resume = null,
}: EvaluateOptions): Effect.Effect<
  readonly EvaluatedModel[],
  BadInput | PolicyError | EnvironmentError | EndpointStopped
> =>
  Effect.scoped(
    Effect.gen(function* () {
      const environments = yield* playedEnvironments(config, validationTags(config));
      if (resume === null) {
        const { dir, name } = config.run;
        const created = yield* RunFolder.createScoped(
          { dir, name: `${name}-evaluate`, resolvedConfig: render(config) },
          ({ path }) => evaluationsIn(path, 1).length > 0,
        );
        return yield* playIn(config, created, environments);
      }
      const folder = yield* reopenFolder(resume);
      const evaluated = yield* playIn(config, folder, environments);
      yield* RunFolder.replaceConfig(folder, render(config));
      return evaluated;
    }),
  );
