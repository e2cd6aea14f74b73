/**
 * Behaviour cloning of demonstrations. Episodes of all sources are drawn together, in an order that is a pure function of the run's seed;
 * the learner's thread takes one optimiser step a batch.
 * Invariants: a run that was stopped and goes on takes the same steps as one that was not; one that can take no more steps fails.
 */
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Episode, sampledTokens, totalTokens } from "../../domain/Episode.ts";
import type { LearnerError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import * as SkippedUpdates from "../../domain/SkippedUpdates.ts";
import type { StepFailure } from "../../env/contract/Environments.ts";
import type { CloningReport } from "../../learner/CloningUpdate.ts";
import { collate } from "../../learner/collate.ts";
import type { LearnerThread } from "../../learner/LearnerThread.ts";
import * as NotFiniteFailure from "../../learner/NotFiniteFailure.ts";
import { type Demonstrator, demonstrate, type Refusal, type Source } from "./Demonstration.ts";
import { demonstrateTools } from "./toolDemonstration.ts";

export interface CloningStep extends CloningReport {
  /** Steps count from 1. */
  readonly step: number;
  readonly lr: number;
}

/** Numbers of a source's episodes start here, so that no two sources share a stream. */
const sourceStride = 2 ** 24;

export interface Demonstrations {
  readonly episodes: readonly Episode[];
  /** Failures of environments, and replies that would not read back; each cost its demonstration. */
  readonly failures: readonly (StepFailure | Refusal)[];
}

/**
 * All demonstrations, `episodes` attempts of each source; instances that are excluded or cannot be solved give none. Solving is work of the
 * calling thread: between two episodes others, such as a stop, have their turn.
 */
export const demonstrations = Effect.fnUntraced(function* (
  demonstrator: Demonstrator,
  sources: readonly (Source & { readonly episodes: number })[],
) {
  const episodes: Episode[] = [];
  const failures: (StepFailure | Refusal)[] = [];
  for (const [index, source] of sources.entries()) {
    for (let n = 0; n < source.episodes; n++) {
      yield* Effect.yieldNow;
      const number = index * sourceStride + n;
      const dialogue = demonstrator.rollout.toolDialogues?.get(source.task.tag);
      const shown =
        dialogue === undefined
          ? demonstrate(demonstrator, source, number)
          : yield* demonstrateTools(demonstrator, source, dialogue, number);
      if (shown === null) continue;
      if ("_tag" in shown) failures.push(shown);
      else episodes.push(shown);
    }
  }
  const gathered: Demonstrations = { episodes, failures };
  return gathered;
});

/** Rises linearly over the warm-up, then falls linearly to a tenth. */
export const learningRate = ({ lr, lr_warmup_steps: warmup, steps }: RunConfig["sft"], step: number): number =>
  lr * Math.min(1, step / Math.max(1, warmup)) * (1 - 0.9 * (step / steps));

const batchOf = (episodes: readonly Episode[], index: number) =>
  collate(
    [
      {
        prompt: { group: 0, tag: "", seed: 0, size: episodes.length, admittedAt: 0 },
        episodes: episodes.map((episode, member) => ({
          episode: { ...episode, id: { group: 0, member } },
          score: 0,
        })),
        failures: [],
      },
    ],
    { window: index, temperature: 1, keptRatio: 1 },
  );

/**
 * Yields batches of one optimiser step each. Episodes of a chunk are sorted by length before they are cut into batches, so that little of a
 * batch is padding. The batches of a chunk are shuffled again. Episodes that do not fill a batch are left out, in each epoch others.
 */
export function* batches(
  episodes: readonly Episode[],
  size: number,
  seed: number,
): Generator<readonly Episode[], never> {
  const chunk = size * 16;
  for (let epoch = 0; ; epoch++) {
    const random = stream({ seed, purpose: "shuffle", counters: [epoch] });
    // Episodes are left out before sorting; afterwards they would always be the longest.
    const order = random.shuffle(episodes).slice(0, episodes.length - (episodes.length % size));
    for (let at = 0; at < order.length; at += chunk) {
      const sorted = order.slice(at, at + chunk).sort((a, b) => totalTokens(a) - totalTokens(b));
      const cut: Episode[][] = [];
      for (let i = 0; i < sorted.length; i += size) cut.push(sorted.slice(i, i + size));
      yield* random.shuffle(cut);
    }
  }
}

/** Mean negative log-likelihood of the replies of `episodes`, nats per token, under the learner's weights; nothing is trained. */
export const lossOf = Effect.fnUntraced(function* (
  learner: Pick<LearnerThread, "cloningLoss">,
  episodes: readonly Episode[],
  size: number,
) {
  let sum = 0;
  let tokens = 0;
  for (let at = 0; at < episodes.length; at += size) {
    const batch = episodes.slice(at, at + size);
    const targets = batch.reduce((total, episode) => total + sampledTokens(episode), 0);
    sum += ((yield* learner.cloningLoss(batchOf(batch, 0))) ?? 0) * targets;
    tokens += targets;
  }
  return sum / tokens;
});

/** The position of a cloning run, from which a resumed one goes on. */
export interface CloningProgress {
  /** Batches trained on. */
  readonly step: number;
  /** Steps in a row that were not applied, the last one included; null where it was. */
  readonly skipped: SkippedUpdates.SkippedUpdates | null;
}

/** The surroundings of a cloning run: its beginning, its end, and the receivers of its steps. */
export interface CloningHooks<E> {
  /** The position that this run begins at. */
  readonly from: CloningProgress;
  /** Gives true when the run is to end after the current step. */
  readonly stopped: Effect.Effect<boolean>;
  readonly report: (step: CloningStep) => Effect.Effect<void, LearnerError>;
  /** Saves the learner, every `sft.save_freq` steps and last. */
  readonly save: (progress: CloningProgress) => Effect.Effect<void, E>;
}

/**
 * Trains until `sft.steps` steps were taken in all, or a stop is asked for. Resolves to the steps taken. Fails with LearnerError, the weights
 * saved, after `trainer.max_skipped_updates` steps in a row that were not applied.
 */
export const clone = Effect.fn("Cloning.clone")(function* <E>(
  learner: Pick<LearnerThread, "clone">,
  episodes: readonly Episode[],
  config: RunConfig,
  { from, report, save, stopped }: CloningHooks<E>,
) {
  const { batch_size, save_freq, steps } = config.sft;
  const source = batches(episodes, Math.min(batch_size, episodes.length), config.run.seed);
  for (let done = 0; done < from.step; done++) source.next();
  let { skipped, step } = from;
  while (step < steps && !(yield* stopped)) {
    step++;
    const { value } = source.next();
    const lr = learningRate(config.sft, step);
    const result = yield* learner.clone(batchOf(value, step - 1), lr);
    yield* report({ ...result, step, lr });
    const { notFinite } = result;
    skipped = notFinite === null ? null : SkippedUpdates.extend(skipped, step);
    const failure = notFinite === null ? null : NotFiniteFailure.cloningFailure(config, skipped, notFinite);
    if (failure !== null) {
      yield* Effect.ignore(save({ step, skipped }));
      return yield* failure;
    }
    if (save_freq > 0 && step % save_freq === 0 && step < steps) yield* save({ step, skipped });
  }
  yield* save({ step, skipped });
  return step;
});
