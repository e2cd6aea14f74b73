/**
 * The promises of every environment as tests of one bound environment, of either kind. An asynchronous one must have all it needs here.
 * `certain` is the same environment without transition noise, on which a solver's plan must succeed.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { AnyEnvironment } from "../../src/env/BoundEnvironment.ts";
import type { Split } from "../../src/env/Environment.ts";
import { IllegalAction } from "../../src/env/IllegalAction.ts";
import { type Act, instanceOf, noiseOf, play, playWaiting } from "./players.ts";

const seeds = Array.from({ length: 24 }, (_, seed) => seed);

/** Freezes a state of plain data deeply, so that any mutation throws. */
const deepFreeze = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
};

export interface Subject {
  readonly environment: AnyEnvironment;
  readonly certain: AnyEnvironment;
  /** Most actions of one episode. */
  readonly actions: number;
  /** Samples actions where they are free text. */
  readonly act?: Act | undefined;
}

export const contract = (name: string, { act, actions, certain, environment }: Subject): void => {
  const { signal } = new AbortController();
  const random = (seed: number, member: number) => playWaiting(environment, seed, member, actions, signal, act);
  const reset = async (seed: number, split: Split = "train") => environment.reset(instanceOf(seed), split, signal);
  const step = async (state: unknown, action: string, seed: number, member: number, at: number) =>
    environment.step(state, action, noiseOf(seed, member, at), signal);
  const solver = certain.asynchronous || certain.solve === null ? null : { ...certain, solve: certain.solve };

  describe(name, () => {
    beforeAll(async () => {
      await environment.prepare?.();
      await certain.prepare?.();
    });

    it("makes the same instance from the same stream", async () => {
      for (const seed of seeds) {
        expect(await reset(seed)).toEqual(await reset(seed));
      }
    });

    it("makes different instances from different streams", async () => {
      const starts = await Promise.all(seeds.map((seed) => reset(seed)));
      const keys = new Set(starts.map((start) => environment.contentKey(start)));
      expect(keys.size).toBeGreaterThan(seeds.length / 3);
    });

    it("makes the same transitions from the same state, action and noise", async () => {
      for (const seed of seeds) {
        expect(await random(seed, 1)).toEqual(await random(seed, 1));
      }
    });

    it("never mutates a state", async () => {
      for (const seed of seeds) {
        let state = deepFreeze(await reset(seed));
        for (const [at, action] of (await random(seed, 2)).actions.entries()) {
          environment.render(state);
          environment.compact(state);
          environment.actions(state);
          environment.contentKey(state);
          if (!environment.asynchronous) environment.solve?.(state);
          const transition = await step(state, action, seed, 2, at);
          state = deepFreeze(transition.state);
        }
      }
    });

    it("has the same future after a structured clone", async () => {
      for (const seed of seeds) {
        const whole = await random(seed, 3);
        let copied = structuredClone(await reset(seed));
        for (const [at, expected] of whole.transitions.entries()) {
          const transition = structuredClone(await step(copied, whole.actions[at]!, seed, 3, at));
          expect(transition).toEqual(expected);
          copied = transition.state;
        }
      }
    });

    it("survives JSON, so that an episode can be checkpointed", async () => {
      const start = await reset(4);
      expect(JSON.parse(JSON.stringify(start))).toEqual(start);
    });

    it("says numbers and booleans only in info, the three common keys among them", async () => {
      for (const seed of seeds) {
        for (const { info } of (await random(seed, 4)).transitions) {
          const entries = Object.entries(info);
          expect(entries.every(([, value]) => typeof value === "boolean" || Number.isFinite(value))).toBe(true);
          expect(entries.map(([key]) => key)).toEqual(
            expect.arrayContaining(["success", "action_is_effective", "action_is_valid"]),
          );
        }
      }
    });

    it("ends an episode as terminated or truncated, never both, and succeeds only when terminated", async () => {
      for (const seed of seeds) {
        for (const { info, reward, terminated, truncated } of (await random(seed, 5)).transitions) {
          expect(terminated && truncated).toBe(false);
          expect(info.success && !terminated).toBe(false);
          expect(Number.isFinite(reward)).toBe(true);
        }
      }
    });

    it("stays as it is after the end, without further reward", async () => {
      let ended = 0;
      for (const seed of seeds) {
        const last = (await random(seed, 6)).transitions.at(-1)!;
        if (!last.terminated && !last.truncated) continue;
        ended++;
        const [action] = environment.actions(last.state) ?? ["anything"];
        const after = await step(last.state, action!, seed, 6, actions);
        expect(after.state).toEqual(last.state);
        expect(after.reward).toBe(0);
        expect([after.terminated, after.truncated]).toEqual([last.terminated, last.truncated]);
      }
      expect(ended).toBeGreaterThan(0);
    });

    it("throws IllegalAction, listing the valid ones, for an action it does not name", async () => {
      const state = await reset(7);
      const valid = environment.actions(state);
      if (valid === null) return expect((await step(state, "anything", 7, 0, 0)).state).toBeDefined();
      for (const action of ["", "jump", valid[0]!.toLowerCase(), "toString"].filter((name) => !valid.includes(name))) {
        try {
          await step(state, action, 7, 0, 0);
          expect.unreachable(`accepted "${action}"`);
        } catch (error) {
          expect(error).toBeInstanceOf(IllegalAction);
          expect(error).toMatchObject({ action, valid });
        }
      }
    });

    it("renders the same text from the same state, and never an empty one", async () => {
      for (const seed of seeds) {
        const state = await reset(seed);
        const copy = structuredClone(state);
        expect(environment.render(copy)).toBe(environment.render(state));
        expect(environment.compact(copy)).toBe(environment.compact(state));
        expect(environment.contentKey(copy)).toBe(environment.contentKey(state));
        expect(environment.render(state)).not.toBe("");
        expect(environment.compact(state)).not.toBe("");
      }
    });

    it("solves: its plans are legal, succeed and are as short as it says", async () => {
      if (solver === null) return expect(certain).not.toHaveProperty("solve", expect.any(Function));
      const { solve } = solver;
      for (const seed of seeds) {
        const start = solver.reset(instanceOf(seed), "train");
        const plan = solve(start);
        expect(plan).not.toBeNull();
        const played = play(solver, start, plan!, (at) => noiseOf(seed, 8, at));
        expect(played.success).toBe(true);
        expect(played.transitions.length).toBe(plan!.length);
        const [first] = played.transitions;
        expect(solve(first!.state)?.length).toBe(plan!.length - 1);
      }
    });

    it("thinks the same of the same plan, and names its first action", async () => {
      if (solver === null) return expect(certain).not.toHaveProperty("solve", expect.any(Function));
      const { solve } = solver;
      for (const seed of seeds) {
        const start = solver.reset(instanceOf(seed), "train");
        const plan = solve(start)!;
        const thought = solver.thought(start, plan);
        expect(solver.thought(structuredClone(start), plan)).toBe(thought);
        if (thought !== "") expect(thought).toContain(plan[0]);
      }
    });

    it("advises only what is legal", async () => {
      if (environment.asynchronous || environment.advise === null)
        return expect(environment).not.toHaveProperty("advise", expect.any(Function));
      for (const seed of seeds) {
        const start = environment.reset(instanceOf(seed), "train");
        const action = environment.advise(start)!;
        expect(environment.advise(structuredClone(start))).toBe(action);
        expect(environment.step(start, action, noiseOf(seed, 5, 0)).info.action_is_valid).toBe(true);
      }
    });

    it("gives instances of both splits", async () => {
      for (const split of ["train", "val"] as const) {
        const state = await reset(9, split);
        expect(environment.contentKey(state)).toBe(environment.contentKey(await reset(9, split)));
      }
    });
  });
};
