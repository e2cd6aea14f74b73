import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { analysis } from "../../src/domain/metrics/diagnostics.ts";
import { filter } from "../../src/domain/metrics/filter.ts";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, type Fates, mixed, type Observed, type Options, observed } from "./fakes.ts";

/** Every second window is analysed on three groups of four; the groups of a window are two of two. */
const analysisKeys: Tree = {
  gradient_analysis_mode: true,
  gradient_analysis_every: 2,
  gradient_analysis_env_groups: 3,
  gradient_analysis_group_size: 4,
};
const analysing = (trainer: Tree = {}, rest: Tree = {}) =>
  reachConfig({ ...rest, trainer: { ...analysisKeys, ...trainer } });

const first = 2 ** 30;
/** True for groups that are played for analyses. */
const isForAnalysis = (group: number): boolean => group >= first && group < 2 ** 31;
const valuesOf = ({ records }: Observed, metric: Parameters<typeof valueIn>[1]) =>
  records.map(({ metrics }) => valueIn(metrics, metric));
const trained = ({ batches, ended, ledger }: Observed) => ({ batches, ledger, version: ended.version });

const ofGroups =
  (fate: (group: number) => ReturnType<Fates>["end"] | null): Fates =>
  (group, member) => {
    const end = fate(group);
    return end === null ? mixed(group, member) : { turns: 1, end, replyMs: 1 };
  };

describe("an analysis of gradients on groups of its own", () => {
  it.live("takes its groups at the steps that are due, by the weights of the window", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: analysing() });
      const shapes = run.analysed.map(({ kept, unfiltered }) => [kept?.window, kept?.groups.length, unfiltered]);
      expect(shapes).toEqual([
        [0, 12, undefined],
        [2, 12, undefined],
      ]);
      const versions = run.analysed.map(({ kept }) => new Set(kept?.versions.filter((version) => version >= 0)));
      expect(versions).toEqual([new Set([0]), new Set([2])]);
      expect(valuesOf(run, analysis.usesWindow)).toEqual([0, undefined, 0, undefined]);
      expect(valuesOf(run, analysis.groups)[0]).toBe(3);
      expect(valuesOf(run, analysis.episodes)[0]).toBe(12);
    }),
  );

  it.live.each(["lockstep", "sync", "async"] as const)("changes nothing that %s training is made of", (mode) =>
    Effect.gen(function* () {
      const rest = { pipeline: { mode } };
      const [plain, with_] = [
        yield* observed({ config: reachConfig(rest), updateMs: 3 }),
        yield* observed({ config: analysing({}, rest), updateMs: 3 }),
      ];
      expect(with_.analysed).toHaveLength(2);
      expect(with_.ledger).toEqual(plain.ledger);
      expect(with_.ended).toMatchObject({ step: 4, version: 4 });
      const groups = ({ batches }: Observed) => batches.map((batch) => [...batch.groups]);
      expect(groups(with_)).toEqual(groups(plain));
      // The batches of an async run depend on when weights are adopted.
      if (mode !== "async") expect(trained(with_)).toEqual(trained(plain));
    }),
  );

  it.live("has instances of its own, the same every time, and draws that nobody else has", () =>
    Effect.gen(function* () {
      const { replies } = yield* observed({ config: analysing({ test_freq: 2 }) });
      const analysisReplies = replies.filter(({ group }) => isForAnalysis(group));
      expect(new Set(analysisReplies.map(({ group }) => group - first))).toEqual(new Set([0, 1, 2, 6, 7, 8]));
      const streams = replies.filter(({ validation }) => !validation);
      expect(new Set(streams.map(({ group, member, turn }) => `${group} ${member} ${turn}`)).size).toBe(streams.length);
    }),
  );

  it.live("is filtered as a window is, and takes all groups beside where that is asked for", () =>
    Effect.gen(function* () {
      const config = analysing({ gradient_analysis_log_prefilter: true }, { filter: { include_zero: false } });
      const dull = ofGroups((group) => (group === first + 1 ? "miss" : null));
      const run = yield* observed({ config, fates: dull });
      const [at] = run.analysed;
      expect(new Set(at?.kept?.groups)).toEqual(new Set([first, first + 2]));
      expect(at?.kept?.keptRatio).toBeCloseTo(2 / 3, 12);
      expect(new Set(at?.unfiltered?.groups)).toEqual(new Set([first, first + 1, first + 2]));
      expect(valuesOf(run, analysis.keptRatio)[0]).toBeCloseTo(2 / 3, 12);
      // The window's own figures are of the window.
      expect(valuesOf(run, filter.keptRatio)[0]).toBe(1);
    }),
  );

  it.live("leaves failed groups out, and has nothing to analyse where no group is left", () =>
    Effect.gen(function* () {
      const dead = ofGroups((group) => (isForAnalysis(group) ? "crash" : null));
      const run = yield* observed({ config: analysing(), fates: dead });
      expect(run.ended).toMatchObject({ step: 4, version: 4 });
      expect(run.analysed.map(({ kept }) => kept)).toEqual([undefined, undefined]);
      expect(valuesOf(run, analysis.empty)[0]).toBe(1);
    }),
  );

  it.live("is not cut to the target of a refill", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: analysing({}, { filter: { refill: { target: 1 } } }) });
      expect(run.analysed[0]?.kept?.groups).toHaveLength(12);
    }),
  );

  it.live("says how far it is, and what it cost", () =>
    Effect.gen(function* () {
      const slow = ofGroups(() => null);
      const fates: Fates = (group, member) => ({ ...slow(group, member), replyMs: isForAnalysis(group) ? 400 : 1 });
      const run = yield* observed({ config: analysing({ total_training_steps: 1 }), fates });
      const events = eventsOf(run.events, "Analysing");
      expect(events.map(({ done, of, window }) => [window, done, of])).toEqual([
        [0, 1, 3],
        [0, 2, 3],
        [0, 3, 3],
      ]);
      const [gen, whole] = ["gradient_analysis_gen", "gradient_analysis"].map(
        (phase) => valuesOf(run, learner.timing.of({ phase }))[0] ?? Number.NaN,
      );
      // Eight slots hold two groups at once.
      expect(gen).toBeGreaterThanOrEqual(0.8);
      expect(whole).toBeGreaterThanOrEqual(gen ?? Number.NaN);
    }),
  );

  it.live("is given up by a stop, and the window is trained on", () =>
    Effect.gen(function* () {
      const fates: Fates = (group, member) => ({ ...mixed(group, member), replyMs: isForAnalysis(group) ? 5_000 : 1 });
      const onEvent: Options["onEvent"] = (event, stop) => {
        if (event._tag === "Verdict" && event.window === 0) stop();
      };
      const run = yield* observed({ config: analysing(), fates, onEvent });
      expect(run.analysed).toEqual([]);
      expect(run.ended).toMatchObject({ step: 1, version: 1, reason: "stopped" });
      expect(valuesOf(run, analysis.groups)).toEqual([undefined]);
    }),
  );

  it.live("ends the run where the run file says so, also after a window that the filter left empty", () =>
    Effect.gen(function* () {
      const config = analysing({ exit_after_gradient_analysis: true }, { filter: { include_zero: false } });
      const trained = yield* observed({ config });
      expect(trained.ended).toMatchObject({ step: 1, reason: "gradient_analysis" });
      expect(valuesOf(trained, analysis.exited)).toEqual([1]);
      const empty = yield* observed({ config, fates: ofGroups((group) => (isForAnalysis(group) ? null : "miss")) });
      expect(empty.ended).toMatchObject({ step: 1, version: 0, reason: "gradient_analysis" });
    }),
  );
});
