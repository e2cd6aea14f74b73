/** The lake of the sweep `failures`: how many of its turns fail, which ones, and what a failure does. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { configDir } from "../../../pipelines/paths.ts";
import { load } from "../../../src/config/resolve.ts";
import { stream } from "../../../src/domain/Random.ts";
import type { BoundEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { decodePreset, loadRegistry } from "../../../src/env/games/registry.ts";
import { instanceOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import { standardErrors } from "../games/statistics.ts";

const env_type = new URL("../../../docs/examples/environment/flakyLake.mjs", import.meta.url).pathname;
const registry = await loadRegistry([env_type]);

const lakeWith = (keys: Readonly<Record<string, unknown>>): BoundEnvironment => {
  const env_config = { success_rate: 0.8, failure_rate: 0.1, ...keys };
  const environment = Result.getOrThrow(decodePreset("FlakyLake", { env_type, env_config }, registry));
  if (environment.asynchronous) throw new Error("the lake is asynchronous");
  return environment;
};

const none = lakeWith({ failure: "none" });
const error = lakeWith({ failure: "error" });
const zero = lakeWith({ failure: "zero" });
const late = lakeWith({ failure: "zero", from_turn: 3 });
const plain = preset("FrozenLake");
const start = plain.reset(instanceOf(3), "train");

const noiseOf = (member: number, turn: number, action = 0) =>
  stream({ seed: 7, purpose: "noise", counters: [0, member, turn, action] });
const members = Array.from({ length: 2000 }, (_, member) => member);

/** True if the first action of a member's turn fails. */
const hasFailed = (lake: BoundEnvironment, member: number, turn: number): boolean => {
  try {
    const { info } = lake.step(start, "Left", noiseOf(member, turn));
    return "total_failures" in info && info.total_failures === 1;
  } catch (cause) {
    expect(String(cause)).toContain("this turn was made to fail");
    return true;
  }
};

describe("a flaky lake", () => {
  it("fails in the configured share of turns, in the same ones by an error and by a reward of 0", () => {
    const failed = members.map((member) => hasFailed(zero, member, 2));
    const counts = failed.map(Number);
    expect(standardErrors(counts, 0.1, Infinity)).toBeLessThan(3.5);
    expect(members.map((member) => hasFailed(error, member, 2))).toEqual(failed);
    expect(members.some((member) => hasFailed(none, member, 2))).toBe(false);
  });

  it("fails from a turn on, where the lake that fails from the first turn does", () => {
    for (const turn of [1, 2]) expect(members.some((member) => hasFailed(late, member, turn))).toBe(false);
    for (const turn of [3, 5]) {
      const failed = members.map((member) => hasFailed(late, member, turn));
      expect(failed).toContain(true);
      expect(failed).toEqual(members.map((member) => hasFailed(zero, member, turn)));
    }
  });

  it("fails before the first action of a turn only", () => {
    for (const member of members) expect(() => error.step(start, "Left", noiseOf(member, 2, 1))).not.toThrow();
  });

  it("is FrozenLake elsewhere, slips and texts included", () => {
    expect(none.reset(instanceOf(3), "train")).toEqual(start);
    expect([none.type, none.compact(start)]).toEqual([plain.type, plain.compact(start)]);
    const unfailed = members.filter((member) => !hasFailed(zero, member, 2)).slice(0, 200);
    for (const member of unfailed) {
      const expected = plain.step(start, "Left", noiseOf(member, 2));
      for (const lake of [none, error, zero]) expect(lake.step(start, "Left", noiseOf(member, 2))).toEqual(expected);
    }
  });

  it("ends an episode for good that counts as 0", () => {
    const failing = members.find((member) => hasFailed(zero, member, 2)) ?? -1;
    const ended = zero.step(start, "Left", noiseOf(failing, 2));
    expect(ended).toMatchObject({ reward: 0, terminated: true, truncated: false, info: { success: false } });
    const after = zero.step(ended.state, "Right", noiseOf(failing, 3));
    expect(after).toMatchObject({ state: ended.state, reward: 0, terminated: true, info: { total_failures: 0 } });
  });

  it("refuses what is no action whether the turn fails or not", () => {
    for (const member of members.slice(0, 100)) {
      expect(() => zero.step(start, "Jump", noiseOf(member, 2))).toThrow(/is not an action/);
    }
  });
});

describe("its run file", () => {
  const folder = new URL("../../../docs/examples/environment/", import.meta.url).pathname;

  it.effect("trains on it, and validates on FrozenLake, which never fails", () =>
    Effect.gen(function* () {
      const config = yield* load(`${folder}flakyLake.yaml`, [], configDir);
      const { train, val } = config.es_manager;
      expect([train.tags, val.tags]).toEqual([["FlakyLake"], ["FrozenLake"]]);
      expect(config.custom_envs.FlakyLake?.env_type).toBe(env_type);
      expect(config.custom_envs.FrozenLake?.env_type).toBe("frozen_lake");
    }),
  );

  it.effect("is the quickstart but for the lake", () =>
    Effect.gen(function* () {
      const { custom_envs: _, es_manager, run, ...flaky } = yield* load(`${folder}flakyLake.yaml`, [], configDir);
      const {
        custom_envs: __,
        es_manager: groups,
        run: named,
        ...quickstart
      } = yield* load("quickstart", [], configDir);
      expect(flaky).toEqual(quickstart);
      expect({ ...es_manager, train: { ...es_manager.train, tags: ["FrozenLake"] } }).toEqual(groups);
      expect({ ...run, name: named.name }).toEqual(named);
    }),
  );
});
