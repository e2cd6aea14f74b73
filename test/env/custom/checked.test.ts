/** The messages for a user's environment that throws, or returns what its contract does not allow. */
import { describe, expect, it } from "vitest";
import lights from "../../../docs/examples/environment/lights.ts";
import type { AsyncEnvironment } from "../../../src/env/contract/AsyncEnvironment.ts";
import { bind, bindAsync } from "../../../src/env/contract/BoundEnvironment.ts";
import type { Environment } from "../../../src/env/contract/Environment.ts";
import { IllegalAction } from "../../../src/env/contract/IllegalAction.ts";
import { withAsyncChecks, withChecks } from "../../../src/env/custom/withChecks.ts";
import { instanceOf, noiseOf, playRandomly } from "../contract/players.ts";
import patientLights from "./fixtures/patientLights.ts";

const path = "/mine/lights.ts";
const config = { lamps: 4, max_steps: 5 };
const tutorial = lights as Environment<unknown, unknown>;
const patient = patientLights as AsyncEnvironment<unknown, unknown>;
const { signal } = new AbortController();

/** The tutorial's environment with some functions replaced by what they return. */
const returning = (values: Readonly<Record<string, unknown>>) => {
  const replaced = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, () => value]));
  return bind(withChecks(path, { ...tutorial, ...replaced } as Environment<unknown, unknown>), config);
};
const start = tutorial.reset(config, instanceOf(1), "train");
const noise = noiseOf(1, 0, 0);
const good = tutorial.step(config, start, "1", noise);

const said = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof Error ? error.message : "no Error";
  }
  return "nothing";
};

describe("an environment that keeps its contract", () => {
  it("plays as it did", () => {
    const [one, other] = [bind(withChecks(path, tutorial), config), bind(tutorial, config)];
    expect(playRandomly(one, 3, 0, 10)).toEqual(playRandomly(other, 3, 0, 10));
    expect(one.solve!(start)).toEqual(other.solve!(start));
    expect([one.legend, one.render(start), one.contentKey(start)]).toEqual([
      other.legend,
      other.render(start),
      other.contentKey(start),
    ]);
    expect(one.advise).toBeNull();
  });

  it("refuses an action as it did", () => {
    expect(() => bind(withChecks(path, tutorial), config).step(start, "Jump", noise)).toThrow(IllegalAction);
  });

  it("may be an instance of a class whose methods use each other", () => {
    class Wordy {
      readonly word = "lamps";
      solve() {
        return [this.word];
      }
      legend() {
        return this.word;
      }
    }
    Object.setPrototypeOf(Wordy.prototype, { ...tutorial, wholeAnswer: true });
    const environment = bind(withChecks(path, new Wordy() as unknown as Environment<unknown, unknown>), config);
    expect(environment).toMatchObject({ type: "lights", legend: "lamps", wholeAnswer: true });
    expect(environment.solve!(start)).toEqual(["lamps"]);
  });
});

describe("an environment that throws", () => {
  it("says in which function of which module, and keeps the cause", () => {
    const cause = new TypeError("no lamps");
    const reset = () => {
      throw cause;
    };
    const environment = bind(withChecks(path, { ...tutorial, reset }), config);
    expect(said(() => environment.reset(instanceOf(1), "train"))).toBe(
      "reset of /mine/lights.ts failed: TypeError: no lamps",
    );
    expect(() => environment.reset(instanceOf(1), "train")).toThrow(expect.objectContaining({ cause }));
  });

  it("says at which line, where the stack knows it", () => {
    const cause = new Error("no lamps");
    cause.stack = [
      "Error: no lamps",
      "    at pick (file:///other/package.js:3:1)",
      "    at Object.step (file:///mine/lights.ts:42:7)",
      "    at again (file:///mine/lights.ts:50:7)",
    ].join("\n");
    const step = () => {
      throw cause;
    };
    const environment = bind(withChecks(path, { ...tutorial, step }), config);
    expect(said(() => environment.step(start, "1", noise))).toBe(
      "step of /mine/lights.ts failed: lights.ts:42: Error: no lamps",
    );
  });
});

