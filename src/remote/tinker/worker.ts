/**
 * Entry of the thread of a learner that trains on a Tinker server: opens the session and the model there, sees that the server can do what the run file
 * asks, and serves the learner's calls over it. Invariant: what a run file asks for in vain is refused before anything is trained.
 */
import process from "node:process";
import { Effect, Exit, Redacted, Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import { LossGradient } from "../../learner/losses/LossGradient.ts";
import { Mailbox, named } from "../../learner/Mailbox.ts";
import { type Opened, serveLearner } from "../../learner/serveLearner.ts";
import { Trainer } from "../../learner/Trainer.ts";
import { trainerOptions } from "../../learner/trainerOptions.ts";
import { CheckpointError } from "../../policy/checkpoint/CheckpointError.ts";
import { write as writeTokenizerFiles } from "../../policy/checkpoint/TokenizerFiles.ts";
import { CallError } from "../../policy/runtime/serve.ts";
import * as Client from "./Client.ts";
import * as Connection from "./Connection.ts";
import { baseModelOf, read, type Saved, stateOf, write } from "./checkpoint.ts";
import { unsupported, type Ways, waysOf } from "./facts.ts";
import { Model } from "./Model.ts";
import { inItsFormat, referenceIsHarmless, strangeTo, whichSkyRL } from "./probes.ts";
import type { TinkerStart, Told } from "./protocol.ts";
import { type Run, runWith } from "./run.ts";
import { TinkerActor } from "./TinkerActor.ts";
import { TinkerError } from "./TinkerError.ts";
import * as TinkerReference from "./TinkerReference.ts";
import { datumOf } from "./wire/Data.ts";

const refuse = (lines: readonly string[]): Effect.Effect<void, TinkerError> =>
  lines.length === 0 ? Effect.void : Effect.fail(new TinkerError({ reason: "rejected", message: lines.join("\n") }));

const keyOf = (variable: string): Redacted.Redacted | null => {
  const key = variable === "" ? undefined : process.env[variable];
  return key === undefined || key === "" ? null : Redacted.make(key);
};

const clientOf = ({ model: { learner } }: RunConfig): Client.Client =>
  Client.make({
    url: learner.url,
    key: keyOf(learner.api_key_env),
    role: "learner",
    pollTimeoutMs: learner.poll_timeout_ms,
    outageMs: learner.outage_ms,
    tell: (change) => served.emit({ _tag: "server", change }),
  });

/** Adds up the tokens of passes and tells of them. */
const counting = () => {
  const passed = { forward: 0, backward: 0 };
  return (tokens: number, forwardOnly: boolean): void => {
    passed[forwardOnly ? "forward" : "backward"] += tokens;
    served.emit({ _tag: "passed", ...passed });
  };
};

/** How long the server is given to take a model back. */
const GIVE_BACK = "3 seconds";

interface Ready {
  readonly model: Model;
  readonly ways: Ways;
}

/** The model of the run on the server, new or as it was saved, examined. */
const ready = Effect.fnUntraced(function* (
  { config, probe, vocabSize }: TinkerStart,
  saved: Saved | undefined,
  connection: Connection.Connection,
): Effect.fn.Return<Ready, TinkerError, Scope.Scope> {
  const { body, lora, request_tokens, server } = config.model.learner;
  const guess: TinkerServerName = server === "auto" ? yield* Connection.identify(config.model.learner.url) : server;
  yield* refuse(guess === "skyrl-jax" && server === "auto" ? [] : unsupported(config, guess));
  const options = { baseModel: baseModelOf(config), lora };
  const created = yield* Effect.acquireRelease(
    Model.create(connection, { ...options, requestTokens: request_tokens, passed: counting() }, 0),
    // Its place is free for the next run at once, and not only when the server misses the heartbeat.
    (model) => Effect.ignore(Effect.timeout(model.unload(), GIVE_BACK)),
  );
  if (saved !== undefined) yield* created.load(saved.weights);
  const data = [datumOf(probe)];
  const model = yield* inItsFormat(created, body, data);
  const [output] = yield* model.output(data);
  const name = whichSkyRL(guess, server, [...(output?.fields.keys() ?? [])]);
  if (typeof name !== "string") return yield* name;
  yield* refuse(unsupported(config, name));
  const [logp = new Float32Array(0)] = yield* model.forward(data);
  const strange = strangeTo(logp, vocabSize);
  if (strange !== null) return yield* strange;
  yield* model.learnResending(data);
  if (config.actor.use_kl_loss || config.algorithm.use_kl_in_reward) {
    yield* referenceIsHarmless(connection, options, probe, model);
  }
  return { model, ways: waysOf(config, name) };
});

const restored = async ({ config, restore }: TinkerStart): Promise<Saved | undefined> => {
  if (restore === null) return undefined;
  return Effect.runPromise(read(restore, config)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });
};

/** Saves on the server, and writes where it lies. */
const save = async (folder: string, start: TinkerStart, trainer: Trainer, model: Model, run: Run): Promise<void> => {
  const { state } = trainer;
  const name = `v${state.version}-w${state.windows}-${Date.now().toString(36)}`;
  const weights = await run(model.save(name));
  await Effect.runPromise(
    Effect.andThen(
      writeTokenizerFiles(folder, start.tokenizer),
      write(folder, start.config, state, { weights, critic: null }),
    ),
  );
};

/** What the learner stands on while the scope lives. */
const opened = async (start: TinkerStart, scope: Scope.Closeable, signal: AbortSignal): Promise<Opened> => {
  const { config } = start;
  let begun = false;
  const run = runWith(signal, () => !begun);
  const saved = await restored(start);
  const connection = await run(Scope.provide(Connection.open(clientOf(config)), scope));
  const { model, ways } = await run(Scope.provide(ready(start, saved, connection), scope));
  const mailboxes = start.ports.map((port) => new Mailbox(port));
  let newest = "";
  const policy = new TinkerActor(model, await LossGradient.open(config.actor, config.algorithm), run, {
    actor: config.actor,
    reduction: ways.reduction,
    settled: (id) => {
      newest = id;
    },
  });
  const diverges = config.actor.use_kl_loss || config.algorithm.use_kl_in_reward;
  const reference = diverges ? TinkerReference.make(model, run) : undefined;
  const trainer = Trainer.over(
    trainerOptions(config),
    { policy, critic: undefined, reference },
    saved && stateOf(saved),
  );
  const publish = () => {
    for (const mailbox of mailboxes) mailbox.publish(named(trainer.state.version, newest));
  };
  await policy.settle();
  publish();
  begun = true;
  return {
    trainer,
    publish,
    save: (folder) => save(folder, start, trainer, model, run),
    close: async () => {
      for (const mailbox of mailboxes) mailbox.close();
      await trainer[Symbol.asyncDispose]();
    },
  };
};

const open = async (start: TinkerStart): Promise<Opened> => {
  const aborting = new AbortController();
  const scope = await Effect.runPromise(Scope.make());
  const close = () => {
    aborting.abort();
    return Effect.runPromise(Scope.close(scope, Exit.void));
  };
  try {
    const learner = await opened(start, scope, aborting.signal);
    return { ...learner, close: () => learner.close().finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
};

const served = serveLearner<TinkerStart, Told>(open);
