/** Moves, rewards, ends and observations of Sokoban. */
import { describe, expect, it } from "vitest";
import { Sokoban, type SokobanState } from "../../../../src/env/games/sokoban/Sokoban.ts";
import { noiseOf } from "../../contract/players.ts";
import { configWith, room } from "./rooms.ts";

const noise = noiseOf(0, 0, 0);
const act = (drawing: string, action: string, steps = 0, keys: Readonly<Record<string, unknown>> = {}) => {
  const { cols, rows, state } = room(drawing, steps);
  const config = configWith({ dim_room: [rows, cols], ...keys });
  const transition = Sokoban.step(config, state, action, noise);
  return { ...transition, drawing: Sokoban.compact(config, transition.state).replaceAll("\n", "/") };
};

describe("a move", () => {
  it.each([
    ["walks over free floor", "#####/#P_O#/#_X_#/#####", "Right", "#####/#_PO#/#_X_#/#####", true],
    ["walks onto a target", "#####/#_PO#/#_X_#/#####", "Right", "#####/#__S#/#_X_#/#####", true],
    ["stops at a wall", "#####/#P_O#/#_X_#/#####", "Up", "#####/#P_O#/#_X_#/#####", false],
    ["pushes a box into free space", "######/#PX_O#/######", "Right", "######/#_PXO#/######", true],
    ["pushes a box onto a target", "######/#_PXO#/######", "Right", "######/#__P√#/######", true],
    ["does not push a box into a wall", "#####/#OPX#/#####", "Right", "#####/#OPX#/#####", false],
    ["does not push two boxes", "#######/#PXX_O#/#####O#/#######", "Right", "#######/#PXX_O#/#####O#/#######", false],
    ["does not pull", "######/#_PXO#/######", "Left", "######/#P_XO#/######", true],
  ])("%s", (_, before, action, after, effective) => {
    const boxes = [...before].filter((cell) => cell === "X").length;
    const { drawing, info } = act(before, action, 0, { num_boxes: Math.min(boxes, 1) });
    expect(drawing).toBe(after);
    expect(info.action_is_effective).toBe(effective);
  });
});

describe("the reward", () => {
  it("is -0.1 for an action that changes no target", () => {
    expect(act("######/#PX_O#/######", "Right").reward).toBe(-0.1);
  });

  it("is 0.9 for a box onto a target while another is still off", () => {
    expect(act("#######/#_PXO_#/#_XO__#/#######", "Right").reward).toBe(0.9);
  });

  it("is -1.1 for a box off its target", () => {
    expect(act("#######/#_P√_O#/#___X_#/#######", "Right").reward).toBe(-1.1);
  });

  it("is 10.9 for the move that solves the room", () => {
    const { info, reward, terminated, truncated } = act("######/#_PXO#/######", "Right");
    expect(reward).toBe(10.9);
    expect([info.success, terminated, truncated]).toEqual([true, true, false]);
  });
});

describe("the shaped reward", () => {
  const solving = "######/#_PXO#/######";
  const pushing = "######/#PX_O#/######";
  const blocked = "#####/#OPX#/#####";

  it("is success_reward for the solving move and 0 for others where Gym's is ignored", () => {
    const keys = { ignore_gym_reward: true, success_reward: 2.5 };
    expect(act(solving, "Right", 0, keys).reward).toBe(2.5);
    expect(act(pushing, "Right", 0, keys).reward).toBe(0);
    expect(act(solving, "Left", 0, { success_reward: 2.5 }).reward).toBe(-0.1);
  });

  it("adds what the boxes come nearer to their nearest targets", () => {
    const keys = { distance_reward_coeff: 0.3 };
    expect(act(pushing, "Right", 0, keys).reward).toBe(-0.1 + 0.3);
    expect(act("######/#_OXP#/######", "Left", 0, keys).reward).toBe(-0.1 + 1 + 10 + 0.3);
    expect(act("#######/#O_XP_#/#____O#/#######", "Left", 0, keys).reward).toBe(-0.1 + 0.3);
    expect(act("#######/#O_XP_#/#____O#/#######", "Right", 0, keys).reward).toBe(-0.1);
  });

  it("takes what a push brings a box away", () => {
    const keys = { distance_reward_coeff: 0.5, ignore_gym_reward: true };
    expect(act("#######/#OPX__#/#######", "Right", 0, keys).reward).toBe(-0.5);
  });

  it("adds the penalty for an action that moves nobody", () => {
    expect(act(blocked, "Right", 0, { no_op_penalty: -0.3 }).reward).toBe(-0.1 - 0.3);
    expect(act(pushing, "Right", 0, { no_op_penalty: -0.3 }).reward).toBe(-0.1);
  });
});

