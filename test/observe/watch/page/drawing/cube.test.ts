/** Pictures of the cube are the cubes that the environment turns. */
import { describe, expect, it } from "vitest";
import { faceOf, faces } from "../../../../../src/env/games/rubikscube/Cube.ts";
import { RubiksCube } from "../../../../../src/env/games/rubikscube/RubiksCube.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { statesOf } from "./states.ts";

const draw = (text: string) => drawingOf({ env_type: "rubikscube", env_config: {} }, text);

describe("a drawing of the cube", () => {
  it.each([
    ["turns of a cube", {}],
    ["a single turn, which may be undone", { scramble_depth: 1 }],
    ["RAGEN's turns", { instances: "ragen", back_turn: "ragen" }],
    ["the end of its steps", { max_steps: 5 }],
  ])("has every sticker of the state: %s", (_, env_config) => {
    const states = statesOf(RubiksCube, env_config, { seeds: 12, actions: 20 });
    expect(states.length).toBeGreaterThan(40);
    for (const { compact, full, state } of states) {
      const expected = {
        kind: "rubikscube",
        faces: Object.fromEntries(faces.map((face) => [face, [...faceOf(state.cube, face)]])),
      };
      expect(draw(full)).toEqual(expected);
      expect(draw(compact)).toEqual(expected);
    }
  });

  it.each([
    ["five stickers of a colour", "U WWWW\nL WOOO\nF GGGG\nR RRRR\nB BBBB\nD YYYY"],
    ["a colour that is none", "U WWWX\nL OOOO\nF GGGG\nR RRRR\nB BBBB\nD YYYY"],
    ["five faces", "U WWWW\nL OOOO\nF GGGG\nR RRRR\nB BBBB"],
    ["faces in another order", "L OOOO\nU WWWW\nF GGGG\nR RRRR\nB BBBB\nD YYYY"],
  ])("is not made of a text with %s", (_, text) => {
    expect(draw(text)).toBeNull();
  });
});
