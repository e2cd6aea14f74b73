/** The pipeline's learner on a Tinker server, in a thread of its own. */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { BadInput, LearnerError } from "../../domain/Errors.ts";
import { Servers } from "../../flow/Servers.ts";
import { type LearnerThread, learnerError, learnerOver } from "../../learner/LearnerThread.ts";
import type { Model } from "../../model/Model.ts";
import { make as makeThread } from "../../model/runtime/Thread.ts";
import { checkServer } from "./checkServer.ts";
import type { PassedTokens, TinkerLearnerProtocol } from "./protocol.ts";
import { trainingMetrics } from "./tinkerMetrics.ts";

export interface TinkerLearnerOptions {
  readonly config: RunConfig;
  /** Only the model's tokenizer is used. */
  readonly model: Model;
  /** Folder of the checkpoint to continue from, or null. */
  readonly restore: string | null;
  /** One port for each reader of versions; the ports are transferred. */
  readonly ports: readonly MessagePort[];
}

/** Common words, which every tokenizer has seen often. */
const PROBE =
  "The quick brown fox jumps over the lazy dog. What goes up must come down, and the answer to the question is not always the one that was expected.";

/** Fails with BadInput if the server does not suit this run, and with LearnerError if it is lost later. */
export const make = Effect.fnUntraced(function* ({
  config,
  model,
  ports,
  restore,
}: TinkerLearnerOptions): Effect.fn.Return<LearnerThread, BadInput | LearnerError, Scope.Scope> {
  const { addMetrics, report } = yield* Servers;
  let passed: PassedTokens = { forward: 0, backward: 0 };
  yield* checkServer(config);
  const thread = yield* makeThread<TinkerLearnerProtocol, LearnerError>({
    url: new URL("./worker.ts", import.meta.url),
    name: "learner",
    fail: learnerError,
    onEvent: (event) => {
      if (event._tag === "server") report(event.change);
      else passed = event;
    },
  });
  yield* addMetrics(() => trainingMetrics(config.model.learner, passed));
  const probe = model.tokenizer.encode(PROBE).slice(0, config.rollout.max_model_len);
  const { tokenizer } = model.checkpoint;
  const { vocabSize } = model.checkpoint.config;
  yield* thread.call("start", { config, tokenizer, vocabSize, probe, restore, ports }, ports);
  return learnerOver(thread, 1);
});