describe("the end", () => {
  it("is a truncation after max_steps", () => {
    expect(act("######/#PX_O#/######", "Right", 6, { max_steps: 7 })).toMatchObject({
      terminated: false,
      truncated: true,
    });
    expect(act("######/#PX_O#/######", "Right", 5, { max_steps: 7 })).toMatchObject({
      terminated: false,
      truncated: false,
    });
  });

  it("is a success, not a truncation, when the last step solves the room", () => {
    expect(act("######/#_PXO#/######", "Right", 6, { max_steps: 7 })).toMatchObject({
      terminated: true,
      truncated: false,
    });
  });
});

describe("the observation", () => {
  const { state } = room("######/######/###O##/###X##/###P##/######");

  it("is rows of symbols", () => {
    expect(Sokoban.render(configWith(), state)).toBe("######\n######\n###O##\n###X##\n###P##\n######");
  });

  it("takes another vocabulary", () => {
    const lookup = { 0: "W", 1: ".", 2: "G", 3: "C", 4: "B", 5: "A", 6: "@" };
    const shown = (drawing: string) => Sokoban.render(configWith({ grid_lookup: lookup }), room(drawing).state);
    expect(shown("######/#_OXP#/######/######/######/######").split("\n")[1]).toBe("W.GBAW");
    expect(shown("######/#_√S_#/######/######/######/######").split("\n")[1]).toBe("W.C@.W");
  });

  it("is coordinates in the fixed order, lines without cells left out", () => {
    const config = configWith({ observation_format: "coord", num_boxes: 2 });
    const { state: mixed } = room("######/#_√_##/#X_S##/######/######/######");
    expect(Sokoban.render(config, mixed)).toBe(
      [
        "Board size: 6 rows x 6 cols (zero-indexed).",
        "Targets: (1, 2), (2, 3)",
        "Boxes: (2, 1)",
        "Boxes on target: (1, 2)",
        "Player on target: (2, 3)",
      ].join("\n"),
    );
  });

  it("is both, in the reference's layout", () => {
    expect(Sokoban.render(configWith({ observation_format: "grid_coord" }), state)).toBe(
      [
        "Coordinates: ",
        "Board size: 6 rows x 6 cols (zero-indexed).",
        "Targets: (2, 3)",
        "Boxes: (3, 3)",
        "Player: (4, 3)",
        "Grid Map: ",
        "######",
        "######",
        "###O##",
        "###X##",
        "###P##",
        "######",
      ].join("\n"),
    );
  });

  it("is at most 45 characters and newlines for a small model", () => {
    expect([...Sokoban.compact(configWith({ observation_format: "grid_coord" }), state)].length).toBeLessThanOrEqual(
      45,
    );
  });
});

describe("the legend", () => {
  it("explains the configured symbols where symbols are shown", () => {
    expect(Sokoban.legend(configWith())).toBe(
      "The meaning of each symbol in the state is:\n" +
        "#: wall, _: empty, O: target, √: box on target, X: box, P: player, S: player on target",
    );
    expect(Sokoban.legend(configWith({ grid_lookup: { 5: "@" }, grid_vocab: { "@": "you" } }))).toContain("@: you");
  });

  it("explains the corners of the configured room where coordinates are shown, and no symbols", () => {
    const legend = Sokoban.legend(configWith({ observation_format: "coord", dim_x: 7, dim_y: 9 }));
    expect(legend).toContain("(6, 8)");
    expect(legend).not.toContain("wall");
  });
});

describe("the content key", () => {
  it("is equal for equal rooms and different for any other cell", () => {
    const key = (state: SokobanState): string => Sokoban.contentKey(configWith(), state);
    const drawing = "######/#O_X_#/#___P#/######/######/######";
    expect(key(room(drawing, 3).state)).toBe(key(room(drawing).state));
    expect(key(room("######/#O_X_#/#__P_#/######/######/######").state)).not.toBe(key(room(drawing).state));
    expect(key(room("######/#_OX_#/#___P#/######/######/######").state)).not.toBe(key(room(drawing).state));
  });
});

describe("the solver", () => {
  it("has a plan only where there are steps for it", () => {
    const { cols, rows, state } = room("######/#PX_O#/######", 3);
    const planned = (max_steps: number) => Sokoban.solve!(configWith({ dim_room: [rows, cols], max_steps }), state);
    expect([planned(3), planned(4), planned(5)]).toEqual([null, null, ["Right", "Right"]]);
    expect(
      Sokoban.solve!(configWith({ dim_room: [rows, cols], max_steps: 3 }), room("######/#_P√_#/######", 3).state),
    ).toEqual([]);
  });
});
