import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Prompt } from "../../src/domain/Group.ts";
import { samplingKey, sequenceId } from "../../src/rollout/keys.ts";
import { giveBack, initial, next, type SeedState, validation } from "../../src/rollout/seeds.ts";

const groups = { env_groups: 3, group_size: 4, tags: ["A", "B"], n_groups: [2, 1], seed: 10_000 } as const;

const issue = (state: SeedState, count: number): readonly [Prompt[], SeedState] => {
  const prompts: Prompt[] = [];
  let current = state;
  for (let i = 0; i < count; i++) {
    const [prompt, after] = next(groups, current, i);
    prompts.push(prompt);
    current = after;
  }
  return [prompts, current];
};

describe("the seed schedule", () => {
  it("advances by a window's groups and repeats the tags", () => {
    const [prompts] = issue(initial, 6);
    expect(prompts.map(({ group, tag, seed }) => [group, tag, seed])).toEqual([
      [0, "A", 10_000],
      [1, "A", 10_001],
      [2, "B", 10_002],
      [3, "A", 10_003],
      [4, "A", 10_004],
      [5, "B", 10_005],
    ]);
    expect(prompts.map((prompt) => prompt.admittedAt)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("issues what was given back first, then goes on", () => {
    const [, state] = issue(initial, 6);
    const [prompts] = issue(giveBack(state, [5, 1]), 3);
    expect(prompts.map((prompt) => prompt.group)).toEqual([1, 5, 6]);
  });

  it("issues every number exactly once until it is given back, through serialisation", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.infiniteStream(fc.boolean()), (count, coins) => {
        const [first, state] = issue(initial, count);
        const cut = first.map((prompt) => prompt.group).filter(() => coins.next().value);
        const restored = JSON.parse(JSON.stringify(giveBack(state, cut))) as SeedState;
        const [again] = issue(restored, cut.length + 1);
        expect(again.map((prompt) => prompt.group)).toEqual([...cut, count]);
      }),
    );
  });

  it("validates on the same instances with the same draws every time, in sequences of their own", () => {
    const [first, second] = [validation(groups, 0, 0), validation(groups, 1, 9)];
    expect(first.map((prompt) => prompt.seed)).toEqual(second.map((prompt) => prompt.seed));
    expect(first.map((prompt) => samplingKey(0, "val", prompt, 1, 2))).toEqual(
      second.map((prompt) => samplingKey(0, "val", prompt, 1, 2)),
    );
    const sequences = [...first, ...second].map((prompt) => sequenceId("val", prompt, 0));
    expect(new Set(sequences).size).toBe(6);
  });

  it("gives train and validation streams and sequences apart", () => {
    const prompt = { group: 10_000, tag: "A", seed: 10_000, size: 4, admittedAt: 0 };
    expect(samplingKey(0, "val", prompt, 0, 1)).not.toEqual(samplingKey(0, "train", prompt, 0, 1));
    expect(sequenceId("val", prompt, 0)).not.toBe(sequenceId("train", prompt, 0));
  });
});
