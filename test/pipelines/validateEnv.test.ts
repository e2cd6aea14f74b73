import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import Lights from "../../docs/examples/environment/lights.ts";
import { configDir } from "../../pipelines/paths.ts";
import { validateEnv } from "../../pipelines/validateEnv.ts";
import { load } from "../../src/config/resolve.ts";
import { runCheck } from "../../src/env/validate/Check.ts";
import { checks, contract } from "../../src/env/validate/main.ts";
import { preset } from "../env/contract/presets.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const lake = preset("FrozenLake", { success_rate: 1 });

it.live("finds that a preset of ours keeps the contract, in a table", () =>
  Effect.gen(function* () {
    const config = yield* load("base", [], configDir);
    const { isKept, lines } = yield* validateEnv({ config, tag: "CoordFrozenLake", json: false, width: 80 });
    expect(isKept).toBe(true);
    expect(lines.at(-1)).toMatch(/^CoordFrozenLake: 1\d passed, 0 failed, \d do not apply$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  }),
);

it.live("says what is missing where an environment cannot run here", () =>
  Effect.gen(function* () {
    const config = yield* load("base", ["custom_envs.Remote.env_config.url=http://127.0.0.1:9"], configDir);
    const { isKept, lines } = yield* validateEnv({ config, tag: "Remote", json: false, width: 80 });
    expect([isKept, lines.join(" ")]).toEqual([true, expect.stringContaining("not examined here")]);
  }),
);

it.live("says once that a step fails, with the value, the action and the seed", () =>
  Effect.gen(function* () {
    const dir = yield* temporaryFolder;
    const path = join(dir, "lights.ts");
    const source = readFileSync(new URL("../../docs/examples/environment/lights.ts", import.meta.url), "utf8");
    writeFileSync(path, source.replaceAll(/reward: [^,\n]+,/g, "reward: Number.NaN,"));
    const preset = `custom_envs.Lights={env_type: "${path}", env_config: {lamps: 4}, max_actions_per_traj: 4, env_instruction: x}`;
    const config = yield* load("base", [preset], configDir);
    const { isKept, lines } = yield* validateEnv({ config, tag: "Lights", json: true, width: 80 });
    const { checks: found } = JSON.parse(lines.join("")) as { checks: { status: string; why: string }[] };
    const failed = found.filter(({ status }) => status === "fail").map(({ why }) => why);
    expect([isKept, failed]).toEqual([
      false,
      [expect.stringMatching(/^action 1 \("[1-4]"\) of seed 0: step of .* reward is NaN, not a number/)],
    ]);
    expect(found.filter(({ why }) => why === "not examined: it fails, as said above").length).toBeGreaterThan(5);
  }),
);

it.each(contract(Lights, { lamps: 6 }))("the tutorial's environment: $name", ({ run }) => run());

type Break = { readonly check: string; readonly broken: Partial<typeof lake> };

let calls = 0;
const stepped = (
  change: (transition: ReturnType<typeof lake.step>, state: unknown) => object,
): Partial<typeof lake> => ({
  step: (state, action, noise) => {
    const transition = lake.step(state, action, noise);
    return { ...transition, ...change(transition, state) };
  },
});

it.each<Break>([
  {
    check: "the same seed gives the same instance",
    broken: { reset: (instance, split) => ({ ...(lake.reset(instance, split) as object), calls: calls++ }) },
  },
  { check: "the same state, action and noise give the same transition", broken: stepped(() => ({ reward: calls++ })) },
  {
    check: "no state is mutated",
    broken: stepped((_, state) => {
      (state as { touched?: boolean }).touched = true;
      return {};
    }),
  },
  { check: "instances are distinct, and so are their content keys", broken: { contentKey: () => "lake" } },
  { check: "training has instances that are not validation's", broken: { contentKey: () => "lake" } },
  { check: "rewards are finite", broken: stepped(() => ({ reward: Number.NaN })) },
  {
    check: "an episode is terminated or truncated, never both",
    broken: stepped(() => ({ terminated: true, truncated: true })),
  },
  {
    check: "an action that is not named is refused",
    broken: { step: (state, _, noise) => lake.step(state, "Left", noise) },
  },
  { check: "an action that is not named is refused", broken: { actions: () => ["Left", "Down", "Left"] } },
  { check: "one state has one text, which is not empty", broken: { compact: () => "" } },
  { check: "the solver reaches success on every instance", broken: { solve: () => ["Left"] } },
  {
    check: "doing nothing stays below",
    broken: stepped(({ info }) => ({ terminated: true, info: { ...info, success: true } })),
  },
  { check: "random play stays below", broken: stepped(() => ({ reward: 1 })) },
  {
    check: "no answer is visible in the text",
    broken: { render: (state) => `${lake.render(state)} ${(lake.solve?.(state) ?? []).join(" ")}` },
  },
])("an environment that breaks it does not pass: $check", async ({ broken, check }) => {
  const found = checks.find(({ name }) => name === check);
  const finding = await runCheck(found!, { environment: { ...lake, ...broken }, actions: 40 });
  expect(finding.status).not.toBe("pass");
  expect(await runCheck(found!, { environment: lake, actions: 40 })).toMatchObject({ status: "pass" });
});
