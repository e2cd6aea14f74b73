import { Effect } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refillNumbers } from "../../src/config/refillNumbers.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { lead } from "../../src/domain/PipelineMode.ts";
import { firstRefillNumber, isOfRefill } from "../../src/domain/SeedSchedule.ts";
import { reachConfig } from "../build/config.ts";
import { assertProperty } from "../property.ts";
import { consumedAt, dropAlike, eventsOf, type Fate, type Fates, inFolder, observed, resume, train } from "./fakes.ts";

const fate: fc.Arbitrary<Fate> = fc.record({
  turns: fc.integer({ min: 1, max: 3 }),
  end: fc.constantFrom("success", "miss", "miss", "crash"),
  replyMs: fc.integer({ min: 0, max: 12 }),
  stepMs: fc.integer({ min: 0, max: 12 }),
});

const shape = fc.record({
  mode: fc.constantFrom("lockstep", "sync", "async"),
  window_order: fc.constantFrom("admission", "completion"),
  max_staleness: fc.integer({ min: 0, max: 3 }),
  env_groups: fc.integer({ min: 1, max: 3 }),
  group_size: fc.integer({ min: 1, max: 3 }),
  rollout_concurrency: fc.integer({ min: 1, max: 5 }),
  inbox: fc.integer({ min: 1, max: 2 }),
  slots: fc.integer({ min: 1, max: 6 }),
  windows: fc.integer({ min: 1, max: 5 }),
  updateMs: fc.integer({ min: 0, max: 30 }),
  adoptMs: fc.integer({ min: 0, max: 10 }),
  save_freq: fc.integer({ min: 0, max: 2 }),
  // Off in every other run.
  refill: fc.record({
    target: fc.constantFrom(0, 0, 0, 1, 2, 3),
    rounds: fc.integer({ min: 1, max: 2 }),
    batch: fc.integer({ min: 0, max: 3 }),
  }),
  fates: fc.array(fate, { minLength: 1, maxLength: 7 }),
});
type Shape = typeof shape extends fc.Arbitrary<infer A> ? A : never;

/** As many cases as a busy machine has time for. */
const drawn = { interruptAfterTimeLimit: 20_000 };

const shapedConfig = ({ mode, window_order, max_staleness, rollout_concurrency, inbox, ...shape }: Shape) =>
  reachConfig({
    pipeline: { mode, window_order, max_staleness, rollout_concurrency, inbox },
    es_manager: {
      train: { env_groups: shape.env_groups, group_size: shape.group_size, n_groups: [shape.env_groups] },
    },
    generation: { slots: shape.slots },
    trainer: { total_training_steps: shape.windows, save_freq: shape.save_freq, max_checkpoints: 10 },
    filter: { ...dropAlike, refill: { ...shape.refill, target: Math.min(shape.refill.target, shape.env_groups) } },
  });

/** Most groups of a window. */
const mostGroups = ({ env_groups, refill: { batch, rounds } }: Shape): number =>
  env_groups + rounds * Math.max(batch, env_groups);

/** The end of the numbers that a run may issue, of refills or of windows' own groups as `group` is one. */
const endOfNumbers = (shape: Shape, group: number): number => {
  const numbers = refillNumbers(shapedConfig(shape));
  if (numbers === null) return shape.windows * mostGroups(shape);
  return isOfRefill(group) ? firstRefillNumber + shape.windows * numbers.perWindow : shape.windows * shape.env_groups;
};

const fatesOf =
  ({ fates }: Shape): Fates =>
  (group, member) =>
    fates[(group * 3 + member) % fates.length]!;

