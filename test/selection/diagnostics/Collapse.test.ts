import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber, Latch, type Scope } from "effect";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Tree } from "../../../src/config/Tree.ts";
import { type CrossRequest, type CrossScores, crossTokens } from "../../../src/domain/CrossScores.ts";
import type { Event } from "../../../src/domain/Event.ts";
import type { Window } from "../../../src/domain/Group.ts";
import { collapse } from "../../../src/domain/metrics/diagnostics.ts";
import { type Metrics, toRecord, valueIn } from "../../../src/domain/metrics/Metrics.ts";
import * as RunState from "../../../src/domain/RunState.ts";
import { noticeText } from "../../../src/observe/sinks/View.ts";
import * as Collapse from "../../../src/selection/diagnostics/Collapse.ts";
import { configWith } from "../../build/config.ts";
import { episodeOfTurns, sampledOf, turnOf } from "../../build/episodes.ts";
import { groupOfEpisodes } from "../../build/groups.ts";

const collapseConfig = (collapse: Tree, max_share = 100): RunConfig =>
  configWith({ diagnostics: { max_share, collapse } });

const both = { first_turn_enabled: true, multi_turn_enabled: true };

/** Four groups of three, each with a prompt of its own and thoughts of two ids. */
const windowOf = (index: number): Window => ({
  index,
  groups: Array.from({ length: 4 }, (_, group) =>
    groupOfEpisodes(
      group,
      Array.from({ length: 3 }, (_, member) =>
        episodeOfTurns(group, member, [
          turnOf({
            prompt: Int32Array.of(group, 50),
            sampled: sampledOf([group, 10 + member, 60]),
            thought: [0, 2],
          }),
        ]),
      ),
    ),
  ),
});

/** A policy whose thoughts begin with what the prompt begins with: -1 behind their own prompt, `other` behind another. */
const scoresOf = (
  { continuations, prompts }: CrossRequest,
  other: number,
  rows = continuations.length,
): CrossScores => ({
  rows,
  sums: Float64Array.from(
    continuations.slice(0, rows).flatMap((thought) => prompts.map((prompt) => (prompt[0] === thought[0] ? -1 : other))),
  ),
  version: 5,
  seconds: 0.5,
});

const harness = (config: RunConfig, score: (request: CrossRequest) => Effect.Effect<CrossScores, string>) => {
  let state = RunState.initial;
  const events: Event[] = [];
  const requests: CrossRequest[] = [];
  const diagnostic = Collapse.make(config, {
    score: (request) =>
      Effect.suspend(() => {
        requests.push(request);
        return score(request);
      }),
    emit: (event) =>
      Effect.sync(() => {
        events.push(event);
        state = RunState.observe(state, event);
      }),
    state: () => state,
  });
  return { made: diagnostic, events, requests, state: () => state };
};

/** The update of a window between the two halves of its measurement, as the learning stage has them. */
const around = Effect.fnUntraced(function* <A>(
  collapse: Collapse.Collapse<string>,
  window: Window,
  update: Effect.Effect<A>,
  scope: Scope.Scope,
) {
  yield* collapse.beforeUpdate(window);
  const result = yield* update;
  return [result, yield* collapse.afterUpdate(window, scope)] as const;
});

const regime = (metrics: Metrics) => valueIn(metrics, collapse.regime.of({ drawing: "first_turn" }));

