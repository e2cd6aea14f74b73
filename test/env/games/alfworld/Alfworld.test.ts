/** ALFWorld over the wire, in a house of one room. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Split } from "../../../../src/env/contract/Environment.ts";
import * as Sessions from "../../../../src/env/openenv/Sessions.ts";
import { instanceOf } from "../../contract/players.ts";
import { asyncPreset } from "../../contract/presets.ts";
import { keyOfSeed, playSeven, resetOnForeignServer } from "../../openenv/playing.ts";
import { patient } from "../../openenv/serving.ts";
import { type House, house } from "./house.ts";

let server: House;
beforeEach(async () => {
  server = await house();
});
afterEach(async () => {
  await server.close();
  expect(Sessions.openCount()).toBe(0);
});

const alfworld = (keys: Readonly<Record<string, unknown>> = {}, tag = "Alfworld") =>
  asyncPreset(tag, { url: server.url, retries: 0, ...keys });

const play = (actions: readonly string[], keys: Readonly<Record<string, unknown>> = {}) =>
  playSeven(alfworld(keys), actions);

const take = "take book 1 from desk 1";
const put = "move book 1 to bed 1";

describe("an observation", () => {
  it("is the engine's, a blank line, and the admissible actions", async () => {
    const { environment, start } = await play([]);
    expect(environment.render(start)).toBe(
      "You are in room 2 of train.\n\nYour task is to: put the book on the bed.\n\nAdmissible actions: [look, inventory, take book 1 from desk 1]",
    );
    expect(environment.actions(start)).toBeNull();
  });

  it("is compact with the task in front", async () => {
    const { environment, state } = await play([take]);
    expect(environment.compact(state)).toBe(
      "task: put the book on the bed. seen: You pick up the book 1 from the desk 1.",
    );
  });
});

describe("a step", () => {
  it("that finishes the task ends the game with reward 10", async () => {
    const { transitions } = await play([take, put]);
    expect(transitions.map(({ reward }) => reward)).toEqual([0, 10]);
    expect(transitions.at(-1)).toMatchObject({
      terminated: true,
      truncated: false,
      info: { success: true, action_is_effective: true, action_is_valid: true },
    });
  });

  it("earns the score that is set", async () => {
    expect((await play([take, put], { score: 1 })).last.reward).toBe(1);
  });

  it("that is not admissible is played, and is neither valid nor effective", async () => {
    const { environment, last, state } = await play([put]);
    expect(last).toMatchObject({
      reward: 0,
      terminated: false,
      info: { action_is_valid: false, action_is_effective: false },
    });
    expect(environment.render(state)).toMatch(/^Nothing happens\./);
  });

  it("that is the engine's last without the task done truncates", async () => {
    const { last } = await play(Array.from({ length: 6 }, () => "look"));
    expect(last).toMatchObject({ reward: 0, terminated: false, truncated: true, info: { success: false } });
  });

  it("after the end changes nothing", async () => {
    const { transitions } = await play([take, put, "look"]);
    const [won, after] = transitions.slice(-2);
    expect(after).toMatchObject({ state: won!.state, reward: 0, terminated: true, info: { success: true } });
  });
});

describe("the games", () => {
  it.for([
    ["Alfworld", "train", { seed: 7, split: "train" }],
    ["Alfworld", "val", { seed: 7, split: "eval_in_distribution" }],
    ["AlfworldOOD", "train", { seed: 7, split: "train" }],
    ["AlfworldOOD", "val", { seed: 7, split: "eval_out_of_distribution" }],
  ] as const)("of %s in %s are asked for by %j", async ([tag, split, expected]) => {
    await alfworld({}, tag).reset(instanceOf(7), split as Split, patient());
    expect(server.resets()).toEqual([expected]);
  });

  it("are told apart by what they begin with", async () => {
    const environment = alfworld();
    const key = (seed: number) => keyOfSeed(environment, seed);
    expect(await key(2)).toBe(await key(7));
    expect(await key(2)).not.toBe(await key(3));
  });

  it("cannot be had from a server that is no house", async () => {
    expect(await resetOnForeignServer((url) => alfworld({ url }))).toMatchObject({ reason: "nonsense" });
  });
});

describe("ALFWorld", () => {
  it("lacks a server where none listens, and says what to start", async () => {
    expect(await alfworld().lacks?.()).toEqual([]);
    const { url } = server;
    await server.close();
    expect(await alfworld({ url }).lacks?.()).toEqual([expect.stringMatching(/alfworld\/server\.py.*env_config\.url/)]);
    server = await house();
  });
});
