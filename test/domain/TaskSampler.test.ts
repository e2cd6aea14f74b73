import { Effect } from "effect";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as TaskSampler from "../../src/domain/TaskSampler.ts";
import { episodeOfTurns, failed, lost, sampledOf, turnOf, won } from "../build/episodes.ts";
import { groupOfEpisodes } from "../build/groups.ts";
import { assertProperty } from "../property.ts";

const tags = ["Lake:a", "Lake:b", "Lake:c"] as const;

const weighing: TaskSampler.Weighing = {
  by: "difficulty",
  epsilon: 0.05,
  floor: 0.1,
  cost: "tokens",
  groupSize: 8,
};

const amounts = fc.double({ min: 0, max: 1e6, noNaN: true });
const counts = fc.record({ successes: amounts, failures: amounts, tokens: amounts });
const posteriors = fc.dictionary(fc.constantFrom(...tags), counts, { maxKeys: tags.length });
const weighings = fc.record({
  by: fc.constantFrom("uniform" as const, "difficulty" as const),
  epsilon: fc.double({ min: 0, max: 1, noNaN: true }),
  floor: fc.double({ min: 0.01, max: 1, noNaN: true }),
  cost: fc.constantFrom("tokens" as const, "none" as const),
  groupSize: fc.integer({ min: 1, max: 64 }),
});

/** Counts of so many episodes with this share of successes, of `tokens` each. */
const countsOf = (episodes: number, success: number, tokens = 10): TaskSampler.LevelCounts => ({
  successes: episodes * success,
  failures: episodes * (1 - success),
  tokens: episodes * tokens,
});

const probabilitiesOf = (posterior: TaskSampler.Posterior, changes: Partial<TaskSampler.Weighing> = {}) =>
  TaskSampler.weigh(posterior, tags, { ...weighing, ...changes }).map(({ probability }) => probability);

describe("the weights of levels", () => {
  it("are probabilities of which none is below the floor's share", () => {
    assertProperty(
      fc.property(posteriors, weighings, (posterior, weighing) => {
        const levels = TaskSampler.weigh(posterior, tags, weighing);
        expect(levels.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
        for (const { probability } of levels) {
          expect(probability).toBeGreaterThanOrEqual((weighing.floor / tags.length) * (1 - 1e-9));
        }
      }),
    );
  });

  it("are even where nothing is known, and always under by: uniform", () => {
    for (const probability of probabilitiesOf({})) expect(probability).toBeCloseTo(1 / 3, 12);
    const posterior = { "Lake:a": countsOf(100, 1), "Lake:b": countsOf(100, 0.5, 1_000) };
    expect(probabilitiesOf(posterior, { by: "uniform" })).toEqual([1 / 3, 1 / 3, 1 / 3]);
  });

  it("follow the formula of RFC 013", () => {
    const posterior = { "Lake:a": countsOf(98, 0.5), "Lake:b": { successes: 8, failures: 0, tokens: 80 } };
    const [a, b] = TaskSampler.weigh(posterior, tags.slice(0, 2), { ...weighing, cost: "none", groupSize: 2 });
    expect([a!.success, b!.success]).toEqual([0.5, 0.9]);
    expect(a!.mixed).toBeCloseTo(0.5, 12);
    expect(b!.mixed).toBeCloseTo(1 - 0.81 - 0.01, 12);
    const share = (0.5 + 0.05) / (0.5 + 0.05 + 0.18 + 0.05);
    expect(a!.probability).toBeCloseTo(0.05 + 0.9 * share, 12);
  });

  it("are equal for a success and its complement, and largest in the middle", () => {
    assertProperty(
      fc.property(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 2, max: 16 }), (successes, groupSize) => {
        const posterior = {
          "Lake:a": { successes, failures: 50 - successes, tokens: 500 },
          "Lake:b": { successes: 50 - successes, failures: successes, tokens: 500 },
          "Lake:c": { successes: 25, failures: 25, tokens: 500 },
        };
        const [a, b, middle] = probabilitiesOf(posterior, { groupSize });
        expect(a).toBeCloseTo(b!, 9);
        expect(middle).toBeGreaterThanOrEqual(a! - 1e-9);
      }),
    );
  });

  it("fall with the tokens of an episode only where cost is tokens", () => {
    const posterior = { "Lake:a": countsOf(100, 0.5, 10), "Lake:b": countsOf(100, 0.5, 40) };
    const [cheap, dear] = probabilitiesOf(posterior);
    expect(cheap! / dear!).toBeGreaterThan(2);
    const [one, other] = probabilitiesOf(posterior, { cost: "none" });
    expect(one).toBeCloseTo(other!, 12);
  });
});

