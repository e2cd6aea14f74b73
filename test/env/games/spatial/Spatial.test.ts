/** Rewards, ends, movements, observations and plans in the spatial room. */
import { Result, Schema } from "effect";
import { describe, expect, it } from "vitest";
import { Spatial } from "../../../../src/env/games/spatial/Spatial.ts";
import { questionTypes, SpatialConfig } from "../../../../src/env/games/spatial/SpatialConfig.ts";
import type { SpatialState } from "../../../../src/env/games/spatial/SpatialState.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf, play } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";

const configWith = configsOf(SpatialConfig);

/** The start in the middle; a sofa ahead, a desk close to it and a piano behind. */
const start: SpatialState = {
  things: [
    { name: "sofa", x: 5, y: 7, facing: 1 },
    { name: "desk", x: 4, y: 8, facing: 2 },
    { name: "piano", x: 6, y: 1, facing: 0 },
  ],
  start: { x: 5, y: 4, facing: 0 },
  question: {
    type: "pov",
    text: "Where?",
    brief: "where",
    choices: ["front, near", "front-left, near", "front-right, near"],
    answer: 1,
  },
  pose: { x: 5, y: 4, facing: 0 },
  seen: [],
  steps: 0,
  last: null,
};

const step = (action: string, state: SpatialState = start, config = configWith()) =>
  Spatial.step(config, state, action, noiseOf(0, 0, 0));
const done = (...actions: readonly string[]): SpatialState =>
  actions.reduce((state, action) => step(action, state).state, start);
const shown = (state: SpatialState): string => Spatial.render(configWith(), state);

describe("a step", () => {
  it("costs 0.1 for a valid sequence", () => {
    expect(step("Actions: [Rotate(90), Observe()]")).toMatchObject({
      state: { pose: { x: 5, y: 4, facing: 1 }, steps: 1 },
      reward: -0.1,
      terminated: false,
      truncated: false,
      info: {
        success: false,
        action_is_valid: true,
        action_is_effective: true,
        answered: false,
        final_objects_seen: 0,
      },
    });
  });

  it("costs 1 for an unreadable one, which leaves everything but the step", () => {
    const { state, ...rest } = step("Actions: [Rotate(90)]");
    expect(rest).toMatchObject({ reward: -1, terminated: false, info: { action_is_valid: false } });
    expect(state).toEqual({ ...start, steps: 1, last: { _tag: "Unreadable" } });
    expect(shown(state)).toContain("That is not a valid sequence of actions.");
  });

  it("gives 10 for the right answer and takes 1 for a wrong one, and ends", () => {
    expect(step("Actions: [Term(B)]")).toMatchObject({
      reward: 10,
      terminated: true,
      truncated: false,
      info: { success: true, answered: true, action_is_valid: true },
    });
    expect(step("Actions: [Term(A)]")).toMatchObject({ reward: -1, terminated: true, info: { success: false } });
    expect(shown(done("Term(A)"))).toBe("You answer A, which is wrong.");
  });

  it.each(["b", "(B)", "B.", "b) front-left, near", "front-left, near"])("takes %s for the answer B", (answer) => {
    expect(step(`Actions: [Term(${answer})]`).info.success).toBe(true);
  });

  it.each(["A", "front, near", "Banana", "AB", "1"])("does not take %s for it", (answer) => {
    expect(step(`Actions: [Term(${answer})]`).info.success).toBe(false);
  });

  it("has no effect where nothing new is seen from the same pose", () => {
    const once = done("Observe()");
    expect(step("Observe()", once).info.action_is_effective).toBe(false);
    expect(step("Rotate(0), Observe()", once).info.action_is_effective).toBe(false);
  });

  it.each(["Observe()", "nonsense"])("after ten for exploring is the last, also %s", (action) => {
    const late = { ...start, steps: 10 };
    expect(step(action, { ...start, steps: 9 })).toMatchObject({ truncated: false });
    expect(step(action, late)).toMatchObject({ terminated: false, truncated: true });
    expect(step("Term(B)", late)).toMatchObject({ terminated: true, truncated: false, reward: 10 });
  });
});

