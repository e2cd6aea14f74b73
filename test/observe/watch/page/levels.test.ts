import { describe, expect, it } from "vitest";
import { levelMetrics, levelsByPreset } from "../../../../src/observe/watch/page/filter/Levels.ts";

const seriesOf = (name: string, mean: readonly (number | null)[]) => ({ name, mean, min: mean, max: mean });

describe("the levels on the page", () => {
  it("are those of the sampler's metrics", () => {
    const names = ["train/success", "sampler/Lake:easy/share", "sampler/A:b:hard/cost", "sampler/Lake:easy/other"];
    expect(levelMetrics(names)).toEqual(["sampler/Lake:easy/share", "sampler/A:b:hard/cost"]);
  });

  it("have the newest values at the shown step, by preset", () => {
    const curves = {
      steps: [1, 2, 3],
      series: [
        seriesOf("sampler/Lake:hard/probability", [0.5, 0.6, 0.7]),
        seriesOf("sampler/Lake:easy/probability", [0.5, 0.4, 0.3]),
        seriesOf("sampler/Lake:hard/share", [0.2, null, 0.9]),
        seriesOf("sampler/Box:one/cost", [1, 2, 3]),
      ],
    };
    const none = { share: null, probability: null, success: null, episodes: null, mixed: null, cost: null };
    expect([...levelsByPreset(curves, 2)].toSorted(([a], [b]) => b.localeCompare(a))).toEqual([
      [
        "Lake",
        [
          { ...none, preset: "Lake", level: "easy", probability: 0.4 },
          { ...none, preset: "Lake", level: "hard", probability: 0.6, share: 0.2 },
        ],
      ],
      ["Box", [{ ...none, preset: "Box", level: "one", cost: 2 }]],
    ]);
    expect(levelsByPreset(curves, 9).get("Box")?.[0]?.cost).toBe(3);
  });
});
