import { describe, expect, it } from "vitest";
import { mapActions } from "../../src/rollout/actions.ts";

const legal = ["Up", "Down", "Left"];

describe("mapActions", () => {
  it("maps names whatever their case", () => {
    expect(mapActions(["uP", "DOWN"], legal, 10)).toEqual({
      actions: ["Up", "Down"],
      executable: ["Up", "Down"],
      penalised: false,
      invalid: false,
    });
  });

  it("drops an unknown name, keeps the rest and penalises", () => {
    expect(mapActions(["Up", "Jump"], legal, 10)).toMatchObject({
      executable: ["Up"],
      penalised: true,
      invalid: false,
    });
  });

  it("penalises and flags a reply that names nothing legal", () => {
    expect(mapActions(["Jump"], legal, 10)).toEqual({ actions: [], executable: [], penalised: true, invalid: true });
    expect(mapActions([], legal, 10)).toMatchObject({ penalised: true, invalid: true });
  });

  it("does not penalise what the episode's limit cuts", () => {
    expect(mapActions(["Up", "Down"], legal, 1)).toEqual({
      actions: ["Up", "Down"],
      executable: ["Up"],
      penalised: false,
      invalid: false,
    });
  });

  it("takes free text as it is", () => {
    expect(mapActions(["2 + 5"], null, 1)).toMatchObject({ executable: ["2 + 5"], penalised: false });
    expect(mapActions([], null, 1)).toMatchObject({ penalised: true, invalid: true });
  });
});
