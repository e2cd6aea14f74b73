/** A trainer over a fake Tinker server, as the learner's thread makes it, and the parts it is made of. */
import { Effect, type Scope } from "effect";
import type { ServerChange } from "../../../src/domain/Server.ts";
import { PolicyLossGradient } from "../../../src/learner/losses/PolicyLossGradient.ts";
import { ValueLossGradient } from "../../../src/learner/losses/ValueLossGradient.ts";
import { Trainer } from "../../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../../src/learner/TrainerOptions.ts";
import * as Client from "../../../src/remote/tinker/Client.ts";
import * as Connection from "../../../src/remote/tinker/Connection.ts";
import { operationRunner, type RunOperation } from "../../../src/remote/tinker/operationRunner.ts";
import type { Reduction } from "../../../src/remote/tinker/serverTraits.ts";
import { TinkerActor } from "../../../src/remote/tinker/TinkerActor.ts";
import { TinkerCritic } from "../../../src/remote/tinker/TinkerCritic.ts";
import { type BodyFormat, TinkerModel } from "../../../src/remote/tinker/TinkerModel.ts";

export const clientAt = (url: string, more: Partial<Client.ClientOptions> = {}): Client.Client =>
  Client.make({
    url,
    key: null,
    role: "learner",
    pollTimeoutMs: 5_000,
    outageMs: 60_000,
    tell: () => undefined,
    ...more,
  });

export const lora = { rank: 0, seed: 0, train_attn: true, train_mlp: true, train_unembed: false };

export const modelAt = Effect.fnUntraced(function* (
  url: string,
  { format = "json", requestTokens = 1_000 }: { readonly format?: BodyFormat; readonly requestTokens?: number } = {},
  more: Partial<Client.ClientOptions> = {},
) {
  const connection = yield* Connection.open(clientAt(url, more));
  const model = yield* TinkerModel.create(connection, { baseModel: "base", lora, requestTokens }, 0);
  return { connection, model: model.withFormat(format) };
});

/** A critic beside the policy. */
const criticAt = Effect.fnUntraced(function* (
  connection: Connection.Connection,
  { actor, critic }: TrainerOptions,
  run: RunOperation,
  { format = "json", requestTokens }: { readonly format?: BodyFormat; readonly requestTokens: number },
) {
  const model = yield* TinkerModel.create(connection, { baseModel: "base", lora, role: "critic", requestTokens }, 2);
  const loss = yield* Effect.promise(() => ValueLossGradient.open(critic, actor));
  return new TinkerCritic(model.withFormat(format), loss, run, critic);
});

/** The trainer and the names of its versions, for the scope. */
export const trainerAt = Effect.fnUntraced(function* (
  url: string,
  options: TrainerOptions,
  {
    reduction = "sum",
    ...rest
  }: { readonly reduction?: Reduction; readonly format?: BodyFormat; readonly requestTokens?: number } = {},
  tell: (change: ServerChange) => void = () => undefined,
) {
  const { connection, model } = yield* modelAt(url, rest, { tell });
  const names: string[] = [];
  const aborting = new AbortController();
  const run = operationRunner(aborting.signal, () => false);
  const critic =
    options.algorithm.adv_estimator === "gae"
      ? yield* criticAt(connection, options, run, { requestTokens: 1_000, ...rest })
      : undefined;
  const trainer = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const loss = await PolicyLossGradient.open(options.actor, options.algorithm);
      const policy = new TinkerActor(model, loss, run, {
        actor: options.actor,
        reduction,
        onVersion: (name) => names.push(name),
      });
      return Trainer.over(options, { policy, critic, reference: undefined });
    }),
    (trainer) => Effect.promise(() => trainer[Symbol.asyncDispose]()),
  );
  return { connection, model, names, trainer };
});

export const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.scoped(effect));