describe("movements", () => {
  it("jump to an observed object in view, without turning", () => {
    expect(done("Observe()", "JumpTo(desk), Observe()").pose).toEqual({ x: 4, y: 8, facing: 0 });
  });

  it.each([
    ["an object not observed yet", start, "JumpTo(sofa), Observe()", "it has not been observed yet"],
    ["an object out of view", done("Observe()"), "Rotate(90), JumpTo(sofa), Observe()", "it is not in view"],
    ["an unknown object", done("Observe()"), "JumpTo(unicorn), Observe()", "there is no such object"],
    ["a turn of 45 degrees", start, "Rotate(45), Observe()", "45 degrees is not one of"],
  ])("stop at %s and observe instead", (_, state, action, reason) => {
    const transition = step(action, state);
    expect(transition).toMatchObject({ reward: -0.1, info: { action_is_valid: false } });
    expect(transition.state.pose).toMatchObject({ x: 5, y: 4 });
    expect(shown(transition.state)).toContain(reason);
    expect(shown(transition.state)).toMatch(/You see/);
  });

  it("keep what was done before the one that fails", () => {
    expect(step("Rotate(90), Rotate(7), Rotate(90), Observe()").state.pose.facing).toBe(1);
  });

  it("turn clockwise, and counterclockwise where negative", () => {
    expect(step("Rotate(270), Observe()").state.pose.facing).toBe(3);
    expect(step("Rotate(-90), Observe()").state.pose.facing).toBe(3);
    expect(step("Rotate(-270), Rotate(180), Observe()").state.pose.facing).toBe(3);
  });

  it("return to the start and its facing", () => {
    const away = done("Observe()", "JumpTo(sofa), Rotate(90), Observe()");
    expect(away.pose).toEqual({ x: 5, y: 7, facing: 1 });
    expect(step("Return(), Observe()", away).state.pose).toEqual(start.start);
  });
});

describe("an observation", () => {
  it("names what is in view, what is close together, and the steps left", () => {
    expect(shown(done("Actions: [Observe()]"))).toBe(
      [
        "You see:",
        "- sofa: front, mid distance, facing right",
        "- desk: front-slight-left, slightly far, facing backward",
        "Close together, calling your facing north:",
        "- sofa is south-east, near of desk",
        "Steps left: 10, the last of them for your answer.",
      ].join("\n"),
    );
  });

  it("turns with the viewer", () => {
    expect(shown(done("Actions: [Rotate(180), Observe()]"))).toBe(
      [
        "You turn 180 degrees clockwise.",
        "You see:",
        "- piano: front-slight-left, mid distance, facing backward",
        "Steps left: 10, the last of them for your answer.",
      ].join("\n"),
    );
  });

  it("says when nothing is in view, and when one step is left", () => {
    expect(shown(done("Rotate(90), Observe()"))).toContain("You see no object.");
    expect(shown(step("Observe()", { ...start, steps: 9 }).state)).toContain("One step is left: answer now with Term.");
  });

  it("does not show what shares the viewer's cell", () => {
    const text = shown(done("Observe()", "JumpTo(sofa), Observe()"));
    expect(text).toContain("- desk:");
    expect(text).not.toContain("- sofa:");
  });

  it("shows the question at first, and again only where asked to", () => {
    expect(shown(start)).toBe(
      [
        "You are in a room of 10 x 10 cells and face north.",
        "Objects: sofa, desk, piano. You see nothing until you observe.",
        "",
        "Question: Where?",
        "A. front, near",
        "B. front-left, near",
        "C. front-right, near",
        "",
        "Steps left: 11, the last of them for your answer.",
      ].join("\n"),
    );
    const later = done("Observe()");
    expect(shown(later)).not.toContain("Question");
    expect(Spatial.render(configWith({ repeat_question: true }), later)).toContain("Question: Where?\nA. front, near");
  });

  it("is short for a small model", () => {
    expect(Spatial.compact(configWith(), done("Observe()"))).toBe(
      [
        "pov where",
        "A front near",
        "B front-left near",
        "C front-right near",
        "see sofa front mid right and desk ahead-left farish here",
      ].join("\n"),
    );
  });

  it.each(questionTypes)("of %s is some sixty words of ASCII at most for a small model", (type) => {
    const config = configWith({ eval_tasks: [type] });
    for (let seed = 0; seed < 20; seed++) {
      const text = Spatial.compact(config, Spatial.reset(config, instanceOf(seed), "train"));
      expect(text.split(/\s+/).length).toBeLessThanOrEqual(60);
      expect(text).toMatch(/^[\n -~]+$/);
    }
  });
});

