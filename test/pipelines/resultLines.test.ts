/** A training prints its outcome and the commands that continue from it. */
import { describe, expect, it } from "vitest";
import { nextCommands, resultLines } from "../../pipelines/resultLines.ts";
import type { RunResult, ValidationResult } from "../../src/observe/record/RunResult.ts";

const validation = (step: number, success: number): ValidationResult => ({
  step,
  success,
  interval: [success - 0.05, success + 0.04],
  instances: 512,
  episodes: 512,
  failed: 0,
});

const folder = "/home/ann/runs/lake/20261124-100000";
const at = (step: number) => ({ step, path: `${folder}/checkpoints/step-${step}` });
const result: RunResult = {
  name: "lake",
  folder,
  kind: "training",
  end: { _tag: "Completed" },
  steps: { done: 40, planned: 40 },
  minutes: 6.26,
  validation: { before: validation(0, 0.12), best: validation(30, 0.9), last: validation(40, 0.85) },
  checkpoint: { newest: at(40), best: null },
  failedShare: 0,
  cloning: null,
};
const place = { directory: "/home/ann", program: "npx millrace" };

describe("the end of a cloning", () => {
  const cloning = { loss: 0.25, heldOutLoss: null, output: "/home/ann/runs/sft/lake", base: null };
  const none = { before: null, best: null, last: null };
  const cloned: RunResult = { ...result, kind: "cloning", validation: none, cloning };

  it("says its loss, the folder that model.path names, and how to play and train what was cloned", () => {
    expect(resultLines(cloned, place)).toEqual([
      "",
      "lake: completed, 40 of 40 steps in 6.3 minutes",
      "loss         0.2500 nats a token in the last step",
      "model        runs/sft/lake",
      "next",
      "  npx millrace evaluate --config-name runs/lake/20261124-100000/config.yaml model.path=runs/sft/lake",
      "  npx millrace train --config-name runs/lake/20261124-100000/config.yaml model.path=runs/sft/lake",
    ]);
  });

  it("names an adapter beside its base", () => {
    const adapter = { ...cloned, cloning: { ...cloning, heldOutLoss: 1.5, base: "/home/ann/models/base" } };
    const lines = resultLines(adapter, place);
    expect(lines).toContain("loss         0.2500 nats a token in the last step; 1.5000 of the conversations held out");
    expect(lines).toContain("adapter      runs/sft/lake");
    expect(lines.at(-1)).toMatch(/ model\.path=models\/base model\.adapter=runs\/sft\/lake$/);
  });
});

describe("the end of a training", () => {
  it("says what came of it, and what to do next", () => {
    expect(resultLines(result, place)).toEqual([
      "",
      "lake: completed, 40 of 40 steps in 6.3 minutes",
      "validation   12 % [7, 16] before -> 85 % [80, 89] after step 40; best 90 % [85, 94] after step 30; 95 % interval, 512 instances",
      "checkpoint   runs/lake/20261124-100000/checkpoints/step-40",
      "next",
      "  npx millrace watch runs/lake/20261124-100000",
      "  npx millrace report runs/lake/20261124-100000",
      "  npx millrace evaluate --config-name runs/lake/20261124-100000/config.yaml model.path=runs/lake/20261124-100000/checkpoints/step-40",
    ]);
  });

  it("is silent about what was not measured", () => {
    const bare = { ...result, minutes: null, checkpoint: { newest: null, best: null } };
    const lines = resultLines({ ...bare, validation: { before: null, best: null, last: null } }, place);
    expect(lines.slice(0, 3)).toEqual(["", "lake: completed, 40 of 40 steps", "next"]);
    expect(lines).toHaveLength(5);
  });

  it("says how many episodes could not be played", () => {
    const lines = resultLines(
      { ...result, end: { _tag: "Stopped", reason: "no_improvement" }, failedShare: 0.25 },
      place,
    );
    expect(lines[1]).toBe("lake: stopped (no improvement), 40 of 40 steps in 6.3 minutes");
    expect(lines).toContain("failed       25 % of the training episodes could not be played to an end");
  });

  it("names the best checkpoint to evaluate, and quotes what a shell would take apart", () => {
    const spaced = { ...result, folder: "/data/my runs/it's", checkpoint: { newest: at(40), best: at(30) } };
    const [watch, , evaluate] = nextCommands(spaced, place);
    expect(watch).toBe("npx millrace watch '/data/my runs/it'\\''s'");
    expect(evaluate).toContain("model.path=runs/lake/20261124-100000/checkpoints/step-30");
  });
});