describe("a posterior", () => {
  const levelCounts = fc.array(posteriors, { minLength: 1, maxLength: 20 });

  it("is the sum of the windows' counts, each shrunk once for every later window", () => {
    assertProperty(
      fc.property(levelCounts, fc.double({ min: 0, max: 1, noNaN: true }), (windows, forget) => {
        const posterior = windows.reduce<TaskSampler.Posterior>(
          (before, counts) => TaskSampler.update(before, { forget, counts }),
          {},
        );
        for (const tag of tags) {
          const expected = windows.reduce(
            (sum, counts, i) => sum + (counts[tag]?.successes ?? 0) * forget ** (windows.length - 1 - i),
            0,
          );
          const found = posterior[tag]?.successes ?? 0;
          expect(Math.abs(found - expected)).toBeLessThanOrEqual(1e-6 * (1 + expected));
        }
      }),
    );
  });

  it("forgets a level that is not played, which is then tried again", () => {
    let posterior: TaskSampler.Posterior = { "Lake:a": countsOf(1_000, 0), "Lake:b": countsOf(1_000, 0.5) };
    const [before] = probabilitiesOf(posterior);
    for (let window = 0; window < 100; window++) {
      posterior = TaskSampler.update(posterior, { forget: 0.9, counts: { "Lake:b": countsOf(8, 0.5) } });
    }
    const [after] = TaskSampler.weigh(posterior, tags, weighing);
    expect(after!.success).toBeCloseTo(0.5, 1);
    expect(after!.probability).toBeGreaterThan(3 * before!);
  });

  it("counts usable episodes of groups, and no failed ones", () => {
    const turns = [turnOf({ sampled: sampledOf(5) })];
    const outcomes = [won, lost, failed, won];
    const episodes = outcomes.map((outcome, member) => episodeOfTurns(0, member, turns, { outcome }));
    const groups = [groupOfEpisodes(0, episodes, { tag: "Lake:a" }), groupOfEpisodes(1, episodes, { tag: "Lake:b" })];
    const each = { successes: 2, failures: 1, tokens: 15 };
    expect(TaskSampler.countLevels(groups)).toEqual({ "Lake:a": each, "Lake:b": each });
  });
});

describe("a draw", () => {
  it("is a function of seed, group and posterior, and comes as often as its probability says", () => {
    const levels = TaskSampler.weigh({ "Lake:a": countsOf(100, 1), "Lake:b": countsOf(100, 0.5) }, tags, weighing);
    const draws = Array.from({ length: 4_000 }, (_, group) => TaskSampler.draw(levels, 7, group));
    expect(draws.map(({ tag }) => tag)).toEqual(
      Array.from({ length: 4_000 }, (_, group) => TaskSampler.draw(levels, 7, group).tag),
    );
    for (const { probability, tag } of levels) {
      const share = draws.filter((drawn) => drawn.tag === tag).length / draws.length;
      expect(Math.abs(share - probability)).toBeLessThan(0.03);
    }
    const others = Array.from({ length: 100 }, (_, group) => TaskSampler.draw(levels, 8, group).tag);
    expect(others).not.toEqual(draws.slice(0, 100).map(({ tag }) => tag));
  });

  it("starves no level, whatever its groups come to", () => {
    let sampler = TaskSampler.start(0);
    const drawCounts = new Map<string, number>(tags.map((tag) => [tag, 0]));
    for (let window = 0; window < 400; window++) {
      const levels = TaskSampler.weigh(TaskSampler.posteriorFor(sampler, window, window), tags, weighing);
      const drawn = Array.from({ length: 4 }, (_, place) => TaskSampler.draw(levels, 3, window * 4 + place).tag);
      for (const tag of drawn) drawCounts.set(tag, drawCounts.get(tag)! + 1);
      const success = { "Lake:a": 0, "Lake:b": 0.5, "Lake:c": 1 };
      const groups = drawn.map((tag) => ({ [tag]: countsOf(8, success[tag as keyof typeof success]) }));
      const counts = groups.reduce((sum, group) => TaskSampler.update(sum, { forget: 1, counts: group }), {});
      sampler = TaskSampler.consume(sampler, { forget: 0.9, counts });
    }
    const shares = tags.map((tag) => drawCounts.get(tag)! / 1_600);
    expect(shares[1]).toBeGreaterThan(0.5);
    for (const share of shares) expect(share).toBeGreaterThan(0.03);
  });
});