describe("a run over random outcomes, latencies and shapes", () => {
  it("consumes every window exactly once, and its books balance at every event", () =>
    assertProperty(
      fc.asyncProperty(shape, async (shape) => {
        const { updateMs, adoptMs, windows, env_groups } = shape;
        const config = shapedConfig(shape);
        const run = await Effect.runPromise(observed({ config, fates: fatesOf(shape), updateMs, adoptMs }));
        // The books themselves are asserted by the harness, at every event.
        expect(run.ended).toMatchObject({ step: windows, reason: "complete", version: run.batches.length });
        expect(run.records.map(({ step }) => step)).toEqual(Array.from({ length: windows }, (_, i) => i + 1));
        const { admitted, trained, filtered, failed, dropped } = run.ledger.groups;
        const refillGroups = eventsOf(run.events, "Refill").reduce((sum, { groups }) => sum + groups, 0);
        expect([admitted, trained + filtered + failed, dropped]).toEqual([
          windows * env_groups + refillGroups,
          admitted,
          0,
        ]);
        const admissions = eventsOf(run.events, "Admitted").map(({ group }) => group);
        const windowGroups = admissions.filter((group) => !isOfRefill(group));
        const isNumberedApart = config.pipeline.window_order === "admission";
        expect(windowGroups).toEqual(
          Array.from({ length: admitted - (isNumberedApart ? refillGroups : 0) }, (_, i) => i),
        );
        expect(new Set(admissions).size).toBe(admitted);
        const refilled = eventsOf(run.events, "StepClosed").reduce((sum, { refilled = 0 }) => sum + refilled, 0);
        expect(refilled).toBe(refillGroups);
        const { rounds, target } = config.filter.refill;
        for (const { kept } of eventsOf(run.events, "Verdict")) {
          expect(kept.length).toBeLessThanOrEqual(target > 0 ? target : env_groups);
        }
        for (const { round } of eventsOf(run.events, "Refill")) expect(round).toBeLessThanOrEqual(rounds);
        expect(run.released.length).toBe(new Set(run.replies.map(({ group, member }) => `${group} ${member}`)).size);

        const ahead = lead({ mode: shape.mode, maxStaleness: shape.max_staleness });
        const consumed = consumedAt(run.events);
        run.events.forEach((event, i) => {
          if (event._tag === "Admitted") expect(event.window - consumed[i]!).toBeLessThanOrEqual(ahead);
        });
        if (ahead === 0) {
          for (const { metrics } of run.records) expect(toRecord(metrics)["staleness/max"] ?? 0).toBe(0);
        }
      }),
      { ...drawn, numRuns: 60 },
    ));

  it("goes on after a stop at any moment, and consumes the rest of its windows", () =>
    assertProperty(
      fc.asyncProperty(
        shape,
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(0, 5, 1000),
        async (shape, stopAt, stop_deadline_ms) => {
          const config = shapedConfig(shape);
          const { updateMs, adoptMs, windows } = shape;
          const options = {
            config: { ...config, pipeline: { ...config.pipeline, stop_deadline_ms } },
            fates: fatesOf(shape),
            updateMs,
            adoptMs,
          };
          const trained: number[] = [];
          const ended = await Effect.runPromise(
            inFolder(
              Effect.fnUntraced(function* (folder) {
                let seen = 0;
                const first = yield* train({
                  ...options,
                  folder,
                  onEvent: (_, stop) => {
                    if (++seen === stopAt) stop();
                  },
                });
                trained.push(...first.batches.flatMap(({ groups }) => [...new Set(groups)]));
                if (first.ended.step === windows) return first.ended;
                const second = yield* resume({ ...options, folder });
                trained.push(...second.batches.flatMap(({ groups }) => [...new Set(groups)]));
                const steps = [...first.records, ...second.records].map(({ step }) => step);
                expect(steps).toEqual(Array.from({ length: windows }, (_, i) => i + 1));
                return second.ended;
              }),
            ),
          );
          expect(ended).toMatchObject({ step: windows });
          // No group is trained on twice, and none is made up: every number is one of the run's own.
          expect(new Set(trained).size).toBe(trained.length);
          for (const group of trained) expect(group).toBeLessThan(endOfNumbers(shape, group));
        },
      ),
      { ...drawn, numRuns: 60 },
    ));

  it("goes on from a checkpoint that was written while others were in flight", () =>
    assertProperty(
      fc.asyncProperty(shape, async (shape) => {
        const config = shapedConfig({ ...shape, save_freq: 1, windows: shape.windows + 1 });
        const { updateMs, adoptMs, windows } = shape;
        const options = { config, fates: fatesOf(shape), updateMs, adoptMs };
        await Effect.runPromise(
          inFolder(
            Effect.fnUntraced(function* (folder) {
              // The process ends at once after this checkpoint: nothing drains.
              const at = 1 + (shape.updateMs % windows);
              const killed = yield* Effect.exit(
                train({
                  ...options,
                  folder,
                  onEvent: (event) => {
                    if (event._tag === "CheckpointWritten" && event.step === at) throw new Error("killed");
                  },
                }),
              );
              expect(killed._tag).toBe("Failure");
              const { ended, records } = yield* resume({ ...options, folder });
              expect(ended).toMatchObject({ step: windows + 1, reason: "complete" });
              expect(records.map(({ step }) => step)).toEqual(
                Array.from({ length: windows + 1 - at }, (_, i) => at + i + 1),
              );
            }),
          ),
        );
      }),
      { ...drawn, numRuns: 30 },
    ));
});
