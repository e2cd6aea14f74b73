/** Environments in the short form: their defaults, and the duties they are relieved of. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import lamps from "../../../docs/examples/environment/lamps.ts";
import { stream } from "../../../src/domain/Random.ts";
import { bind } from "../../../src/env/contract/BoundEnvironment.ts";
import { defineEnvironment } from "../../../src/env/contract/defineEnvironment.ts";
import { choice, flag, integer } from "../../../src/env/contract/fields.ts";
import { contract } from "./contract.ts";

const random = stream({ seed: 1, purpose: "instance", counters: [] });

/** Counts to three. */
const counting = defineEnvironment({
  type: "counting",
  config: {
    start: integer(0, 2, { default: 0, about: "The first number." }),
    loud: flag({ default: false, about: "Shouts." }),
  },
  reset: ({ start }) => ({ count: start }),
  step: (_config, { count }, action) => ({
    state: { count: count + 1 },
    reward: 2,
    terminated: count === 2,
    info: { shouted: action === "UP" },
  }),
  render: ({ loud }, { count }) => (loud ? `${count}!` : `${count}`),
  actions: ({ loud }) => [loud ? "UP" : "up"],
});
const config = Schema.decodeUnknownSync(counting.config)({});

const lastTransition = (...actions: readonly string[]) => {
  let last = { state: counting.reset(config, random, "train"), reward: 0 };
  for (const action of actions) last = counting.step(config, last.state, action, random);
  return last;
};

describe("a defined environment", () => {
  it("has its keys' defaults, and refuses unknown values", () => {
    expect(config).toEqual({ start: 0, loud: false });
    expect(() => Schema.decodeUnknownSync(counting.config)({ start: 3 })).toThrow();
  });

  it("succeeds where it terminates, unless it says otherwise", () => {
    expect(lastTransition("up", "up")).toMatchObject({ terminated: false, info: { success: false } });
    expect(lastTransition("up", "up", "up")).toMatchObject({
      reward: 2,
      terminated: true,
      info: { success: true, shouted: false },
    });
  });

  it("earns nothing and changes nothing after its end", () => {
    const ended = lastTransition("up", "up", "up");
    expect(lastTransition("up", "up", "up", "up")).toEqual({
      state: ended.state,
      reward: 0,
      terminated: true,
      truncated: false,
      info: { success: true, action_is_effective: false, action_is_valid: true },
    });
  });

  it("is never asked to play an action that it does not list", () => {
    expect(() => lastTransition("down")).toThrow('counting: "down" is not an action; valid actions are up');
  });

  it("shows small models what it shows others, and tells instances apart by their first state", () => {
    const start = counting.reset(config, random, "train");
    expect(counting.compact(config, start)).toBe(counting.render(config, start));
    expect(counting.contentKey(config, start)).toBe('counting {"count":0}');
    expect(counting.legend(config)).toBe("");
    expect("solve" in counting).toBe(false);
  });

  it("takes free text where it lists no actions", () => {
    const echo = defineEnvironment({
      type: "echo",
      reset: () => ({ said: "" }),
      step: (_config, _state, said) => ({ state: { said }, terminated: true }),
      render: (_config, { said }) => said,
      solve: () => ["hello"],
    });
    const start = echo.reset({}, random, "train");
    expect(echo.actions({}, start)).toBeNull();
    expect(echo.step({}, start, "anything", random)).toMatchObject({ reward: 0, terminated: true });
    expect(echo.solve?.({}, start)).toEqual(["hello"]);
  });

  it("keeps a schema of the author's own as its configuration", () => {
    const level = Schema.Struct({ level: choice(["easy", "hard"], { default: "easy", about: "How hard it is." }) });
    const graded = defineEnvironment({
      type: "graded",
      config: level,
      reset: ({ level }) => ({ level }),
      step: (_config, state) => ({ state }),
      render: (_config, { level }) => level,
    });
    expect(Schema.decodeUnknownSync(graded.config)({})).toEqual({ level: "easy" });
  });
});

const bound = bind(lamps, { lamps: 6 });
contract("the example in the short form", { environment: bound, certain: bound, actions: 48 });
