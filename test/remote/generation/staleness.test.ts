/** Whole async runs over scripted servers that take long to load weights: no token is staler than the bound. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../../build/config.ts";
import * as engine from "../../engine/fakes.ts";
import { fake, made, serversConfig, sglangFake } from "./made.ts";

const servers = {
  vllm: (loadMs: number) => fake({ loadMs }),
  sglang: (loadMs: number) => sglangFake({ loadMs }),
} as const;

/** Far longer than a window takes, so that rollouts that do not wait for the weights are sampled from the ones before. */
const LOAD_MS = 150;

describe("an async run over servers", () => {
  it.live.each(["vllm", "sglang"] as const)(
    "trains no token that is staler than max_staleness, while they load a version (%s)",
    (kind) =>
      Effect.gen(function* () {
        const slow = yield* servers[kind](LOAD_MS);
        const quick = yield* servers[kind](0);
        const { generator, send } = yield* made(serversConfig([slow.url, quick.url], { engine: kind }));
        const config = reachConfig({
          pipeline: { mode: "async", max_staleness: 2, rollout_concurrency: 8 },
          rollout: { max_turn: 1, response_length: 4 },
          trainer: { total_training_steps: 6 },
        });
        const folder = yield* engine.runFolder;
        const run = yield* engine.train({ config, folder, generator: { policy: generator, publish: send } });
        expect(run.ended).toMatchObject({ step: 6, reason: "complete" });
        const worst = run.records.map(({ metrics }) => toRecord(metrics)["staleness/max"] ?? Number.NaN);
        expect(Math.max(...worst)).toBe(2);
      }),
    30_000,
  );
});
