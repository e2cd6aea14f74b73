/** Whole async runs over scripted servers that take long to load weights: no token is staler than the bound. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../../build/config.ts";
import * as fakes from "../../engine/fakes.ts";
import { engines, fakeOf, serversConfig, startGenerator } from "./startGenerator.ts";

/** Far longer than a window takes, so that rollouts that do not wait for the weights are sampled from the ones before. */
const LOAD_MS = 150;

describe("an async run over servers", () => {
  it.live.each(engines)(
    "trains no token that is staler than max_staleness, while they load a version (%s)",
    (engine) =>
      Effect.gen(function* () {
        const slow = yield* fakeOf(engine, { loadMs: LOAD_MS });
        const quick = yield* fakeOf(engine);
        const { generator, send } = yield* startGenerator(serversConfig([slow.url, quick.url], { engine }));
        const config = reachConfig({
          pipeline: { mode: "async", max_staleness: 2, rollout_concurrency: 8 },
          rollout: { max_turn: 1, response_length: 4 },
          trainer: { total_training_steps: 6 },
        });
        const folder = yield* fakes.runFolder;
        const run = yield* fakes.train({ config, folder, generator: { policy: generator, publish: send } });
        expect(run.ended).toMatchObject({ step: 6, reason: "complete" });
        const worst = run.records.map(({ metrics }) => toRecord(metrics)["staleness/max"] ?? Number.NaN);
        expect(Math.max(...worst)).toBe(2);
      }),
    30_000,
  );
});
