/** Run files from code: parts of a configuration, overrides, and environments of one's own. */
import { describe, expect, it } from "vitest";
import { BadInput, compose } from "../../pipelines/main.ts";

describe("a run file from code", () => {
  it("is the named one under the changes, as under the same overrides", async () => {
    const changed = await compose("quickstart", { pipeline: { max_staleness: 1 }, actor: { lr: 0.001 } });
    expect(changed).toEqual(await compose("quickstart", ["pipeline.max_staleness=1", "actor.lr=0.001"]));
    expect(changed.pipeline.max_staleness).toBe(1);
  });

  it("plays environments of one's own in training and validation", async () => {
    const lamps = new URL("../../docs/examples/environment/lamps.ts", import.meta.url);
    const config = await compose(
      "quickstart",
      { custom_envs: { Lamps: { max_tokens: 7 } } },
      { environments: { Lamps: lamps } },
    );
    expect(config.custom_envs.Lamps).toMatchObject({ env_type: lamps.pathname, max_tokens: 7 });
    const { train, val } = config.es_manager;
    expect([train.tags, val.tags]).toEqual([["Lamps"], ["Lamps"]]);
    expect(train.n_groups).toEqual([train.env_groups]);
  });

  it("plays what the changes say beside them", async () => {
    const environments = { Lamps: "docs/examples/environment/lamps.ts" };
    const config = await compose("quickstart", { es_manager: { train: { tags: ["FrozenLake"] } } }, { environments });
    expect(config.es_manager.train.tags).toEqual(["FrozenLake"]);
    expect(config.custom_envs.Lamps?.env_type).toBe(`${process.cwd()}/docs/examples/environment/lamps.ts`);
  });

  it("is refused with a typed error that needs no stack", async () => {
    const error = await compose("quickstart", ["pipeline.max_stalenes=1"]).catch((cause: unknown) => cause);
    if (!(error instanceof BadInput)) return expect.unreachable();
    expect(error.message).toContain("pipeline.max_stalenes");
    expect(error.message).toContain("nearest: pipeline.max_staleness");
    expect(error.stack?.split("\n").some((line) => /^\s+at /.test(line))).toBe(false);
  });
});
