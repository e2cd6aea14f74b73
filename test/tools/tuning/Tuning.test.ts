/**
 * Tuning whole, against a simulator of its own assumptions: what it takes for real runs is played by test/tools/tuning/synthetic.ts, on the machine
 * that tuning fits and by the code with which it predicts; a test clock goes on by what they took. So this shows the order of its work, its
 * budget and that fit and prediction invert each other. It does not show that a real machine behaves so: test/pipelines/tune.test.ts tunes over
 * real threads, and docs/lab/tuning.md has predicted beside measured paces.
 */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import { isEnough, isWarm } from "../../../src/tools/tuning/Effort.ts";
import type { ObservedRun } from "../../../src/tools/tuning/ObservedRun.ts";
import { settling } from "../../../src/tools/tuning/Predict.ts";
import { sameSettings, settingsOf, withSettings } from "../../../src/tools/tuning/Space.ts";
import { type Probe, Tuning } from "../../../src/tools/tuning/Tuning.ts";
import { tinyConfig } from "../../build/tinyConfig.ts";
import { machine, observe, settings, workload } from "./synthetic.ts";

const base = tinyConfig("/nowhere");
const config = withSettings(
  {
    ...base,
    es_manager: {
      ...base.es_manager,
      train: { ...base.es_manager.train, env_groups: workload.groups, group_size: 8 },
    },
    actor: { ...base.actor, ppo_mini_batch_size: workload.miniBatch },
  },
  { ...settings, slots: 8, lanes: 1, microBatchTokens: 512 },
);

/** Simulates a probe's run, as soon as it is long enough. */
const simulated = ({ config, length, rows }: Probe, seen: ObservedRun) => {
  let [warmUp, elapsed, windows] = [undefined as number | undefined, 3_000, 0];
  const mean = seen.windows.reduce((sum, { time }) => sum + time, 0) / seen.windows.length;
  do {
    windows++;
    elapsed += mean;
    if (warmUp === undefined && isWarm(length, { windows, elapsed })) warmUp = windows;
  } while (!isEnough(length, { windows, elapsed }, warmUp));
  return { elapsed, observed: observe(machine, settingsOf(config), windows - (warmUp ?? 0) || 1, rows) };
};

const tuned = Effect.fnUntraced(function* (minutes: number) {
  const probes: Probe[] = [];
  const shown: string[] = [];
  const tuning = new Tuning({
    config,
    budget: minutes * 60_000,
    began: 0,
    cores: 2,
    maxStaleness: null,
    fits: ({ generatorThreads, microBatchTokens, slots }) =>
      generatorThreads === 1 && slots <= 16 && microBatchTokens <= 1024,
    probe: (probe) =>
      Effect.gen(function* () {
        probes.push(probe);
        const { elapsed, observed } = simulated(probe, observe(machine, settingsOf(probe.config), 2));
        yield* TestClock.adjust(elapsed);
        return observed;
      }),
    show: (_, text) => void shown.push(text),
  });
  yield* TestClock.setTime(0);
  yield* tuning.run;
  return { asked: probes, known: tuning.state, shown };
});

/** With a budget of two minutes, once for all tests that look at it. */
const tunedInTwo = Effect.runSync(Effect.cached(tuned(2)));

describe("tuning against a simulator of its own assumptions", () => {
  it.effect("confirms no settings under two names, and counts no probe as a measurement", () =>
    Effect.gen(function* () {
      const { known, shown } = yield* tunedInTwo;
      const { results } = known;
      expect(results.length).toBeGreaterThan(1);
      for (const [i, { settings }] of results.entries()) {
        expect(results.findIndex((other) => sameSettings(other.settings, settings))).toBe(i);
      }
      const runs = results.reduce((sum, { measured }) => sum + measured.length, 0);
      expect(runs).toBe(shown.filter((text) => /^confirming, run \d+ of \d+$/.test(text)).length);
      expect(
        known.others.filter(({ settings }) => results.some((one) => sameSettings(one.settings, settings))),
      ).toEqual([]);
    }),
  );

  it.effect("predicts within 3 % what the simulator then plays, and finds a gain", () =>
    Effect.gen(function* () {
      const { known } = yield* tunedInTwo;
      const [runFile, best] = known.results;
      for (const { measured, predicted } of [runFile!, best!]) {
        const seen = measured[0]!.windowsPerHour;
        expect(Math.abs(predicted.windowsPerHour / seen - 1)).toBeLessThan(0.03);
      }
      expect(best!.measured[0]!.windowsPerHour).toBeGreaterThan(1.1 * runFile!.measured[0]!.windowsPerHour);
    }),
  );

  it.effect("leaves out variations that would be cut, and probes the run file once more at the end", () =>
    Effect.gen(function* () {
      const purposes = ({ shown }: { readonly shown: readonly string[] }) =>
        shown.filter((text) => text.includes("windows an hour")).map((text) => text.split(":")[0]);
      const probes = (all: readonly (string | undefined)[]) =>
        all.slice(0, all.indexOf("the run file as it is, once more") + 1);
      const [little, enough] = [probes(purposes(yield* tuned(1))), probes(purposes(yield* tuned(10)))];
      expect(enough).toContain("passes of 2048 tokens");
      expect(little.length).toBeGreaterThan(2);
      expect(little.length).toBeLessThan(enough.length);
      expect(little.slice(0, 2)).toEqual(enough.slice(0, 2));
    }),
  );

  it.effect("asks for runs in which the settings settle at least", () =>
    Effect.gen(function* () {
      const { asked } = yield* tuned(0.1);
      for (const { config, length } of asked) expect(length.settling).toBe(settling(settingsOf(config)));
    }),
  );
});
