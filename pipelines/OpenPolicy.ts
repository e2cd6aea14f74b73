/**
 * A trained policy that is open for sampling, as a caller of the package holds it. Replies and episodes asked for at the same time share decode
 * steps. Invariant: a reply depends on the weights, its messages and its seed, and not on the other replies.
 */

import { Effect, Exit, Scope } from "effect";
import type { Episode } from "../src/domain/Episode.ts";
import { PolicyError } from "../src/domain/Errors.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import { templates } from "../src/rollout/Rollout.ts";
import { checkOptions } from "./checkOptions.ts";
import type { Changes } from "./compose.ts";
import { namedModel } from "./namedRun.ts";
import { loadPlayedModel } from "./playedModel.ts";
import { type Play, type PlayOptions, playerOf } from "./policyPlay.ts";
import { type GeneratedReply, type GenerateOptions, type LoadedPolicy, type Message, replyTo } from "./policyReply.ts";
import { composePolicy, versionIn } from "./policySource.ts";
import { checkRuntime } from "./prepareRun.ts";
import { promiseOf, silently } from "./promises.ts";
import type { OwnModules } from "./RunFile.ts";

/** A trained policy that is open for sampling. */
export interface OpenPolicy extends AsyncDisposable {
  /** Folder of its weights. */
  readonly model: string;
  /**
   * Samples a reply to messages: a system message or none, then user and assistant in turn, a user last; a text is one message of the user.
   * Rejects with BadInput otherwise.
   */
  readonly generate: (messages: string | readonly Message[], options?: GenerateOptions) => Promise<GeneratedReply>;
  /**
   * Plays an episode of the run file's preset `tag`, or of one's own environment. A failed step is the episode's outcome. Rejects with
   * BadInput if the preset cannot be played.
   */
  readonly play: (tag: string, options?: PlayOptions) => Promise<Episode>;
  /** Ends the policy's threads. Replies that are under way reject. `await using` does the same. */
  readonly close: () => Promise<void>;
}

const policyOf = (policy: LoadedPolicy, path: string, play: Play, scope: Scope.Closeable): OpenPolicy => {
  let calls = 0;
  let isClosed = false;
  const nextCall = Effect.suspend(() =>
    isClosed
      ? Effect.fail(new PolicyError({ reason: "thread_died", message: "the policy is closed" }))
      : Effect.succeed(calls++),
  );
  const close = (): Promise<void> => {
    isClosed = true;
    return Effect.runPromise(Scope.close(scope, Exit.void));
  };
  return {
    model: path,
    generate: (given, { signal, ...options } = {}) => {
      const messages = typeof given === "string" ? [{ role: "user", content: given } as const] : given;
      return promiseOf(
        Effect.flatMap(nextCall, (call) => replyTo(policy, call, messages, options)),
        signal,
      );
    },
    play: (tag, { signal, ...options } = {}) =>
      promiseOf(silently(Effect.flatMap(nextCall, (call) => play(call, tag, options))), signal),
    close,
    [Symbol.asyncDispose]: close,
  };
};

/** Loads the weights and starts the threads of the scope. */
const load = Effect.fnUntraced(function* (
  source: string,
  changes: Changes,
  modules: Pick<OwnModules, "environments">,
  scope: Scope.Closeable,
) {
  const { checkTrusted, config: composed, hasRunFile } = yield* composePolicy("policy", source, changes, modules);
  // Caches that are refilled repeat their first bits only in a mode that promises bits.
  const config = { ...composed, pipeline: { ...composed.pipeline, mode: "sync" as const } };
  yield* checkRuntime(config);
  const path = yield* namedModel("model.path", config.model.path);
  const model = yield* loadPlayedModel(config, path);
  const version = yield* versionIn(path);
  const generator = yield* Scope.provide(localGenerator(config, model, version, { weights: "fixed" }), scope);
  const { action_sep: separator, enable_think: think, template } = config.rollout;
  const prefix = hasRunFile ? templates[template]({ think, separator }).prefix : "";
  const policy: LoadedPolicy = { config, model, generator, version, prefix };
  return policyOf(policy, path, playerOf(policy, checkTrusted, scope), scope);
});

/**
 * Opens a policy for sampling in this process. `source` is a run, a run file, whose `model.path` is opened, or a model's folder. A run's newest
 * checkpoint is taken; `runs/quickstart@400`, `@best` and a checkpoint's folder name others. `changes` are of its run file. Rejects with BadInput or
 * PolicyError.
 */
export const openPolicy = async (
  source: string,
  changes: Changes = {},
  modules: Pick<OwnModules, "environments"> = {},
): Promise<OpenPolicy> => {
  await promiseOf(checkOptions("openPolicy", modules, { environments: true }));
  const scope = Scope.makeUnsafe();
  const loading = load(source, changes, modules, scope);
  return promiseOf(silently(Effect.onError(loading, () => Scope.close(scope, Exit.void))));
};
