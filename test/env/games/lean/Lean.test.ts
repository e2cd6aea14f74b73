/** The environment as a run holds it: bound, with the data that comes with it, against a stand-in server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindAsync } from "../../../../src/env/contract/BoundEnvironment.ts";
import { Lean } from "../../../../src/env/games/lean/Lean.ts";
import type { LeanState } from "../../../../src/env/games/lean/Proof.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { configWith } from "./config.ts";
import { type StandIn, standIn } from "./standIn.ts";

let server: StandIn;
beforeAll(async () => {
  server = await standIn();
});
afterAll(() => server.close());

const { signal } = new AbortController();
const noise = noiseOf(0, 0, 0);
const environment = (keys: Readonly<Record<string, unknown>> = {}) =>
  bindAsync(Lean, configWith({ server_url: server.url, ...keys }));

/** Plays tactics from the instance of a seed; every state is cloned on its way. */
const play = async (tactics: readonly string[], keys: Readonly<Record<string, unknown>> = {}) => {
  const lean = environment(keys);
  let state = structuredClone(await lean.reset(instanceOf(5), "train", signal));
  const transitions = [];
  for (const tactic of tactics) {
    const transition = structuredClone(await lean.step(state, tactic, noise, signal));
    transitions.push(transition);
    state = transition.state;
  }
  return { lean, state, transitions };
};

describe("instances", () => {
  const names = async (split: "train" | "val", keys: Readonly<Record<string, unknown>> = {}) => {
    const states = Array.from({ length: 60 }, (_, seed) => environment(keys).reset(instanceOf(seed), split, signal));
    return (await Promise.all(states)).map((state) => (state as LeanState).theorem.name);
  };

  it("are the same from the same stream and different from others", async () => {
    const first = await names("train");
    expect(await names("train")).toEqual(first);
    expect(new Set(first).size).toBeGreaterThan(10);
  });

  it("of validation are never met in training", async () => {
    const [train, val] = [new Set(await names("train")), new Set(await names("val"))];
    expect(val.size).toBeGreaterThan(2);
    expect([...val].filter((name) => train.has(name))).toEqual([]);
  });

  it("are those Python's random.choice picks, where RAGEN's are asked for", async () => {
    // random.Random(seed).choice(range(33)) for the seeds 0 to 5.
    const ragen = await names("train", { instances: "ragen", val_share: 0 });
    const inOrder = ["mul_positive", "double_negation", "chain", "le_succ", "le_succ", "even_or_odd"];
    expect(ragen.slice(0, 6)).toEqual(inOrder.map((name) => `elementary_${name}`));
  });

  it("are plain data of one content each", async () => {
    const lean = environment();
    const state = await lean.reset(instanceOf(1), "train", signal);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    expect(lean.contentKey(state)).toContain((state as LeanState).theorem.statement);
  });
});

describe("an episode", () => {
  it("earns 0.9 for an accepted tactic, -1.1 for a rejected one and 10.9 for the proof, which ends it", async () => {
    const { lean, state, transitions } = await play(["intro", "nonsense", "qed"]);
    expect(transitions.map(({ reward }) => reward)).toEqual([0.9, -1.1, 10.9]);
    expect(transitions.map(({ terminated, truncated }) => [terminated, truncated])).toEqual([
      [false, false],
      [false, false],
      [true, false],
    ]);
    expect(transitions[2]!.info).toEqual({
      success: true,
      action_is_effective: true,
      action_is_valid: true,
      accepted: true,
      timed_out: false,
    });
    expect(lean.render(state)).toContain("  03. qed [✓ accepted]");
  });

  it("does not keep a rejected tactic", async () => {
    server.asked.length = 0;
    const { state } = await play(["intro", "nonsense", "step"]);
    expect((state as LeanState).tactics).toEqual(["intro", "step"]);
    const [, , last] = server.asked;
    expect(JSON.stringify(last!.body)).toContain(String.raw`:= by\n  intro\n  step\n`);
  });

  it("earns -2.1 for a proof that Lean gives up on, and goes on", async () => {
    const { transitions } = await play(["loop"]);
    expect(transitions[0]).toMatchObject({
      reward: -2.1,
      terminated: false,
      truncated: false,
      info: { timed_out: true },
    });
  });

  it("asks no server of an empty tactic", async () => {
    server.asked.length = 0;
    const { transitions } = await play(["  "]);
    expect(transitions[0]).toMatchObject({ reward: -1.1, info: { action_is_valid: false, success: false } });
    expect(server.asked).toEqual([]);
  });

  it("is cut after max_steps, at a price", async () => {
    const { transitions } = await play(["intro", "nonsense"], { max_steps: 2 });
    expect(transitions[1]).toMatchObject({ reward: -3.1, terminated: false, truncated: true });
  });

  it.each([
    ["a proof", ["qed"], {}],
    ["a cut", ["intro"], { max_steps: 1 }],
  ])("stays as it is after %s", async (_, tactics, keys) => {
    const { lean, state, transitions } = await play(tactics, keys);
    const more = await lean.step(state, "intro", noise, signal);
    expect(more.state).toEqual(state);
    const { terminated, truncated } = transitions[0]!;
    expect([more.reward, more.terminated, more.truncated]).toEqual([0, terminated, truncated]);
  });

  it("fails with the server's failure, and earns nothing for it", async () => {
    const lean = environment({ max_retries: 1 });
    const state = await lean.reset(instanceOf(5), "train", signal);
    server.ill.push({ status: 500, body: "" });
    await expect(lean.step(state, "intro", noise, signal)).rejects.toThrow("the Lean server answered with status 500");
  });
});

describe("what a small model is shown", () => {
  it("is plain and short: the goal, and what became of the last tactic", async () => {
    const { lean, state } = await play(["intro"]);
    expect(lean.compact(state)).toBe("goal p q : Prop |- q and p\nok");
    const rejected = await lean.step(state, "nonsense", noise, signal);
    expect(lean.compact(rejected.state)).toBe("goal p q : Prop |- q and p\nno");
    const proved = await lean.step(state, "qed", noise, signal);
    expect(lean.compact(proved.state)).toBe("proved");
  });

  it("is plain and short from the start, for every theorem", async () => {
    const lean = environment({ val_share: 0 });
    for (let seed = 0; seed < 80; seed++) {
      const text = lean.compact(await lean.reset(instanceOf(seed), "train", signal));
      expect(text).toMatch(/^goal [\x20-\x7e]+$/);
      expect(text).not.toContain("?");
      expect(text.split(/\s+/).length).toBeLessThanOrEqual(45);
    }
  });
});

describe("the data that comes with it", () => {
  it("is usable to the last row", async () => {
    expect(await environment().report?.()).toEqual([]);
  });
});

describe("what it lacks", () => {
  it("is nothing where the server is well", async () => {
    expect(await environment().lacks?.()).toEqual([]);
  });

  it("is said with how to start a server, where none answers", async () => {
    const { close, url } = await standIn();
    await close();
    const [sentence, ...more] = (await environment({ server_url: url }).lacks?.())!;
    expect(more).toEqual([]);
    expect(sentence).toMatch(
      /^the Lean server at http:\/\/127.0.0.1:\d+ cannot be reached: .*; start one \(docker run .*server_url$/,
    );
  });

  it("is a data file that is not there", async () => {
    const lean = environment({ path: "config/data/lean/elementry.jsonl" });
    expect((await lean.lacks?.())!.join()).toContain("nearest: config/data/lean/elementary.jsonl");
    await expect(lean.prepare?.()).rejects.toThrow("no such file");
  });
});
