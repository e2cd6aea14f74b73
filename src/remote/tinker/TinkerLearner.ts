/** The learner that trains on a Tinker server, in its thread: the pipeline's `Learner`, whose networks are the server's. */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { BadInput, LearnerError } from "../../domain/Errors.ts";
import { Servers } from "../../flow/Servers.ts";
import { type LearnerThread, learnerError, learnerOver } from "../../learner/LearnerThread.ts";
import type { Model } from "../../model/Model.ts";
import { make as makeThread } from "../../model/runtime/Thread.ts";
import { check } from "./check.ts";
import { spent } from "./metrics.ts";
import type { Passed, TinkerLearnerProtocol } from "./protocol.ts";

export interface TinkerLearnerOptions {
  readonly config: RunConfig;
  /** Of its tokenizer alone. */
  readonly model: Model;
  /** Folder of the checkpoint to go on from, or null. */
  readonly restore: string | null;
  /** One port per reader of versions; they are transferred. */
  readonly ports: readonly MessagePort[];
}

/** Words that every tokenizer has cut by the thousand. */
const PROBE =
  "The quick brown fox jumps over the lazy dog. What goes up must come down, and the answer to the question is not always the one that was expected.";

/** Fails with BadInput where the server is not one for this run, with LearnerError where it is lost on the way. */
export const make = Effect.fnUntraced(function* ({
  config,
  model,
  ports,
  restore,
}: TinkerLearnerOptions): Effect.fn.Return<LearnerThread, BadInput | LearnerError, Scope.Scope> {
  const { measure, tell } = yield* Servers;
  let passed: Passed = { forward: 0, backward: 0 };
  yield* check(config);
  const thread = yield* makeThread<TinkerLearnerProtocol, LearnerError>({
    url: new URL("./worker.ts", import.meta.url),
    name: "learner",
    fail: learnerError,
    onEvent: (told) => {
      if (told._tag === "server") tell(told.change);
      else passed = told;
    },
  });
  yield* measure(() => spent(config.model.learner, passed));
  const probe = model.tokenizer.encode(PROBE).slice(0, config.rollout.max_model_len);
  const { tokenizer } = model.checkpoint;
  const { vocabSize } = model.checkpoint.config;
  yield* thread.call("start", { config, tokenizer, vocabSize, probe, restore, ports }, ports);
  return learnerOver(thread, 1);
});
