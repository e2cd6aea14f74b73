import { expect, it } from "vitest";
import { bind } from "../../../src/env/contract/BoundEnvironment.ts";
import { defineEnvironment } from "../../../src/env/contract/defineEnvironment.ts";
import { instanceOf, noiseOf } from "../../../src/env/validate/players.ts";
import { planOf } from "../../../src/tools/cloning/Demonstration.ts";
import { searchPlan } from "../../../src/tools/cloning/searchPlan.ts";
import { preset } from "../../env/contract/presets.ts";

/** A walk to 3, which must be announced there; announced elsewhere it ends without success. */
const walk = (actions: readonly string[] | null) =>
  bind(
    defineEnvironment({
      type: "walk",
      reset: () => ({ at: 0 }),
      step: (_config, { at }, action) => {
        const next = at + (action === "Forth" ? 1 : action === "Back" ? -1 : 0);
        const ended = action === "Here";
        return { state: { at: next }, terminated: ended, success: ended && at === 3 };
      },
      render: (_config, { at }) => String(at),
      actions: () => actions,
    }),
    {},
  );

const start = (environment: ReturnType<typeof walk>) => environment.reset(instanceOf(0), "train");

it("finds a shortest plan, and none through an end without success", () => {
  const environment = walk(["Back", "Here", "Forth"]);
  expect(searchPlan(environment, start(environment))).toEqual(["Forth", "Forth", "Forth", "Here"]);
});

it("gives up without a listed action, and after as many states as it may look at", () => {
  const free = walk(null);
  expect(searchPlan(free, start(free))).toBeNull();
  const endless = walk(["Back", "Forth"]);
  expect(searchPlan(endless, start(endless))).toBeNull();
});

it("finds plans as short as a solver's", () => {
  const lake = preset("FrozenLake", { success_rate: 1 });
  for (const seed of [0, 1, 2, 3, 4, 5]) {
    const state = lake.reset(instanceOf(seed), "train");
    const plan = searchPlan(lake, state) ?? [];
    expect(plan).toHaveLength(lake.solve?.(state)?.length ?? -1);
    const last = plan.reduce<unknown>((at, action, i) => lake.step(at, action, noiseOf(seed, 0, i)).state, state);
    expect(lake.solve?.(last)).toEqual([]);
  }
});

it("plays for an environment with neither solver nor adviser only", () => {
  const environment = walk(["Back", "Here", "Forth"]);
  const state = start(environment);
  expect(planOf(environment, state)).toHaveLength(4);
  expect(planOf({ ...environment, advise: () => "Back" }, state)).toEqual(["Back"]);
  expect(planOf({ ...environment, solve: () => null }, state)).toBeNull();
});
