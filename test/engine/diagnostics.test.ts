import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import type { CrossRequest, CrossScores } from "../../src/domain/CrossScores.ts";
import { collapse } from "../../src/domain/metrics/diagnostics.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, inFolder, type Options, observed, resume, stopOn, train } from "./fakes.ts";

const measuring = (placement: "idle" | "before_update", changes: Tree = {}) =>
  reachConfig({
    diagnostics: { max_share: 1_000, collapse: { first_turn_enabled: true, compute_freq: 1, placement } },
    ...changes,
  });

/** Every request scores a little higher than the one before. */
const scorer = (ms: number): NonNullable<Options["score"]> => {
  let calls = 0;
  return ({ continuations, prompts }: CrossRequest) =>
    Effect.delay(
      Effect.sync((): CrossScores => {
        calls++;
        const sums = Float64Array.from(continuations.flatMap(() => prompts.map(() => -10 / calls)));
        return { rows: continuations.length, sums, version: 9, seconds: 1 };
      }),
      ms,
    );
};

const first = { drawing: "first_turn" };

describe("collapse measurements of a run", () => {
  it.live("that the update waits for stand in the record of their step", () =>
    Effect.gen(function* () {
      const { events, records } = yield* observed({
        config: measuring("before_update"),
        thought: "go",
        score: scorer(3),
      });
      expect(records.map(({ metrics }) => valueIn(metrics, collapse.step.of(first)))).toEqual([1, 2, 3, 4]);
      const tags = events.map(({ _tag }) => _tag).filter((tag) => tag === "CollapseMeasured" || tag === "Updated");
      expect(tags.slice(0, 4)).toEqual(["CollapseMeasured", "Updated", "CollapseMeasured", "Updated"]);
    }),
  );

  it.live("in idle time hold no update up, and stand in a later record", () =>
    Effect.gen(function* () {
      const options = { thought: "go", updateMs: 5 };
      const [slow, none] = [
        yield* observed({ ...options, config: measuring("idle"), score: scorer(4_000) }),
        yield* observed({ ...options, config: reachConfig() }),
      ];
      const times = ({ records }: typeof slow) => records.map(({ time }) => time - records[0]!.time);
      expect(times(slow)).toEqual(times(none));
      const quick = yield* observed({ ...options, config: measuring("idle"), score: scorer(1) });
      const steps = quick.records.map(({ metrics }) => valueIn(metrics, collapse.step.of(first)));
      expect(steps).toEqual([undefined, 1, 2, 3]);
    }),
  );

  it.live("go on with their running means after a resume", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const config = measuring("before_update", { trainer: { save_freq: 2 } });
        const options = { config, thought: "go", score: scorer(1), folder };
        const onEvent = stopOn("Updated", ({ window }) => window === 1);
        const before = yield* train({ ...options, onEvent });
        expect(before.ended.step).toBeLessThan(4);
        const after = yield* resume(options);
        const means = [...before.records, ...after.records].map(({ metrics }) => [
          valueIn(metrics, collapse.firstTotal),
          valueIn(metrics, collapse.secondsTotal),
        ]);
        expect(means.map(([, total]) => total)).toEqual([1, 2, 3, 4]);
        const measured = eventsOf([...before.events, ...after.events], "CollapseMeasured");
        expect(measured.map(({ before }) => before === null)).toEqual([true, false, false, false]);
      }),
    ),
  );

  it.live("are none where they are not asked for, and thoughts are counted", () =>
    Effect.gen(function* () {
      const { events, records } = yield* observed({ config: reachConfig(), thought: "go" });
      expect(eventsOf(events, "CollapseMeasured")).toEqual([]);
      expect(records.map(({ metrics }) => valueIn(metrics, collapse.validRate))).toEqual([1, 1, 1, 1]);
      expect(records.every(({ metrics }) => !metrics.has(collapse.step.of(first).name))).toBe(true);
    }),
  );
});

describe("an analysis of gradients", () => {
  it.live("ends the run after its step, where the run file says so", () =>
    Effect.gen(function* () {
      const trainer = { gradient_analysis_mode: true, exit_after_gradient_analysis: true, total_training_steps: 20 };
      const { ended } = yield* observed({ config: reachConfig({ trainer }) });
      expect(ended).toMatchObject({ step: 1, reason: "gradient_analysis" });
      expect(ended.checkpoint).toContain("step-1");
    }),
  );
});
