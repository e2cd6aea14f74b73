import { describe, expect, it } from "vitest";
import { metricsFrom } from "../../../src/domain/metrics/Metrics.ts";
import { emptySample } from "../../../src/flow/Gauge.ts";
import { Watcher } from "../../../src/tools/tuning/Watcher.ts";
import { episodeOf, sampledOf, turnOf } from "../../build/episodes.ts";
import { promptOf } from "../../build/groups.ts";

const turn = (prompt: number, sampled: number) =>
  turnOf({ prompt: new Int32Array(prompt), sampled: sampledOf(sampled) });

describe("a run that is watched", () => {
  it("is played again with its token sequences, where an episode has several", () => {
    const watcher = new Watcher(1, () => ({ step: emptySample("step"), replies: 1, main: 0, process: 0, machine: 0 }));
    const episode = episodeOf(0, 0, {
      sequences: [
        { turns: [turn(10, 2)] },
        { turns: [turn(8, 3)], summary: { trained: false } },
        { turns: [turn(12, 4), turn(5, 1)] },
      ],
    });
    const prompt = promptOf(0, 1);
    watcher.heard({ _tag: "Admitted", group: 0, window: 0 });
    watcher.learned({
      window: { index: 0, groups: [{ prompt, episodes: [episode] }] },
      filtered: { kept: [{ prompt, episodes: [{ episode, score: 1 }], failures: [] }] },
      from: 2,
      seconds: {},
    });
    watcher.recorded({ step: 1, time: 0, metrics: metricsFrom() });
    expect(watcher.groups).toEqual([
      [
        {
          kept: true,
          episodes: [
            [
              { prompt: 10, sampled: 2 },
              { prompt: 8, sampled: 3, opens: true, summary: { trained: false } },
              { prompt: 12, sampled: 4, opens: true },
              { prompt: 5, sampled: 1 },
            ],
          ],
        },
      ],
    ]);
    // Version 0 sampled the trained tokens; the summary's tokens are not among them.
    expect(watcher.windows[0]).toMatchObject({ tokens: 34, trained: 7, stale: 7, versionsBehind: 14 });
  });
});