describe("what an environment returns is refused:", () => {
  it.each([
    ["no state", { reset: undefined }, "reset of /mine/lights.ts returned no state"],
    ["a promise of one", { reset: Promise.resolve(start) }, "reset of /mine/lights.ts returned a promise; "],
  ])("%s", (_, values, message) => {
    expect(said(() => returning(values).reset(instanceOf(1), "train")).slice(0, message.length)).toBe(message);
  });

  it.each([
    ["nothing", undefined, "it is not an object"],
    ["NaN as a reward", { ...good, reward: Number.NaN }, "reward is NaN, not a number between -1e9 and 1e9"],
    ["a reward that overflows", { ...good, reward: 1.7e308 }, "reward is 1.7e+308, not a number between -1e9 and 1e9"],
    [
      "a transition without parts",
      { state: start, reward: 1 },
      "terminated is missing (true or false); truncated is missing (true or false); info is missing (an object)",
    ],
    [
      "an info without parts",
      { ...good, info: { success: 1, action_is_valid: true } },
      "info.success is 1, not true or false; info.action_is_effective is missing (true or false)",
    ],
    [
      "an infinite measure",
      { ...good, info: { ...good.info, lit: Number.POSITIVE_INFINITY } },
      "info.lit is Infinity, not a finite number",
    ],
  ])("%s", (_, step, message) => {
    expect(said(() => returning({ step }).step(start, "1", noise))).toBe(
      `step of /mine/lights.ts returned no transition: ${message}`,
    );
  });

  it("texts and names that are none", () => {
    const odd = returning({ render: 3, actions: "1", solve: [1] });
    expect(said(() => odd.render(start))).toBe("render of /mine/lights.ts returned no text");
    expect(said(() => odd.actions(start))).toBe("actions of /mine/lights.ts returned neither null nor a list of names");
    expect(said(() => odd.solve!(start))).toBe("solve of /mine/lights.ts returned neither null nor a list of names");
    expect(said(() => returning({ legend: undefined }))).toBe("legend of /mine/lights.ts returned no text");
  });
});

describe("a state that is not plain data is refused", () => {
  class Lamp {
    readonly lit = true;
  }
  const loop: Record<string, unknown> = {};
  loop.inner = loop;

  it.each([
    ["a function", { press: () => 1 }, "state.press is a function"],
    ["a number without a value", { rows: [1, Number.NaN] }, "state.rows[1] is NaN"],
    ["a map", { lamps: new Map() }, "state.lamps is a Map"],
    ["an instance", [new Lamp()], "state[0] is a Lamp"],
    ["a loop", loop, "is nested deeper than 100 levels, or within itself"],
  ])("%s", (_, state, message) => {
    expect(said(() => returning({ reset: state }).reset(instanceOf(1), "train"))).toContain(
      "reset of /mine/lights.ts returned a state that is not plain data: ",
    );
    expect(said(() => returning({ step: { ...good, state } }).step(start, "1", noise))).toContain(message);
  });
});

describe("what is huge is refused with its size", () => {
  it("a state", () => {
    const huge = { lamps: "0".repeat(3 * 2 ** 20) };
    expect(said(() => returning({ reset: huge }).reset(instanceOf(1), "train"))).toBe(
      "reset of /mine/lights.ts returned a state of 3.0 Mi characters of JSON; at most 1.0 Mi travel with a step",
    );
  });

  it("a state that grows", () => {
    const environment = bind(
      withChecks(path, {
        ...tutorial,
        step: (_, at) => ({ ...good, state: `${at}`.repeat(2) }),
      }),
      config,
    );
    let state: unknown = "0".repeat(1024);
    const play = () => {
      for (let n = 0; n < 20; n++) ({ state } = environment.step(state, "1", noise));
    };
    expect(said(play)).toContain("characters of JSON");
  });

  it("an observation", () => {
    expect(said(() => returning({ render: "0".repeat(2 ** 19) }).render(start))).toBe(
      "render of /mine/lights.ts returned a text of 512 Ki characters; at most 256 Ki are taken",
    );
  });
});

describe("an environment that waits", () => {
  it("plays as it did", async () => {
    const environment = bindAsync(withAsyncChecks(path, patient), config);
    expect(environment).toMatchObject({ asynchronous: true, capacity: 2, timeoutMs: 5_000 });
    expect(await environment.step(start, "1", noise, signal)).toEqual(good);
  });

  it("says what its promises come to, where that is no answer", async () => {
    const reset = () => Promise.reject(new Error("no lamps"));
    const step = async () => ({ ...good, reward: Number.NaN });
    const environment = bindAsync(withAsyncChecks(path, { ...patient, reset, step }), config);
    await expect(environment.reset(instanceOf(1), "train", signal)).rejects.toThrow(
      "reset of /mine/lights.ts failed: Error: no lamps",
    );
    await expect(environment.step(start, "1", noise, signal)).rejects.toThrow(
      "step of /mine/lights.ts returned no transition: reward is NaN, not a number between -1e9 and 1e9",
    );
  });
});