describe("a measurement before the update", () => {
  const config = collapseConfig({ ...both, placement: "before_update" });

  it.effect("is told with the step of its window", () =>
    Effect.gen(function* () {
      const { events, made } = harness(config, (request) => Effect.succeed(scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      const order: string[] = [];
      const update = Effect.sync(() => order.push(`update after ${events.length}`));
      const [, metrics] = yield* around(made, windowOf(0), update, scope);
      expect(order).toEqual(["update after 2"]);
      const labels = { drawing: "first_turn" };
      expect(valueIn(metrics, collapse.samples.of(labels))).toBe(12);
      expect(valueIn(metrics, collapse.columns.of(labels))).toBe(4);
      expect(valueIn(metrics, collapse.step.of(labels))).toBe(1);
      expect(valueIn(metrics, collapse.version.of(labels))).toBe(5);
      expect(valueIn(metrics, collapse.accuracy.of(labels))).toBe(1);
      expect(valueIn(metrics, collapse.chance.of(labels))).toBe(0.25);
      expect(valueIn(metrics, collapse.conditionalSeq.of(labels))).toBe(1);
      expect(valueIn(metrics, collapse.conditional.of(labels))).toBe(0.5);
      expect(valueIn(metrics, collapse.informationSeq.of(labels))).toBeCloseTo(Math.log(4), 2);
      expect(regime(metrics)).toBe(0);
      expect(valueIn(metrics, collapse.secondsTotal)).toBe(1);
      expect(valueIn(metrics, collapse.validRate)).toBe(1);
      expect(toRecord(metrics)).toMatchObject({
        "collapse/first_turn_num_total": 12,
        "timing_s/collapse_first_turn_step": 0.5,
        "timing_s/collapse_first_turn_total": 0.5,
        "timing_s/collapse_multi_turn_total": 0.5,
      });
    }).pipe(Effect.scoped),
  );

  it.effect("takes place at the first step and every so many, thoughts are counted in every one", () =>
    Effect.gen(function* () {
      const { made, requests } = harness(config, (request) => Effect.succeed(scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      const seen: number[] = [];
      for (let index = 0; index < 11; index++) {
        const before = requests.length;
        const [, metrics] = yield* around(made, windowOf(index), Effect.void, scope);
        if (requests.length > before) seen.push(index + 1);
        expect(valueIn(metrics, collapse.firstValid)).toBe(12);
      }
      expect(seen).toEqual([1, 5, 10]);
    }).pipe(Effect.scoped),
  );

  it.effect("sees template collapse where thoughts cease to tell of their prompts, and says so once", () =>
    Effect.gen(function* () {
      let other = -9;
      const { events, made } = harness(config, (request) => Effect.succeed(scoresOf(request, other)));
      const scope = yield* Effect.scope;
      yield* around(made, windowOf(0), Effect.void, scope);
      other = -1.05;
      const [, metrics] = yield* around(made, windowOf(4), Effect.void, scope);
      expect(regime(metrics)).toBe(1);
      const measured = events.filter((event) => event._tag === "CollapseMeasured");
      expect(measured.map(({ before, drawing, regime }) => [drawing, before, regime])).toEqual([
        ["first_turn", null, "healthy"],
        ["trajectory", null, "healthy"],
        ["first_turn", "healthy", "template_collapse"],
        ["trajectory", "healthy", "template_collapse"],
      ]);
      const notice = "template collapse: the thoughts vary, but no longer tell of their prompts";
      expect(events.flatMap((event) => noticeText(event) ?? [])).toEqual([
        `step 5, first turns: ${notice}`,
        `step 5, all turns: ${notice}`,
      ]);
      yield* around(made, windowOf(9), Effect.void, scope);
      expect(events.flatMap((event) => noticeText(event) ?? [])).toHaveLength(2);
    }).pipe(Effect.scoped),
  );

  it.effect("keeps running means that survive in the run's state", () =>
    Effect.gen(function* () {
      let other = -9;
      const { made, state } = harness(config, (request) => Effect.succeed(scoresOf(request, other)));
      const scope = yield* Effect.scope;
      const [, first] = yield* around(made, windowOf(0), Effect.void, scope);
      other = -2;
      const [, second] = yield* around(made, windowOf(4), Effect.void, scope);
      const labels = { drawing: "first_turn" };
      const [a, b] = [first, second].map((metrics) => valueIn(metrics, collapse.zscore.of(labels)) ?? Number.NaN);
      expect(valueIn(first, collapse.zscoreEma.of(labels))).toBe(a);
      expect(valueIn(second, collapse.zscoreEma.of(labels))).toBeCloseTo(0.9 * a! + 0.1 * b!, 9);
      const read = yield* RunState.decode(yield* RunState.encode(state()));
      expect(read.collapse).toEqual(state().collapse);
      expect(read.collapse.trajectory?.seconds).toBe(1);
    }).pipe(Effect.scoped),
  );
});

describe("a measurement in idle time", () => {
  const config = collapseConfig({ ...both, placement: "idle" });

  it.effect("begins after the update, which does not wait for it, and is told with the next step", () =>
    Effect.gen(function* () {
      const free = Latch.makeUnsafe(false);
      const { events, made, requests } = harness(config, (request) => Effect.as(free.await, scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      const update = Effect.sync(() => requests.length);
      const [before, first] = yield* around(made, windowOf(0), update, scope);
      expect([before, regime(first)]).toEqual([0, undefined]);
      yield* free.open;
      while (events.length < 2) yield* Effect.yieldNow;
      const [, second] = yield* around(made, windowOf(1), Effect.void, scope);
      expect(regime(second)).toBe(0);
      expect(valueIn(second, collapse.step.of({ drawing: "first_turn" }))).toBe(1);
      expect(requests.every(({ givesWay }) => givesWay)).toBe(true);
    }).pipe(Effect.scoped),
  );

  it.effect("counts what it had no time for, says nothing of fewer than two thoughts, and tries again", () =>
    Effect.gen(function* () {
      const { made, requests } = harness(config, (request) => Effect.succeed(scoresOf(request, -9, 1)));
      const scope = yield* Effect.scope;
      yield* around(made, windowOf(0), Effect.void, scope);
      while (requests.length < 1) yield* Effect.yieldNow;
      yield* Effect.yieldNow;
      const [, metrics] = yield* around(made, windowOf(1), Effect.void, scope);
      expect(regime(metrics)).toBeUndefined();
      expect(valueIn(metrics, collapse.cut.of({ drawing: "first_turn" }))).toBe(11);
      while (requests.length < 2) yield* Effect.yieldNow;
      // The weights have moved on: trajectories of the same window are not asked for.
      expect(requests.map(({ prompts }) => prompts.length)).toEqual([4, 4]);
    }).pipe(Effect.scoped),
  );

  it.effect("is not begun while another is under way", () =>
    Effect.gen(function* () {
      const free = Latch.makeUnsafe(false);
      const { made, requests } = harness(config, (request) => Effect.as(free.await, scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      for (let index = 0; index < 5; index++) yield* around(made, windowOf(index), Effect.void, scope);
      while (requests.length < 1) yield* Effect.yieldNow;
      yield* free.open;
      while (requests.length < 2) yield* Effect.yieldNow;
      for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow;
      expect(requests).toHaveLength(2);
      yield* around(made, windowOf(9), Effect.void, scope);
      while (requests.length < 4) yield* Effect.yieldNow;
    }).pipe(Effect.scoped),
  );

  it.effect("that fails fails nothing else", () =>
    Effect.gen(function* () {
      const { made } = harness(config, () => Effect.fail("gone"));
      const scope = yield* Effect.scope;
      const [result] = yield* around(made, windowOf(0), Effect.succeed("updated"), scope);
      expect(result).toBe("updated");
    }).pipe(Effect.scoped),
  );
});

describe("a measurement without a placement", () => {
  it.effect("waits for idle time, and where there is none is made before the next update", () =>
    Effect.gen(function* () {
      let idle = false;
      const { made, requests } = harness(collapseConfig({ first_turn_enabled: true }), (request) =>
        Effect.succeed(scoresOf(request, -9, request.givesWay && !idle ? 0 : undefined)),
      );
      const scope = yield* Effect.scope;
      yield* around(made, windowOf(0), Effect.void, scope);
      while (requests.length < 1) yield* Effect.yieldNow;
      yield* Effect.yieldNow;
      const [, busy] = yield* around(made, windowOf(1), Effect.void, scope);
      expect(requests.map(({ givesWay }) => givesWay)).toEqual([true, false]);
      expect(valueIn(busy, collapse.step.of({ drawing: "first_turn" }))).toBe(2);
      yield* around(made, windowOf(2), Effect.void, scope);
      idle = true;
      yield* around(made, windowOf(4), Effect.void, scope);
      while (requests.length < 3) yield* Effect.yieldNow;
      yield* Effect.yieldNow;
      yield* around(made, windowOf(5), Effect.void, scope);
      expect(requests.map(({ givesWay }) => givesWay)).toEqual([true, false, true]);
    }).pipe(Effect.scoped),
  );
});

describe("what a measurement may cost", () => {
  it("is a share of what the updates since the last one take of whole windows", () => {
    const { groups } = windowOf(0);
    // 12 episodes of 5 tokens, forwards and backwards, every fifth window.
    expect(Collapse.budgetOf(collapseConfig(both, 0.1), groups)).toBeCloseTo(0.1 * 5 * 3 * 60, 9);
  });

  it.effect("cuts the thoughts and prompts down", () =>
    Effect.gen(function* () {
      const config = collapseConfig({ ...both, placement: "before_update" }, 0.2);
      const { made, requests } = harness(config, (request) => Effect.succeed(scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      yield* around(made, windowOf(0), Effect.void, scope);
      const budget = Collapse.budgetOf(config, windowOf(0).groups);
      const cost = requests.map(({ continuations, passTokens, prompts }) => {
        const lengths = (items: readonly Int32Array[]) => items.map(({ length }) => length);
        return crossTokens(lengths(prompts), lengths(continuations), passTokens);
      });
      expect(requests).toHaveLength(2);
      expect(cost.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(budget);
      expect(requests.every(({ continuations }) => continuations.length >= 2 && continuations.length < 12)).toBe(true);
    }).pipe(Effect.scoped),
  );

  it.effect("asks for nothing where it is not wanted", () =>
    Effect.gen(function* () {
      const { made, requests } = harness(collapseConfig({}), (request) => Effect.succeed(scoresOf(request, -9)));
      const scope = yield* Effect.scope;
      const fiber = yield* Effect.forkChild(around(made, windowOf(0), Effect.void, scope));
      const [, metrics] = yield* Fiber.join(fiber);
      expect(requests).toEqual([]);
      expect(valueIn(metrics, collapse.firstTotal)).toBe(12);
    }).pipe(Effect.scoped),
  );
});
