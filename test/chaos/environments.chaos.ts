/** Environments that do harm in one step of ten: every run ends in its time, with its books balanced and the harm named. */
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { temporaryFolder } from "../temporaryFolder.ts";
import { survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const steps = 3;
const module = new URL("./mischief.ts", import.meta.url).pathname;

/** Each fault with the reason of its episode's end, as a pattern; null where it does no harm. */
const faults = [
  ["hang", "step_timeout"],
  ["wait", "step_timeout"],
  ["exit", "step_crashed"],
  ["abort", "step_crashed"],
  ["kill", "step_crashed"],
  ["memory", "step_(crashed|timeout)"],
  ["throw", "step_error"],
  ["reject", null],
  ["huge", "step_error"],
  ["nan", "step_error"],
] as const;

/** The embedded model, because only replies that are understood reach the environment. */
const words = (dir: string, fault: string) => [
  "train",
  "--config-name",
  "quickstart",
  `run.dir=${dir}`,
  "run.name=mischief",
  `custom_envs.FrozenLake.env_type=${module}`,
  `custom_envs.FrozenLake.env_config.fault=${fault}`,
  "custom_envs.FrozenLake.env_config.one_in=10",
  `trainer.total_training_steps=${steps}`,
  "trainer.val_before_train=false",
  "trainer.val_at_end=false",
  "trainer.trajectory_freq=1",
  "trainer.trajectory_groups=1000",
  "es_manager.train.env_groups=4",
  "es_manager.train.group_size=4",
  "actor.ppo_mini_batch_size=16",
  "pipeline.step_timeout_ms=1000",
  "metrics.console=plain",
];

/** Trains with a fault. Expects the run to end whole, and returns the outcomes of its episodes as text. */
const outcomesUnder = Effect.fnUntraced(function* (fault: string) {
  const dir = yield* temporaryFolder;
  const { code, stderr } = yield* Trial.outcome(words(dir, fault));
  expect([code, stderr]).toEqual([0, ""]);
  const folder = Trial.newestIn(join(dir, "mischief")) ?? "";
  survived(folder, steps);
  return Trial.linesOf(join(folder, "trajectories.jsonl")).map(({ outcome }) => JSON.stringify(outcome));
});

describe("an environment that does harm", () => {
  it.live.each(faults)("by %s costs its episodes, as %s, and no other", ([fault, reason]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const outcomes = yield* outcomesUnder(fault);
        const failed = outcomes.filter((outcome) => outcome.includes("Failed"));
        if (reason === null) expect(failed).toEqual([]);
        else expect(failed.filter((outcome) => new RegExp(reason).test(outcome)).length).toBeGreaterThan(0);
      }),
    ),
  );

  it.live("by changing the globals of its thread costs episodes, and never the run", () =>
    Effect.scoped(Effect.map(outcomesUnder("poison"), (outcomes) => expect(outcomes.length).toBeGreaterThan(0))),
  );

  it.live(
    "by answering never ends a run with pipeline.stall_abort_ms in its time, with one sentence and exit code 1",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const { code, ms, signal, stderr } = yield* Trial.outcome([
            ...words(dir, "wait"),
            "pipeline.step_timeout_ms=600000",
            "pipeline.step_spares=1",
            "pipeline.stall_abort_ms=3000",
          ]);
          expect(code, `${signal}: ${stderr}`).toBe(1);
          expect(stderr).toMatch(
            /^nothing has happened for 3\S* s, since \S+: rollout waits for (step|environments).*checkpoints\/step-\d$/m,
          );
          expect(ms).toBeLessThan(60_000);
          const folder = Trial.newestIn(join(dir, "mischief")) ?? "";
          expect(Trial.checkpointsOf(folder)).toHaveLength(1);
        }),
      ),
  );
});