describe("the posterior of a window", () => {
  const leads = fc.integer({ min: 0, max: 5 });
  const windowCounts = fc.array(posteriors, { maxLength: 12 });
  const resultsOf = (counts: TaskSampler.Posterior): TaskSampler.LevelResults => ({ forget: 0.9, counts });

  it("is that after so many windows as the lead says, whenever the window is admitted", () => {
    assertProperty(
      fc.property(windowCounts, leads, (windows, lead) => {
        const after: TaskSampler.Posterior[] = [{}];
        let sampler = TaskSampler.start(lead);
        for (let consumed = 0; consumed <= windows.length; consumed++) {
          if (consumed > 0) {
            const results = resultsOf(windows[consumed - 1]!);
            after.push(TaskSampler.update(after.at(-1)!, results));
            sampler = TaskSampler.consume(sampler, results);
          }
          for (let window = consumed; window <= consumed + lead; window++) {
            expect(TaskSampler.posteriorFor(sampler, consumed, window)).toEqual(after[Math.max(0, window - lead)]);
          }
          expect(sampler.posteriors.length).toBeLessThanOrEqual(lead + 1);
        }
      }),
    );
  });

  it("is the same in a checkpoint, from which a resumed run draws as if never stopped", () => {
    assertProperty(
      fc.property(windowCounts, leads, (windows, lead) => {
        let state = RunState.startUnder(null, TaskSampler.start(lead));
        for (const [window, counts] of windows.entries()) {
          const events: readonly Event[] = [
            { _tag: "EmptySelection", window, consecutive: window + 1, levelResults: resultsOf(counts) },
            { _tag: "StepClosed", step: window + 1, groups: [], seconds: 0 },
          ];
          state = events.reduce(RunState.observe, state);
        }
        const text = Effect.runSync(RunState.encode(RunState.toCheckpoint(state, 0)));
        const read = Effect.runSync(RunState.decode(text));
        expect(read.taskSampler).toEqual(state.taskSampler);
        expect(TaskSampler.start(lead, read.taskSampler)).toEqual(state.taskSampler);
      }),
    );
  });

  it("is absent from a state without a sampler, and from those of earlier versions", () => {
    const state = RunState.observe(RunState.initial, { _tag: "EmptySelection", window: 0, consecutive: 1 });
    expect(state.taskSampler).toBeNull();
    const { taskSampler: _, ...earlier } = JSON.parse(
      Effect.runSync(RunState.encode(RunState.toCheckpoint(RunState.initial, 2))),
    );
    expect(Effect.runSync(RunState.decode(JSON.stringify(earlier))).taskSampler).toBeNull();
  });

  it("is the oldest that is kept in a run that goes on with a larger lead", () => {
    let sampler = TaskSampler.start(0);
    for (const success of [0, 0.5, 1]) {
      sampler = TaskSampler.consume(sampler, resultsOf({ "Lake:a": countsOf(8, success) }));
    }
    expect(TaskSampler.posteriorFor(TaskSampler.start(3, sampler), 3, 3)).toEqual(TaskSampler.newest(sampler));
  });
});
