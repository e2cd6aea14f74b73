import { describe, expect, it } from "vitest";
import { samplingKey, sequenceId } from "../../src/rollout/keys.ts";
import { analysis, levelDrawer, promptOf, validation } from "../../src/rollout/seeds.ts";

const groups = { env_groups: 3, group_size: 4, tags: ["A", "B"], n_groups: [2, 1], seed: 10_000, levels: {} } as const;

describe("the levels of a preset", () => {
  const levels = { A: ["A:x", "A:y", "A:z"] };
  const levelled = { ...groups, env_groups: 6, n_groups: [4, 2], levels };
  const weighing = { by: "uniform", epsilon: 0, floor: 0.1, cost: "none", groupSize: 4 } as const;

  it("take turns in a validation and in an analysis", () => {
    const tags = ["A:x", "A:y", "A:z", "A:x", "B", "B"];
    expect(validation(levelled, 3, 0).map(({ tag }) => tag)).toEqual(tags);
    expect(analysis(levelled, 3, 0).map(({ tag }) => tag)).toEqual(tags);
  });

  it("are drawn for the training groups at its places, and for no others", () => {
    const draw = levelDrawer(levelled, weighing, 1);
    const drawn = Array.from({ length: 600 }, (_, group) => draw(group, {})?.tag);
    drawn.forEach((tag, group) => void expect(tag === undefined).toBe(group % 6 >= 4));
    for (const level of levels.A) {
      const share = drawn.filter((tag) => tag === level).length / 400;
      expect(Math.abs(share - 1 / 3)).toBeLessThan(0.08);
    }
  });

  it("are the tag of a prompt, whose instance stays that of its number", () => {
    expect(promptOf(levelled, 1, 0, "A:z")).toEqual({ ...promptOf(levelled, 1, 0), tag: "A:z" });
  });
});

describe("a group's prompt", () => {
  it("has the instance seed of its number, and the tag of its place in the window", () => {
    const prompts = Array.from({ length: 6 }, (_, group) => promptOf(groups, group, group));
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

  it("validates on the same instances with the same draws every time, in sequences of their own", () => {
    const [first, second] = [validation(groups, 0, 0), validation(groups, 1, 9)];
    expect(first.map((prompt) => prompt.seed)).toEqual(second.map((prompt) => prompt.seed));
    expect(first.map((prompt) => samplingKey(0, "val", prompt, 1, 2))).toEqual(
      second.map((prompt) => samplingKey(0, "val", prompt, 1, 2)),
    );
    const sequences = [...first, ...second].map((prompt) => sequenceId("val", prompt, 0));
    expect(new Set(sequences).size).toBe(6);
  });

  it("analyses the same instances every time, which nobody else plays, with draws and sequences of their own", () => {
    const seeds = (prompts: ReturnType<typeof analysis>) => prompts.map(({ seed }) => seed);
    const [first, second] = [analysis(groups, 0, 0), analysis(groups, 50, 9)];
    expect(seeds(first)).toEqual(seeds(second));
    expect(second.map(({ admittedAt, tag }) => [admittedAt, tag])).toEqual([
      [9, "A"],
      [9, "A"],
      [9, "B"],
    ]);
    const training = Array.from({ length: 1_000 }, (_, group) => promptOf(groups, group, 0));
    const validated = validation(groups, 7, 0);
    const all = [...training, ...first, ...second];
    expect(new Set([...training, ...validated, ...first].map(({ seed }) => seed)).size).toBe(1_003);
    expect(new Set(all.map((prompt) => samplingKey(0, "train", prompt, 0, 1).counters[0])).size).toBe(1_006);
    const sequences = [
      ...all.map((prompt) => sequenceId("train", prompt, 3)),
      ...validated.map((prompt) => sequenceId("val", prompt, 3)),
    ];
    expect(new Set(sequences).size).toBe(1_009);
  });

  it("gives train and validation streams and sequences apart", () => {
    const prompt = { group: 10_000, tag: "A", seed: 10_000, size: 4, admittedAt: 0 };
    expect(samplingKey(0, "val", prompt, 0, 1)).not.toEqual(samplingKey(0, "train", prompt, 0, 1));
    expect(sequenceId("val", prompt, 0)).not.toBe(sequenceId("train", prompt, 0));
  });
});
