import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../build/config.ts";
import { consumedAt, eventsOf, type Fates, type Observed, observed } from "./fakes.ts";

/** Latencies and lengths that differ between all episodes. */
const uneven: Fates = (group, member) => ({
  turns: 1 + ((group + member) % 3),
  end: member === 0 ? "success" : "miss",
  replyMs: 1 + ((group * 5 + member * 7) % 11),
  stepMs: (group * 3 + member) % 5,
});

/** For every `Admitted`: its window, and the windows consumed until then. */
const admissions = (events: readonly Event[]) => {
  const consumed = consumedAt(events);
  return events.flatMap((event, i) =>
    event._tag === "Admitted" ? [{ window: event.window, consumed: consumed[i]! }] : [],
  );
};

const staleness = ({ batches }: Observed): readonly number[] =>
  batches.flatMap(({ versions, mask }, update) =>
    Array.from(versions)
      .filter((_, i) => mask[i] === 1)
      .map((version) => update - version),
  );

describe("lockstep", () => {
  it.live("gives no episode its next turn before every live one of the window has had this one", () =>
    Effect.gen(function* () {
      const { replies, ended } = yield* observed({
        config: reachConfig({ pipeline: { mode: "lockstep" } }),
        fates: uneven,
        updateMs: 5,
      });
      expect(ended).toMatchObject({ step: 4, reason: "complete" });
      let pairs = 0;
      for (const later of replies) {
        for (const earlier of replies) {
          const sameWindow = Math.floor(later.group / 2) === Math.floor(earlier.group / 2);
          if (!sameWindow || later.turn !== earlier.turn + 1) continue;
          pairs++;
          expect(later.requestedAt).toBeGreaterThanOrEqual(earlier.servedAt);
        }
      }
      expect(pairs).toBeGreaterThan(20);
    }),
  );

  it.live("does not make validation wait for the barrier", () =>
    Effect.gen(function* () {
      const config = reachConfig({ pipeline: { mode: "lockstep" }, trainer: { test_freq: 1 } });
      // One reply of a window takes long; the validation of the window before it must not wait for that turn.
      const fates: Fates = (group, member) => ({ ...uneven(group, member), turns: 2, replyMs: group === 2 ? 500 : 1 });
      const { replies, events } = yield* observed({ config, fates });
      const validations = replies.filter(({ validation, version }) => validation && version === 1);
      const slow = replies.filter(({ group, turn }) => group === 2 && turn === 1);
      expect(validations).toHaveLength(2);
      expect(Math.max(...validations.map(({ servedAt }) => servedAt))).toBeLessThan(
        Math.min(...slow.map(({ servedAt }) => servedAt)),
      );
      expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    }),
  );

  it.live("ends when a stop comes between two admissions of a window", () =>
    Effect.gen(function* () {
      const { ended, events, ledger } = yield* observed({
        config: reachConfig({
          pipeline: { mode: "lockstep" },
          es_manager: { train: { env_groups: 6, n_groups: [6] } },
        }),
        onEvent: (event, stop) => {
          if (event._tag === "Admitted" && event.group === 7) stop();
        },
      });
      expect(eventsOf(events, "Admitted")).toHaveLength(8);
      expect(ended.reason).toBe("stopped");
      expect(eventsOf(events, "Stopped").map(({ reason }) => reason)).toEqual(["stopped"]);
      expect(ledger.groups.trained + ledger.groups.dropped).toBe(ledger.groups.admitted);
    }),
  );
});

describe("sync", () => {
  it.live("admits no group of a window before the last one is consumed and its version adopted", () =>
    Effect.gen(function* () {
      const { events, replies, ...rest } = yield* observed({
        config: reachConfig({}),
        fates: uneven,
        updateMs: 7,
        adoptMs: 13,
      });
      const seen = admissions(events);
      expect(seen).toHaveLength(8);
      for (const { window, consumed } of seen) expect(consumed).toBe(window);
      for (const { group, version } of replies) expect(version).toBe(Math.floor(group / 2));
      expect(staleness({ events, replies, ...rest }).every((lag) => lag === 0)).toBe(true);
      for (const { metrics } of rest.records) {
        expect(toRecord(metrics)).toMatchObject({ "staleness/mean": 0, "staleness/max": 0 });
      }
    }),
  );

  it.live("makes one version a window", () =>
    Effect.gen(function* () {
      const { records } = yield* observed({ config: reachConfig({}) });
      expect(records.map(({ step, metrics }) => [step, toRecord(metrics)["weights/version"]])).toEqual([
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 4],
      ]);
    }),
  );
});

describe("async", () => {
  it.live.each([0, 1, 3])("never admits more than %i windows ahead of consumption", (max_staleness) =>
    Effect.gen(function* () {
      const config = reachConfig({
        pipeline: { mode: "async", max_staleness, rollout_concurrency: 8 },
        trainer: { total_training_steps: 8 },
      });
      const run = yield* observed({ config, fates: uneven, updateMs: 40 });
      const ahead = admissions(run.events).map(({ window, consumed }) => window - consumed);
      expect(Math.max(...ahead)).toBe(max_staleness);
      expect(Math.max(...staleness(run))).toBe(max_staleness);
      expect(Math.max(...run.records.map(({ metrics }) => toRecord(metrics)["staleness/max"]!))).toBe(max_staleness);
    }),
  );

  it.live.each([1, 2])(
    "trains no token that is more than %i versions old, however late generators take a version",
    (max_staleness) =>
      Effect.gen(function* () {
        const config = reachConfig({
          pipeline: { mode: "async", max_staleness, rollout_concurrency: 8 },
          trainer: { total_training_steps: 8 },
        });
        const run = yield* observed({ config, fates: uneven, updateMs: 40, adoptMs: 60 });
        expect(run.ended).toMatchObject({ step: 8, reason: "complete" });
        expect(Math.max(...staleness(run))).toBe(max_staleness);
      }),
  );

  it.live("counts the staleness of a window's trained tokens", () =>
    Effect.gen(function* () {
      const config = reachConfig({ pipeline: { mode: "async", max_staleness: 1, rollout_concurrency: 8 } });
      const run = yield* observed({ config, updateMs: 40 });
      const means = run.batches.map(({ versions, mask }, update) => {
        const lags = Array.from(versions, (version) => update - version).filter((_, i) => mask[i] === 1);
        return lags.reduce((sum, lag) => sum + lag, 0) / lags.length;
      });
      expect(run.records.map(({ metrics }) => toRecord(metrics)["staleness/mean"])).toEqual(means);
    }),
  );

  it.live("overtakes a straggler in completion order and trains it late", () =>
    Effect.gen(function* () {
      const config = reachConfig({
        pipeline: { mode: "async", max_staleness: 2, window_order: "completion", rollout_concurrency: 8 },
      });
      const fates: Fates = (group, member) => ({ ...uneven(group, member), replyMs: group === 0 ? 100 : 1 });
      const { batches, ended } = yield* observed({ config, fates, updateMs: 10 });
      expect(ended.step).toBe(4);
      expect(Array.from(new Set(batches[0]!.groups))).not.toContain(0);
      expect(new Set(batches.flatMap(({ groups }) => Array.from(groups)))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
    }),
  );
});
