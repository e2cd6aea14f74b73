/** Modules of the user's own for the learner: which are loaded, and what is said of one that cannot train. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadCustomParts } from "../../src/learner/CustomParts.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { actorDefaults, algorithmDefaults } from "./model.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-parts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const examples = join(packageRoot, "docs/examples");

/** Writes a module and returns its path. */
const moduleOf = (name: string, text: string): string => {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, text);
  return path;
};

/** A loss that sums over the targets. */
const reduced = `import { reduceSum } from "${join(packageRoot, "src/model/tensor/Layout.ts")}";
export default { surrogate: ({ logp }) => reduceSum(logp) };`;

const withLoss = (path: string, actor: Partial<typeof actorDefaults> = {}) =>
  loadCustomParts({
    actor: { ...actorDefaults, ...actor, policy_loss: "custom", custom_loss: path },
    algorithm: algorithmDefaults,
  });

const withEstimator = (path: string) =>
  loadCustomParts({
    actor: actorDefaults,
    algorithm: { ...algorithmDefaults, adv_estimator: "custom", custom_estimator: path },
  });

describe("the learner's modules", () => {
  it("are none by default", async () => {
    expect(await loadCustomParts({ actor: actorDefaults, algorithm: algorithmDefaults })).toEqual({});
  });

  it("are the examples' loss and estimator", async () => {
    expect((await withLoss(join(examples, "loss.ts"))).loss?.surrogate).toBeTypeOf("function");
    const { estimator } = await withEstimator(join(examples, "estimator.ts"));
    const turn = (reward: number) => ({ reward, tokens: 1, logProbs: Float32Array.of(-1) });
    const episodes = [
      { group: 1, score: 3, turns: [turn(1), turn(2)] },
      { group: 1, score: 1, turns: [turn(1)] },
    ];
    // The returns of the first turns are 1 + 0.95 * 2 and 1; nothing is compared with the second turn.
    const advantages = estimator?.estimate(episodes);
    expect(advantages?.flat()).toEqual([expect.closeTo(0.95, 9), 0, expect.closeTo(-0.95, 9)]);
  });

  it.each<[string, string, string]>([
    ["missing", "", "no default export (it exports nothing); write `export default` before the loss"],
    ["nothing", "export default {};", "the default export is no policy loss: it has no function surrogate"],
    [
      "constant",
      "export default { surrogate: ({ advantages }) => advantages };",
      "its gradient is 0 where the ratio is about 1",
    ],
    ["broken", "export default { surrogate: () => missing };", "broken.mjs:1: ReferenceError: missing is not defined"],
    ["scalar", "export default { surrogate: () => 1 };", "surrogate returned number, and not a tensor"],
    ["reduced", reduced, "surrogate returned a tensor of shape [], and not [targets]"],
  ])("refuse a loss that is %s", async (name, text, message) => {
    await expect(withLoss(moduleOf(name, text))).rejects.toThrow(message);
  });

  it("refuse a loss over sequences under another aggregation", async () => {
    const path = moduleOf("sequences", "export default { bySequence: true, surrogate: () => null };");
    await expect(withLoss(path, { loss_agg_mode: "token-mean" })).rejects.toThrow("nearest: seq-mean-token-mean");
  });

  it("refuse an estimator without its function", async () => {
    await expect(withEstimator(moduleOf("list", "export default [];"))).rejects.toThrow("it has no function estimate");
  });

  it("name the module's line where an estimator throws", async () => {
    const { estimator } = await withEstimator(moduleOf("thrower", "export default {\n  estimate: () => missing,\n};"));
    expect(() => estimator?.estimate([])).toThrow("algorithm.custom_estimator: thrower.mjs:2: ReferenceError");
  });
});
