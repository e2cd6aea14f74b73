/**
 * The flow of a training run: admitted prompts in, one consumed window at a time out, through rollout, window, score, filter, credit and
 * update. Each value says what the next stage needs, and every stage tells the bus what became of its groups.
 * Invariants: a group meets exactly one end; a window is consumed exactly once, trained on or not; nothing here waits by polling.
 */
import { Clock, Effect, Semaphore } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { type CreditedBatch, trainedTokens } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import { failureOf, type Group, groupTokens, isFailed, type Prompt, type ScoredWindow } from "../domain/Group.ts";
import * as Filter from "../filtering/filter.ts";
import { collate } from "../learner/collate.ts";
import { credit } from "../learner/credit.ts";
import { Learner, type UpdateReport } from "../learner/Learner.ts";
import { Policy } from "../policy/generation/Policy.ts";
import * as GroupProgram from "../rollout/group.ts";
import type { Mode, Rollout } from "../rollout/Rollout.ts";
import { score } from "../scoring/score.ts";
import * as Admission from "../stage/Admission.ts";
import type { Bus } from "../stage/Bus.ts";
import type { Gate } from "../stage/Gate.ts";
import * as Stage from "../stage/Stage.ts";
import * as WindowAssembler from "../stage/WindowAssembler.ts";

interface Scored {
  readonly window: WindowAssembler.Assembled;
  readonly scored: ScoredWindow;
}

/** A window after the filter's verdict. */
export interface Judged {
  readonly window: WindowAssembler.Assembled;
  readonly filtered: Filter.Filtered;
  readonly filterSeconds: number;
}

/** A judged window with its batch; null when nothing was kept. */
export interface Credited extends Judged {
  readonly batch: CreditedBatch | null;
  readonly valuesSeconds: number;
  /** Advantages and returns alone. */
  readonly creditSeconds: number;
}

/** What became of a window. */
export interface Consumed extends Credited {
  /** Version the batch was trained from. */
  readonly from: Version;
  /** Null when there was nothing to train on. */
  readonly report: UpdateReport | null;
  readonly updateSeconds: number;
  readonly emptyInARow: number;
}

const seconds = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, number], E, R> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const start = clock.monotonicTimeNanosUnsafe();
    const result = yield* effect;
    return [result, Number(clock.monotonicTimeNanosUnsafe() - start) / 1e9] as const;
  });

const ids = (groups: readonly { readonly prompt: Prompt }[]): readonly number[] =>
  groups.map(({ prompt }) => prompt.group);

/**
 * Groups in flight: all that admission allows. The slots bound their episodes (`Services.inSlots`), so that one straggler of a group does
 * not keep the slots of its finished members idle.
 */
export const rolloutConcurrency = (config: RunConfig, rules: Admission.Rules): number => {
  const { rollout_concurrency: given } = config.pipeline;
  return given > 0 && rules.mode !== "lockstep" ? given : (Admission.lead(rules) + 1) * rules.groups;
};

export interface FlowOptions<E, R> {
  readonly config: RunConfig;
  readonly rollout: Rollout;
  readonly mode: Mode;
  readonly bus: Bus;
  readonly gate: Gate;
  /** Index of the first window; more than 0 on resume. */
  readonly firstWindow: number;
  /** Empty selections in a row before the first window; more than 0 only on resume. */
  readonly emptyInARow: number;
  /** Held while a window is consumed, from before its update until its step is closed. */
  readonly consuming: Semaphore.Semaphore;
  /** Closes a step: records, validates, saves, before the next update starts. */
  readonly close: (consumed: Consumed) => Effect.Effect<void, E, R>;
}

