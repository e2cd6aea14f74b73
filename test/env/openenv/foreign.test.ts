/** OpenEnv servers of other projects: how their observations are read, and what they are sent. */
import { afterEach, describe, expect, it } from "vitest";
import { IllegalAction } from "../../../src/env/contract/IllegalAction.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { patient, rejection, remote } from "./serving.ts";
import { observe, type StandIn, say, standIn } from "./standIn.ts";

let server: StandIn;
afterEach(() => server.close());

/** A server with one observation for resets and one for steps; remembers what it heard. */
const scripted = async (first: object, then: object = first, reward: unknown = 0, done = false) => {
  const heard: { type: string; data: Record<string, unknown> }[] = [];
  server = await standIn({
    hear: (socket, message) => {
      heard.push(message);
      if (message.type === "reset") observe(socket, first);
      else observe(socket, then, reward, done);
    },
  });
  return heard;
};

const start = (keys: Readonly<Record<string, unknown>> = {}) => {
  const environment = remote(server.url, keys);
  return environment.reset(instanceOf(42), "val", patient()).then((state) => ({ environment, state }));
};

describe("an observation of a foreign server", () => {
  it.for([
    [{ prompt: "Guess", messages: [] }, {}, "Guess"],
    [{ question: null, message: "Hello" }, {}, "Hello"],
    [{ x: 1, y: 2 }, {}, '{"x":1,"y":2}'],
    [{ prompt: "Guess", board: [1, 2] }, { observation_field: "board" }, "[1,2]"],
  ] as const)("%j is shown, under %j, as %s", async ([observation, keys, text]) => {
    await scripted(observation);
    const { environment, state } = await start(keys);
    expect(environment.render(state)).toBe(text);
    expect(environment.actions(state)).toBeNull();
  });

  it("is cut to a few words of ASCII for small models", async () => {
    await scripted({ text: `caf\u00e9 ${"word ".repeat(100)}` });
    const { environment, state } = await start();
    const words = environment.compact(state).split(" ");
    expect(words).toHaveLength(45);
    expect(words.slice(0, 2)).toEqual(["caf", "word"]);
  });

  it("lists legal actions in the field that is named", async () => {
    await scripted({ text: "maze", legal_actions: [0, 2] });
    const { environment, state } = await start({ legal_actions_field: "legal_actions", action_form: "number" });
    expect(environment.actions(state)).toEqual(["0", "2"]);
    await expect(environment.step(state, "1", noiseOf(1, 0, 0), patient())).rejects.toBeInstanceOf(IllegalAction);
  });

  it("without the field that is named is nonsense", async () => {
    await scripted({ text: "maze" });
    expect(await rejection(start({ observation_field: "board" }))).toMatchObject({ reason: "nonsense" });
    expect(await rejection(start({ legal_actions_field: "legal" }))).toMatchObject({ reason: "nonsense" });
  });

  it("names its instance by the text it begins with", async () => {
    await scripted({ text: "a" }, { text: "b" });
    const { environment, state } = await start();
    const after = await environment.step(state, "go", noiseOf(1, 0, 0), patient());
    expect(environment.contentKey(after.state)).toBe(environment.contentKey(state));
    await environment.release?.(after.state);
  });
});

describe("a foreign server is told", () => {
  it("the seed, and our own keys beside it", async () => {
    const heard = await scripted({ text: "a" });
    await start({ reset_options: { level: "hard" } });
    expect(heard).toEqual([
      {
        type: "reset",
        data: { level: "hard", seed: 42, split: "val", instance: { seed: 42, purpose: "instance", counters: [] } },
      },
    ]);
  });

  it("nothing of ours where stream_keys is off", async () => {
    const heard = await scripted({ text: "a" });
    const { environment, state } = await start({ stream_keys: false, action_field: "message" });
    const { state: after } = await environment.step(state, "hello", noiseOf(1, 0, 0), patient());
    expect(heard.map(({ data }) => data)).toEqual([{ seed: 42 }, { seed: 42 }, { message: "hello" }]);
    await environment.release?.(after);
  });

  it.for([
    [{ action_field: "message" }, "hi", { message: "hi" }],
    [{ action_form: "number" }, " 3 ", { action: 3 }],
    [{ action_form: "json" }, '{"tool":"look"}', { tool: "look" }],
  ] as const)("an action, under %j of %j, as %j", async ([keys, action, expected]) => {
    const heard = await scripted({ text: "a" });
    const { environment, state } = await start(keys);
    const noise = noiseOf(7, 1, 2);
    const { state: after } = await environment.step(state, action, noise, patient());
    expect(heard.at(-1)).toEqual({ type: "step", data: { ...expected, metadata: { noise: noise.key } } });
    await environment.release?.(after);
  });
});

describe("a step on a foreign server", () => {
  const step = async (keys: Readonly<Record<string, unknown>>, action = "go") => {
    const { environment, state } = await start(keys);
    const transition = await environment.step(state, action, noiseOf(1, 0, 0), patient());
    await environment.release?.(transition.state);
    return { environment, state, transition };
  };

  it.for([
    [1, true, true],
    [0.5, true, false],
    [true, true, true],
    [null, true, false],
    [1, false, false],
  ] as const)("with reward %j and done %j has success %j", async ([reward, done, success]) => {
    await scripted({ text: "a" }, { text: "b" }, reward, done);
    const { transition } = await step({});
    expect(transition).toMatchObject({
      reward: Number(reward),
      terminated: done,
      truncated: false,
      info: { success, action_is_effective: true, action_is_valid: true },
    });
  });

  it("that says it was truncated is, and has no success", async () => {
    await scripted({ text: "a" }, { text: "a", truncated: true }, 1, true);
    const { transition } = await step({});
    expect(transition).toMatchObject({
      terminated: false,
      truncated: true,
      info: { success: false, action_is_effective: false },
    });
  });

  it("whose action it does not take changes nothing and goes on", async () => {
    server = await standIn({
      hear: (socket, { type, data }) => {
        if (type === "reset") observe(socket, { text: "a" });
        else if (data.action === "go") observe(socket, { text: "b" }, 1, true);
        else say(socket, { type: "error", data: { message: "no such move", code: "VALIDATION_ERROR" } });
      },
    });
    const { environment, state } = await start();
    const first = await environment.step(state, "dance", noiseOf(1, 0, 0), patient());
    expect(first).toMatchObject({ reward: 0, terminated: false, info: { action_is_valid: false } });
    expect(environment.render(first.state)).toBe("a");
    const second = await environment.step(first.state, "go", noiseOf(1, 0, 1), patient());
    expect(second).toMatchObject({ reward: 1, terminated: true });
    await environment.release?.(second.state);
    expect(server.connections()).toBe(2);
  });

  it("whose action is no number where one is asked for never reaches it", async () => {
    const heard = await scripted({ text: "a" });
    const { state, transition } = await step({ action_form: "number" }, "left");
    expect(transition).toMatchObject({ state, reward: 0, info: { action_is_valid: false } });
    expect(heard.map(({ type }) => type)).toEqual(["reset"]);
  });

  it("after the end changes nothing and never reaches it", async () => {
    const heard = await scripted({ text: "a" }, { text: "b" }, 1, true);
    const { environment, transition } = await step({});
    const after = await environment.step(transition.state, "go", noiseOf(1, 0, 1), patient());
    expect(after).toMatchObject({ state: transition.state, reward: 0, terminated: true, info: { success: true } });
    expect(heard.map(({ type }) => type)).toEqual(["reset", "reset", "step"]);
  });
});
