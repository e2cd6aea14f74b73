/** Runs whose training plays a preset with levels, over fakes: what is drawn, from which posterior, and that no order of time changes it. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { startingLag } from "../../src/config/fixedLag.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { startingSampler } from "../../src/config/taskSampler.ts";
import type { Event } from "../../src/domain/Event.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as TaskSampler from "../../src/domain/TaskSampler.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, type Fates, inFolder, newest, type Options, resume, train } from "./fakes.ts";

const tags = ["Reach:easy", "Reach:even", "Reach:hard"] as const;

const levelled = (changes: Tree = {}) =>
  reachConfig(
    merge(
      {
        trainer: { total_training_steps: 12 },
        custom_envs: { Reach: { env_type: "corridor", levels: { easy: {}, even: {}, hard: {} } } },
        es_manager: { train: { env_groups: 4, n_groups: [4], sampler: { by: "difficulty", cost: "none" } } },
      },
      changes,
    ),
  );

/** The level of each group of a run, learned from its events before its episodes are played. */
const levelsOf = () => {
  const levels = new Map<number, string>();
  const observe = (event: Event): void => {
    if (event._tag === "Admitted" && event.level !== undefined) levels.set(event.group, event.level);
  };
  /** Easy groups succeed, hard ones miss, and even ones are mixed. */
  const fates: Fates = (group, member) => {
    const level = levels.get(group);
    const succeeds = level === "Reach:easy" || (level === "Reach:even" && member === 0);
    return { turns: 1, end: succeeds ? "success" : "miss", replyMs: 1 + ((group * 7 + member * 3) % 11) };
  };
  return { levels, observe, fates };
};

const run = (config: Options["config"], changes: Partial<Options> = {}) =>
  inFolder((folder) => {
    const { fates, observe } = levelsOf();
    const resumed = RunState.startUnder(startingLag(config), startingSampler(config));
    return train({ config, folder, resumed, fates, onEvent: observe, ...changes });
  });

const drawnIn = (events: readonly Event[]) =>
  eventsOf(events, "Admitted")
    .map(({ group, level, window }) => ({ group, level, window }))
    .sort((a, b) => a.group - b.group);

describe("a run with levels", () => {
  it.live("plays what it draws from what it saw, and records it with each group", () =>
    Effect.gen(function* () {
      const config = levelled();
      const { events, records } = yield* run(config);
      const admitted = eventsOf(events, "Admitted");
      expect(admitted.every(({ level, probability }) => level !== undefined && (probability ?? 0) > 0)).toBe(true);
      const finished = new Map(eventsOf(events, "Finished").map(({ group, tag }) => [group, tag]));
      for (const { group, level } of admitted) expect(finished.get(group)).toBe(level);
      const last = Object.fromEntries(records.at(-1)!.metrics);
      const [easy, even, hard] = tags.map((tag) => last[`sampler/${tag}/probability`] ?? 0);
      expect(even).toBeGreaterThan(1.5 * Math.max(easy!, hard!));
      expect(last["sampler/Reach:easy/success"]).toBeGreaterThan(0.6);
      expect(last["sampler/Reach:hard/success"]).toBeLessThan(0.4);
      const shares = tags.map((tag) => last[`sampler/${tag}/share`] ?? 0);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
    }),
  );

  it.live("draws each window from the posterior after so many windows as its mode says", () =>
    Effect.gen(function* () {
      const modes: readonly [Tree, number][] = [
        [{ pipeline: { mode: "sync" } }, 0],
        [{ pipeline: { mode: "async", max_staleness: 2 } }, 2],
      ];
      for (const [mode, lead] of modes) {
        const config = levelled(mode);
        const { events } = yield* run(config);
        const posteriors: TaskSampler.Posterior[] = [{}];
        for (const event of events) {
          if (event._tag !== "Updated" && event._tag !== "EmptySelection" && event._tag !== "UpdateSkipped") continue;
          expect(event.levelResults).toBeDefined();
          posteriors.push(TaskSampler.update(posteriors.at(-1)!, event.levelResults!));
        }
        const weighing = { ...config.es_manager.train.sampler, groupSize: 2 };
        for (const { group, level, probability, window } of eventsOf(events, "Admitted")) {
          const weighed = TaskSampler.weigh(posteriors[Math.max(0, window - lead)]!, tags, weighing);
          const drawn = TaskSampler.draw(weighed, config.run.seed, group);
          expect([level, probability]).toEqual([drawn.tag, drawn.probability]);
        }
      }
    }),
  );

  it.live("draws the same at any speed in sync and under a fixed lag", () =>
    Effect.gen(function* () {
      const modes: readonly Tree[] = [
        { pipeline: { mode: "sync" } },
        { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 2 } },
      ];
      for (const mode of modes) {
        const config = levelled(mode);
        const slow = yield* run(config, { updateMs: 40 });
        const late = yield* run(config, { updateMs: 1, adoptMs: 30 });
        expect(drawnIn(late.events)).toEqual(drawnIn(slow.events));
      }
    }),
  );

  it.live("goes on from a checkpoint with the draws of a run that was never stopped", () =>
    Effect.gen(function* () {
      const config = levelled({ trainer: { save_freq: 1 } });
      const whole = drawnIn((yield* run(config)).events);
      const parts = yield* inFolder((folder) =>
        Effect.gen(function* () {
          const { fates, observe } = levelsOf();
          const resumed = RunState.startUnder(startingLag(config), startingSampler(config));
          const onEvent: Options["onEvent"] = (event, stop) => {
            observe(event);
            if (event._tag === "StepClosed" && event.step === 5) stop();
          };
          const before = yield* train({ config, folder, resumed, fates, onEvent });
          const { state } = yield* newest(folder);
          const after = yield* resume({ config, folder, fates, onEvent: observe });
          return { before, state, after };
        }),
      );
      expect(parts.state.taskSampler).not.toBeNull();
      const before = drawnIn(parts.before.events).filter(({ window }) => window < parts.state.step);
      expect([...before, ...drawnIn(parts.after.events)]).toEqual(whole);
    }),
  );

  it.live("plays each level as often under by: uniform", () =>
    Effect.gen(function* () {
      const config = levelled({
        trainer: { total_training_steps: 40 },
        es_manager: { train: { sampler: { by: "uniform" } } },
      });
      const { events } = yield* run(config);
      const admitted = eventsOf(events, "Admitted");
      for (const tag of tags) {
        const share = admitted.filter(({ level }) => level === tag).length / admitted.length;
        expect(Math.abs(share - 1 / 3)).toBeLessThan(0.12);
      }
    }),
  );

  it.live("has no sampler where no preset of training has levels", () =>
    Effect.gen(function* () {
      const { events } = yield* run(reachConfig());
      expect(eventsOf(events, "Admitted").some((event) => "level" in event)).toBe(false);
      expect(eventsOf(events, "Updated").some((event) => "levelResults" in event)).toBe(false);
    }),
  );
});
