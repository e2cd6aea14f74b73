/** The generator that a run file asks for: threads of this process, or a server. */
import process from "node:process";
import { Effect, Redacted, type Scope } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { BadInput, PolicyError } from "../domain/Errors.ts";
import { Servers } from "../flow/Servers.ts";
import * as CustomPolicy from "../generation/CustomPolicy.ts";
import { type Generator, localGenerator } from "../generation/Generator.ts";
import type { Model } from "../model/Model.ts";
import * as StopMatcher from "../model/tokenizer/StopMatcher.ts";
import { openServers } from "../remote/generation/openServers.ts";
import * as Client from "../remote/tinker/Client.ts";
import { identify } from "../remote/tinker/Connection.ts";
import { serverTraits } from "../remote/tinker/serverTraits.ts";
import * as TinkerGenerator from "../remote/tinker/TinkerGenerator.ts";
import { samplingMetrics } from "../remote/tinker/tinkerMetrics.ts";

/** Sampling on the server that trains. */
const tinkerGenerator = Effect.fnUntraced(function* (config: RunConfig, model: Model) {
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

/** Starts from `model`'s weights as `version`. `folder` is the run's own. A policy of the user's own takes the generator's place. */
export const generator = (
  config: RunConfig,
  model: Model,
  version: Version,
  folder: string,
  custom?: CustomPolicy.CustomPolicy,
): Effect.Effect<Generator, BadInput | PolicyError, Scope.Scope> => {
  const { engine } = config.model.generator;
  if (custom !== undefined) return CustomPolicy.make(custom, config, model, version);
  switch (engine) {
    case "local":
      return localGenerator(config, model, version);
    case "tinker":
      return tinkerGenerator(config, model);
    default:
      return openServers(engine, config, model, version, folder);
  }
};