describe("the legend", () => {
  it("names the field of view, and its directions only", () => {
    expect(Spatial.legend(configWith())).toContain("Your field of view is 90 degrees");
    expect(Spatial.legend(configWith())).not.toContain("up to 90 degrees");
    expect(Spatial.legend(configWith({ field_of_view: 180 }))).toContain("left and right (up to 90 degrees)");
  });
});

describe("the solver", () => {
  it("looks around until everything was seen, and answers", () => {
    const plan = Spatial.solve!(configWith(), start)!;
    expect(plan).toEqual([
      "Actions: [Observe()]",
      "Actions: [Rotate(90), Observe()]",
      "Actions: [Rotate(90), Observe()]",
      "Actions: [Term(B)]",
    ]);
  });

  it("has seen every object before it answers, in every instance", () => {
    const environment = preset("Spatial");
    for (let seed = 0; seed < 50; seed++) {
      const state = environment.reset(instanceOf(seed), "train");
      const { success, transitions } = play(environment, state, environment.solve!(state)!, () => noiseOf(0, 0, 0));
      expect(success).toBe(true);
      expect((transitions.at(-1)!.state as SpatialState).seen.length).toBe(3);
      expect(transitions.length).toBeLessThanOrEqual(5);
    }
  });

  it("answers with the last step", () => {
    expect(Spatial.solve!(configWith(), { ...start, steps: 10 })).toEqual(["Actions: [Term(B)]"]);
    expect(Spatial.solve!(configWith(), { ...start, steps: 9 })!.length).toBe(2);
    expect(Spatial.solve!(configWith(), { ...start, steps: 11 })).toBeNull();
  });

  it("says what it has not seen, then what the answer is", () => {
    const thinks = (state: SpatialState): string =>
      Spatial.thought!(configWith(), state, Spatial.solve!(configWith(), state)!);
    expect(thinks(done("Observe()"))).toBe("not seen yet piano so Actions: [Rotate(90), Observe()]");
    expect(thinks(done("Observe()", "Rotate(180), Observe()"))).toBe("the answer is B so Actions: [Term(B)]");
  });
});

describe("a room", () => {
  it("has its objects in different cells, inside, and a free start", () => {
    const config = configWith({ room_size: [4, 3], n_objects: 11, eval_tasks: ["dir"] });
    for (let seed = 0; seed < 20; seed++) {
      const { pose, start: from, things } = Spatial.reset(config, instanceOf(seed), "train");
      const cells = [...things, from].map(({ x, y }) => `${x},${y}`);
      expect(new Set(cells).size).toBe(12);
      expect(things.every(({ x, y }) => x >= 0 && x < 4 && y >= 0 && y < 3)).toBe(true);
      expect(new Set(things.map(({ name }) => name)).size).toBe(11);
      expect(pose).toEqual(from);
      expect(from.facing).toBe(0);
    }
  });

  it.each([
    [{ n_objects: 2 }, "n_objects"],
    [{ n_objects: 9, room_size: [3, 3] }, "n_objects"],
    [{ eval_tasks: [] }, "eval_tasks"],
    [{ eval_tasks: ["dri"] }, "eval_tasks"],
    [{ field_of_view: 120 }, "field_of_view"],
  ])("cannot be asked for by %j", (keys, path) => {
    const result = Schema.decodeUnknownResult(SpatialConfig)(keys);
    expect(Result.isFailure(result) && result.failure.message).toContain(path);
  });
});

describe("the content key", () => {
  it("is the room's and the question's, whatever was done", () => {
    const key = (state: SpatialState): string => Spatial.contentKey(configWith(), state);
    expect(key(done("Observe()"))).toBe(key(start));
    expect(key({ ...start, question: { ...start.question, text: "Why?" } })).not.toBe(key(start));
    expect(key({ ...start, things: start.things.slice(1) })).not.toBe(key(start));
  });
});
