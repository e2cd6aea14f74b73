/** The line: the run's stages in the order they are connected, from admission to the closed step. */
import { Effect } from "effect";
import { groupsOf } from "../config/levels.ts";
import { Admitter } from "../flow/admission/Admitter.ts";
import { Bus } from "../flow/Bus.ts";
import * as Pipeline from "../flow/Pipeline.ts";
import * as Seeds from "../rollout/seeds.ts";
import { Config, RolloutSetup } from "./RunContext.ts";
import * as Close from "./stages/close.ts";
import * as Filter from "./stages/filter.ts";
import * as Learn from "./stages/learn.ts";
import * as Rollout from "./stages/rollout.ts";
import * as Score from "./stages/score.ts";
import * as Window from "./stages/window.ts";

/** Suspends until the next group is admitted; ends with admission. In lockstep its episodes are announced to the barrier. */
const prompts = Effect.gen(function* () {
  const training = groupsOf(yield* Config, "train");
  const admitter = yield* Admitter;
  const { barrier } = yield* RolloutSetup;
  const { group_size } = training;
  const firstWindow = (yield* Bus).state().step;
  /** Groups of the newest window, or refill, that are still to be admitted. */
  let missing = 0;
  const cancelMissing = Effect.suspend(() =>
    barrier === null ? Effect.void : barrier.cancelExpected(missing * group_size),
  );
  return Effect.gen(function* () {
    const { group, level, pin, total, place, urgent, version, window } = yield* Effect.tapError(
      admitter.admit,
      () => cancelMissing,
    );
    missing = total - place - 1;
    if (barrier !== null && place === 0) yield* barrier.expect(total * group_size);
    const isUrgent = urgent === true || window === firstWindow;
    return {
      ...Seeds.promptOf(training, group, version, level),
      ...(isUrgent ? { urgent: true as const } : {}),
      ...(pin === undefined ? {} : { pin }),
    };
  });
});

/** The stages, connected. No step is closed before `startClosed` is done: the records of a run are in the order of its steps. */
export const make = Effect.fnUntraced(function* (startClosed: Effect.Effect<void>) {
  const stages = {
    rollout: yield* Rollout.make,
    window: yield* Window.make,
    score: yield* Score.make,
    filter: yield* Filter.make,
    learn: yield* Learn.make,
    close: yield* Close.make(startClosed),
  };
  const line = Pipeline.from(yield* prompts)
    .to(stages.rollout)
    .to(stages.window)
    .to(stages.score)
    .to(stages.filter)
    .to(stages.learn)
    .to(stages.close);
  return { run: line.run, stages };
});
