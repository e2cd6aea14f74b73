import { describe, expect, it } from "vitest";
import { decidingKeys, differingKey } from "../../../../src/observe/record/replies/decidingKeys.ts";
import { configWith } from "../../../build/config.ts";

const changedKey = (before: Parameters<typeof configWith>[0], after: Parameters<typeof configWith>[0]) =>
  differingKey(decidingKeys(configWith(before)), decidingKeys(configWith(after)));

describe("the keys that decide replies and updates", () => {
  it("hold the number of steps only if the learning rate decays over it", () => {
    const [short, long] = [{ trainer: { total_training_steps: 3 } }, { trainer: { total_training_steps: 4 } }];
    expect(changedKey(short, long)).toBeUndefined();
    const decaying = { actor: { lr_decay: "linear" } } as const;
    expect(changedKey({ ...short, ...decaying }, { ...long, ...decaying })).toBe("trainer.total_training_steps");
  });

  it("hold what decides an update, and not what is only observed", () => {
    expect(changedKey({}, { actor: { lr: 0.5 } })).toBe("actor.lr");
    expect(changedKey({}, { pipeline: { max_staleness: 7 } })).toBe("pipeline.max_staleness");
    expect(changedKey({}, { trainer: { save_freq: 7 }, metrics: { console: "off" } })).toBeUndefined();
  });
});
