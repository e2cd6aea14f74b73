/**
 * The generator of a replay. It receives each version and samples nothing, because replies come from the log.
 * Invariant: a request that the log does not answer ends the replay.
 */
import { MessageChannel } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { Version } from "../domain/Episode.ts";
import { PolicyError } from "../domain/Errors.ts";
import type { StreamKey } from "../domain/Random.ts";
import type { Model } from "../model/Model.ts";
import type { AdoptedMessage, EarlierVersion, Payload, WeightsMessage } from "../model/weights/Weights.ts";
import { CommonVersion } from "./CommonVersion.ts";
import type { Generator } from "./Generator.ts";

/** Takes the weights of a version. */
export type ReceiveVersion = (version: Version, payload: Payload) => void;

const missing = ({ counters, purpose }: StreamKey): PolicyError =>
  new PolicyError({
    reason: "bad_request",
    message: `the log has no reply to ${purpose} ${counters.join(" ")} (group, member, turn): its request is another one than in the run, or the run had not sampled it`,
  });

const failed = (cause: unknown): PolicyError =>
  new PolicyError({ reason: "session_failed", message: cause instanceof Error ? cause.message : String(cause), cause });

const gaugesOf = (version: Version) => ({
  version,
  slots: 0,
  active: 0,
  idle: 0,
  sampledTokens: 0,
  adoptions: 0,
  adoptionMs: { last: 0, max: 0 },
});

/** `open` returns what takes the versions, the starting ones first. */
export const recordedGenerator =
  (open: (model: Model) => Promise<ReceiveVersion>) =>
  (
    model: Model,
    version: Version,
    earlier: readonly EarlierVersion[],
  ): Effect.Effect<Generator, PolicyError, Scope.Scope> =>
    Effect.gen(function* () {
      const { adapter, parameters } = model.checkpoint;
      const kind = adapter === undefined ? "full" : "adapter";
      const start = { version, parameters: (adapter?.parameters ?? parameters).flat };
      const receive = yield* Effect.tryPromise({
        try: async () => {
          const receive = await open(model);
          for (const each of [...earlier, start])
            receive(each.version, { _tag: kind, buffer: each.parameters.slice().buffer });
          return receive;
        },
        catch: failed,
      });
      const versions = new CommonVersion(1, version);
      const { port1: inbox, port2: outbox } = new MessageChannel();
      yield* Effect.addFinalizer(() => Effect.sync(() => inbox.close()));
      inbox.on("message", ({ payload, version }: WeightsMessage) => {
        const adopted: AdoptedMessage = { _tag: "adopted", version };
        receive(version, payload);
        versions.recordAdoption(0, version);
        inbox.postMessage(adopted);
      });
      const generator: Generator = {
        ports: [outbox],
        generate: ({ key }) => Effect.fail(missing(key)),
        release: () => Effect.void,
        version: versions.newestOrFailure,
        awaitVersion: (awaited) => versions.awaitVersion(awaited),
        hold: Effect.sync(() => versions.newest),
        gauges: Effect.sync(() => gaugesOf(versions.newest)),
        died: Effect.andThen(versions.awaitVersion(Number.POSITIVE_INFINITY), Effect.never),
      };
      return generator;
    });
