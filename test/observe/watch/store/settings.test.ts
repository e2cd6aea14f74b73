/** The keys of their configuration in which runs differ. */
import { expect, it } from "vitest";
import { differingSettings, settingsOf } from "../../../../src/observe/watch/store/settings.ts";

it("runs differ in the keys in which not all agree, whatever their own names are", () => {
  const one = settingsOf("run: { name: a, seed: 1 }\nactor: { lr: 1e-4 }\nrollout: { template: compact }\n");
  const two = settingsOf("run: { name: b, seed: 2 }\nactor: { lr: 1e-4 }\n");
  expect(differingSettings(new Map(Object.entries({ one, two })))).toEqual({
    one: { "run.seed": "1", "rollout.template": "compact" },
    two: { "run.seed": "2" },
  });
});

it("a configuration that cannot be read has no keys", () => {
  expect([settingsOf("[not, a: map"), settingsOf("- 1")]).toEqual([{}, {}]);
});
