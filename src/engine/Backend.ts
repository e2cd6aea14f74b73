/** The threads of a run as services, alive as long as their scope: generators and a learner over a model, environments over their presets. */
import { Context, Effect, Layer, type Scope } from "effect";
import { isAgentTag } from "../config/agentForms.ts";
import { allPlayedTags } from "../config/levels.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { BadInput, LearnerError, PolicyError } from "../domain/Errors.ts";
import type { Introduction } from "../env/contract/AsyncEnvironment.ts";
import { Policy } from "../generation/Policy.ts";
import { Learner } from "../learner/Learner.ts";
import type { Model } from "../model/Model.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import type { GroupPlayers } from "../remote/workers/groupPlayers.ts";
import * as Rollout from "../rollout/Rollout.ts";
import { tasksOf } from "../rollout/Task.ts";
import { openToolDialogues } from "../rollout/tools/openToolDialogues.ts";
import { CustomModels, checkCustomModels } from "./CustomModels.ts";
import { generator } from "./generator.ts";
import { learner } from "./learner.ts";

/** Fails when a thread that the run cannot do without is gone. */
export class ThreadFailure extends Context.Service<ThreadFailure, Effect.Effect<never, PolicyError | LearnerError>>()(
  "millrace/engine/ThreadFailure",
) {}

/** Tags of a run's environments, each once. */
export const tagsOf = (config: RunConfig): readonly string[] =>
  allPlayedTags(config).filter((tag) => !isAgentTag(config.agent, tag));

export interface ModelsOptions {
  readonly config: RunConfig;
  /** The run's starting weights; a KL loss is taken against them. */
  readonly start: Model;
  /** The weights to go on from. */
  readonly current: Model;
  readonly version: Version;
  /** Versions before it, ascending, which open windows of a fixed lag are played by; default none. */
  readonly earlier?: readonly EarlierVersion[];
  /** Folder of the checkpoint to restore the learner from; null for a new run. */
  readonly restore: string | null;
  /** The run's folder. */
  readonly folder: string;
}

const alone: GroupPlayers = { context: Context.empty(), ports: [], died: Effect.never };

/** Opens what plays groups beside this process. Without the address of a broker nothing is started, and nothing of it is loaded. */
const remotePlayersOf = Effect.fnUntraced(function* (config: RunConfig, model: Model, version: Version) {
  if (config.pipeline.workers.url === "") return alone;
  const { openGroupPlayers } = yield* Effect.promise(() => import("../remote/workers/groupPlayers.ts"));
  return yield* openGroupPlayers(config, model, version);
});

/** The learner, whose updates wait in a replay until the replies of the windows before theirs were sampled again. */
const afterRecord = (
  learner: Context.Service.Shape<typeof Learner>,
  { recorded }: CustomModels,
): Context.Service.Shape<typeof Learner> =>
  recorded === undefined
    ? learner
    : { ...learner, update: (window) => Effect.andThen(recorded.beforeUpdate, learner.update(window)) };

/** Policy and learner: new weights go from one to the other without the main thread. Fails as `bad_checkpoint` where `restore` cannot be read. */
export const modelsLayer = ({ config, current, earlier = [], folder, restore, start, version }: ModelsOptions) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const custom = yield* CustomModels;
      yield* checkCustomModels(config, custom);
      const policy = yield* generator(config, current, version, folder, {
        custom: custom.policy,
        recorded: custom.recorded?.generator,
        earlier,
      });
      const remotePlayers = yield* remotePlayersOf(config, current, version);
      const learnerThread = yield* learner({
        config,
        custom,
        start,
        current,
        version,
        restore,
        ports: [...policy.ports, ...remotePlayers.ports],
      });
      return Context.add(remotePlayers.context, Policy, policy).pipe(
        Context.add(Learner, afterRecord(learnerThread, custom)),
        Context.add(ThreadFailure, Effect.raceAllFirst([policy.died, learnerThread.died, remotePlayers.died])),
      );
    }),
  );

/** The tasks, texts and dialogues of a run. Fails with BadInput where tools cannot be offered to the model. */
export const makeRollout = Effect.fnUntraced(function* (
  config: RunConfig,
  { chat, tokenizer }: Pick<Model, "chat" | "tokenizer">,
  texts: ReadonlyMap<string, Introduction>,
  players: ReadonlyMap<string, Rollout.PlayGroup> = new Map(),
): Effect.fn.Return<Rollout.Rollout, BadInput, Scope.Scope> {
  const tasks = tasksOf(config.custom_envs, texts);
  const toolDialogues = yield* openToolDialogues(config, tasks, tokenizer);
  return { ...Rollout.make(config, tasks, chat, tokenizer), players, toolDialogues };
});
