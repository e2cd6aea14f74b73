/** Sampling on the server that trains. Only a run with such a server loads this. */
import process from "node:process";
import { Effect, Redacted } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { Servers } from "../flow/Servers.ts";
import type { Model } from "../model/Model.ts";
import * as StopMatcher from "../model/tokenizer/StopMatcher.ts";
import * as Client from "../remote/tinker/Client.ts";
import { identify } from "../remote/tinker/Connection.ts";
import { serverTraits } from "../remote/tinker/serverTraits.ts";
import * as TinkerGenerator from "../remote/tinker/TinkerGenerator.ts";
import { samplingMetrics } from "../remote/tinker/tinkerMetrics.ts";

export const tinkerGenerator = Effect.fnUntraced(function* (config: RunConfig, model: Model) {
  const { learner } = config.model;
  const { addMetrics, report } = yield* Servers;
  const name = learner.server === "auto" ? yield* identify(learner.url) : learner.server;
  const key = process.env[learner.api_key_env];
  const { stop } = config.generation;
  const generator = yield* TinkerGenerator.make({
    client: Client.make({
      url: learner.url,
      key: key === undefined || key === "" ? null : Redacted.make(key),
      role: "generator",
      pollTimeoutMs: learner.poll_timeout_ms,
      outageMs: learner.outage_ms,
      tell: report,
    }),
    sessions: learner.sessions === "auto" ? (serverTraits[name].sessions ?? "newest") : learner.sessions,
    stopIds: new Set(model.stopIds),
    stops: StopMatcher.matchers(stop, model.tokenizer.bytesOf),
    vocabSize: model.checkpoint.config.vocabSize,
    maxPositions: model.checkpoint.config.maxPositions,
    slots: config.generation.slots,
  });
  yield* addMetrics(() => samplingMetrics(learner, generator.counts()));
  return generator;
});
