/** The generator of a checkpoint that is evaluated: threads of this process, or generation servers with their usage. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Metric } from "../src/domain/metrics/Metric.ts";
import { type Metrics, valueIn } from "../src/domain/metrics/Metrics.ts";
import { remoteGeneration } from "../src/domain/metrics/run.ts";
import { generator } from "../src/engine/generator.ts";
import * as Servers from "../src/flow/Servers.ts";
import type { Generator } from "../src/generation/Generator.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import type { Model } from "../src/model/Model.ts";
import { serverText } from "../src/observe/sinks/View.ts";
import { WEIGHTS_FOLDER } from "../src/remote/generation/openServers.ts";
import type { Prices } from "../src/tools/endpoints/Budget.ts";
import type { Usage } from "../src/tools/endpoints/Chat.ts";

/** Requests to servers and their tokens so far. */
export interface ServerUsage {
  readonly requests: number;
  readonly retries: number;
  readonly tokens: Usage;
}

export interface Sampler {
  readonly policy: Generator;
  /** Null of threads. */
  readonly used: (() => ServerUsage) | null;
  /** USD per million tokens; null where no price is set. */
  readonly prices: Prices | null;
}

const serverUsageIn = (metrics: Metrics): ServerUsage => {
  const value = (metric: Metric): number => valueIn(metrics, metric) ?? 0;
  const { prompted, repeated, replied, requests } = remoteGeneration;
  return {
    requests: value(requests),
    retries: value(repeated),
    tokens: { prompt: value(prompted), reply: value(replied) },
  };
};

const onServers = Effect.fnUntraced(function* (config: RunConfig, model: Model, folder: string) {
  const context = yield* Effect.context<never>();
  const board = Servers.make();
  board.onChange((change) => void Effect.runForkWith(context)(Effect.logWarning(serverText(change))));
  const remove = Effect.promise(() => rm(join(folder, WEIGHTS_FOLDER), { recursive: true, force: true }));
  yield* Effect.addFinalizer(() => remove);
  const { price_in, price_out } = config.model.generator;
  const sampler: Sampler = {
    policy: yield* Effect.provideService(generator(config, model, 0, folder), Servers.Servers, board),
    used: () => serverUsageIn(board.metrics()),
    prices: price_in === 0 && price_out === 0 ? null : { in: price_in, out: price_out },
  };
  return sampler;
});

/** For the scope. Servers are given the checkpoint's weights by way of `folder`, and none are left there. */
export const samplerOf = Effect.fnUntraced(function* (config: RunConfig, model: Model, folder: string) {
  const { engine } = config.model.generator;
  // A training server samples from what it trains.
  if (engine !== "local" && engine !== "tinker") return yield* onServers(config, model, folder);
  const policy = yield* localGenerator(config, model, 0, { weights: "fixed" });
  const sampler: Sampler = { policy, used: null, prices: null };
  return sampler;
});