/** The stages in the order they are connected. */
export const make = Effect.fnUntraced(function* <E, R>(options: FlowOptions<E, R>) {
  const { config, bus } = options;
  const { pipeline } = config;
  const inbox = pipeline.inbox;

  /** Tags that ran out of instances of their own. */
  const repeating = new Set<string>();
  const rollout = yield* Stage.flow({
    name: "rollout",
    inbox: 1,
    concurrency: rolloutConcurrency(config, options.gate.state().rules),
    run: Effect.fnUntraced(function* (prompt: Prompt) {
      const group = yield* GroupProgram.play(options.rollout, options.mode, prompt);
      const reason = failureOf(group);
      yield* bus.emit({
        _tag: "Finished",
        group: prompt.group,
        tokens: groupTokens(group),
        failed: isFailed(group),
        ...(reason === undefined ? {} : { reason }),
      });
      if (group.heldOut && !repeating.has(prompt.tag)) {
        repeating.add(prompt.tag);
        yield* bus.emit({ _tag: "ValidationRepeated", group: prompt.group, tag: prompt.tag });
      }
      return group;
    }),
  });

  let assembler = WindowAssembler.start(pipeline.window_order, config.es_manager.train.env_groups, options.firstWindow);
  const window = yield* Stage.gather({
    name: "window",
    inbox,
    run: (group: Group) =>
      Effect.sync(() => {
        const { state, windows } = WindowAssembler.observe(assembler, group);
        assembler = state;
        return windows;
      }),
    // What is left when admission closed early is no whole window; the run books it as dropped.
    rest: Effect.succeed([]),
  });

  const scored = yield* Stage.flow({
    name: "score",
    inbox: 1,
    concurrency: pipeline.score_concurrency,
    run: (item: WindowAssembler.Assembled) =>
      Effect.sync((): Scored => ({ window: item, scored: score(item, config.reward) })),
  });

  const filter = yield* Stage.flow({
    name: "filter",
    inbox: 1,
    concurrency: 1,
    run: Effect.fnUntraced(function* ({ window, scored }: Scored) {
      const [filtered, filterSeconds] = yield* seconds(Effect.sync(() => Filter.filter(scored, config.filter)));
      const kept = new Set(ids(filtered.kept));
      yield* bus.emit({
        _tag: "Verdict",
        window: window.index,
        kept: [...kept],
        filtered: ids(window.groups).filter((group) => !kept.has(group)),
      });
      const judged: Judged = { window, filtered, filterSeconds };
      return judged;
    }),
  });

  // One window at a time between its values and its update, so that values are always the current critic's.
  const learning = yield* Semaphore.make(1);
  const creditStage = yield* Stage.flow({
    name: "credit",
    inbox: 1,
    concurrency: 1,
    leave: Semaphore.take(learning, 1),
    run: Effect.fnUntraced(function* (judged: Judged) {
      const learner = yield* Learner;
      const { window, filtered } = judged;
      const tokens = collate(filtered.kept, {
        window: window.index,
        temperature: config.generation.temperature,
        keptRatio: filtered.keptRatio,
      });
      const nothing: Credited = { ...judged, batch: null, valuesSeconds: 0, creditSeconds: 0 };
      if (trainedTokens(tokens) === 0) return nothing;
      const [values, valuesSeconds] = yield* seconds(
        config.algorithm.adv_estimator === "gae"
          ? learner.values(tokens)
          : Effect.succeed(new Float32Array(tokens.ids.length)),
      );
      const options = { algorithm: config.algorithm, lossScaling: config.filter.loss_scaling };
      const [batch, creditSeconds] = yield* seconds(Effect.sync(() => credit(tokens, values, options)));
      const credited: Credited = { ...judged, batch, valuesSeconds, creditSeconds };
      return credited;
    }),
  });

  const limit = config.trainer.empty_stop_steps;
  let emptyInARow = options.emptyInARow;
  let version = options.gate.state().made;
  const update = yield* Stage.flow({
    name: "update",
    inbox: 1,
    concurrency: 1,
    run: Effect.fnUntraced(function* (credited: Credited) {
      const learner = yield* Learner;
      const { window, filtered, batch } = credited;
      const from = version;
      const kept = ids(filtered.kept);
      let report: UpdateReport | null = null;
      let updateSeconds = 0;
      if (batch === null) {
        if (kept.length > 0) {
          yield* bus.emit({ _tag: "UpdateSkipped", window: window.index, groups: kept, reason: "nothing was sampled" });
        } else {
          emptyInARow++;
          // Told first: the end of a window opens admission at once.
          if (limit > 0 && emptyInARow >= limit) yield* bus.emit({ _tag: "Stopped", reason: "empty_selections" });
          yield* bus.emit({ _tag: "EmptySelection", window: window.index, consecutive: emptyInARow });
        }
      } else {
        [report, updateSeconds] = yield* seconds(learner.update(batch));
        version = report.version;
        emptyInARow = 0;
        if (Admission.lead(options.gate.state().rules) === 0) {
          const policy = yield* Policy;
          yield* policy.awaitVersion(version);
          yield* bus.emit({ _tag: "WeightsAdopted", version });
        }
        yield* bus.emit(
          report.applied
            ? { _tag: "Updated", window: window.index, groups: kept, version }
            : { _tag: "UpdateSkipped", window: window.index, groups: kept, reason: "no gradient was finite" },
        );
      }
      yield* Semaphore.release(learning, 1);
      const consumed: Consumed = { ...credited, from, report, updateSeconds, emptyInARow };
      yield* options.close(consumed);
    }, options.consuming.withPermit),
  });

  return { rollout, window, score: scored, filter, credit: creditStage, update };
});
