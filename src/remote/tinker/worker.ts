/**
 * Entry of the learner's thread for a Tinker server: opens session and model there, checks that the server can do what the run file asks,
 * and serves the learner's calls. Invariant: a run file that the server cannot follow is refused before anything is trained.
 */
import process from "node:process";
import { Effect, Exit, Redacted, Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { loadCustomParts } from "../../learner/CustomParts.ts";
import { PolicyLossGradient } from "../../learner/losses/PolicyLossGradient.ts";
import { ValueLossGradient } from "../../learner/losses/ValueLossGradient.ts";
import { type StartedLearner, serveLearner } from "../../learner/serveLearner.ts";
import { Trainer } from "../../learner/Trainer.ts";
import { trainerOptions } from "../../learner/TrainerOptions.ts";
import { CheckpointError } from "../../model/checkpoint/CheckpointError.ts";
import { write as writeTokenizerFiles } from "../../model/checkpoint/TokenizerFiles.ts";
import { CallError } from "../../model/runtime/serve.ts";
import { Mailbox, servedVersion } from "../../model/weights/Mailbox.ts";
import * as Client from "./Client.ts";
import * as Connection from "./Connection.ts";
import { readCheckpoint, type TinkerCheckpoint, trainerState, writeCheckpoint } from "./checkpoint.ts";
import { openModels, type TinkerModels } from "./openModels.ts";
import { operationRunner, type RunOperation } from "./operationRunner.ts";
import type { TinkerEvent, TinkerStart } from "./protocol.ts";
import { TinkerActor } from "./TinkerActor.ts";
import { TinkerCritic } from "./TinkerCritic.ts";
import * as TinkerReference from "./TinkerReference.ts";

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
    tell: (change) => thread.emit({ _tag: "server", change }),
  });

/** Counts the tokens of passes and reports the counts. */
const countPasses = () => {
  const passed = { forward: 0, backward: 0 };
  return (tokens: number, forwardOnly: boolean): void => {
    passed[forwardOnly ? "forward" : "backward"] += tokens;
    thread.emit({ _tag: "passed", ...passed });
  };
};

const restoreCheckpoint = async ({ config, restore }: TinkerStart): Promise<TinkerCheckpoint | undefined> => {
  if (restore === null) return undefined;
  return Effect.runPromise(readCheckpoint(restore, config)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });
};

/** Saves on the server, and writes a checkpoint that names the saved state. */
const save = async (
  folder: string,
  { config, tokenizer }: TinkerStart,
  { state }: Trainer,
  { critic, model }: TinkerModels,
  run: RunOperation,
): Promise<void> => {
  const name = `v${state.version}-w${state.windows}-${Date.now().toString(36)}`;
  const saved = {
    weights: await run(model.save(name)),
    critic: critic === undefined ? null : await run(critic.save(`${name}-critic`)),
  };
  await Effect.runPromise(
    Effect.andThen(writeTokenizerFiles(folder, tokenizer), writeCheckpoint(folder, config, state, saved)),
  );
};

/** Opens the learner for the life of the scope. */
const openLearner = async (
  start: TinkerStart,
  scope: Scope.Closeable,
  signal: AbortSignal,
): Promise<StartedLearner> => {
  const { config } = start;
  let hasBegun = false;
  const run = operationRunner(signal, () => !hasBegun);
  const checkpoint = await restoreCheckpoint(start);
  const custom = await loadCustomParts(config);
  const connection = await run(Scope.provide(Connection.open(clientOf(config)), scope));
  const models = await run(Scope.provide(openModels(start, checkpoint, connection, countPasses()), scope));
  const { model, traits } = models;
  const mailboxes = start.ports.map((port) => new Mailbox(port));
  let newest = "";
  const policy = new TinkerActor(
    model,
    await PolicyLossGradient.open(config.actor, config.algorithm, custom.loss),
    run,
    {
      actor: config.actor,
      reduction: traits.reduction,
      onVersion: (id) => {
        newest = id;
      },
    },
  );
  const diverges = config.actor.use_kl_loss || config.algorithm.use_kl_in_reward;
  const reference = diverges ? TinkerReference.make(model, run) : undefined;
  const critic =
    models.critic &&
    new TinkerCritic(models.critic, await ValueLossGradient.open(config.critic, config.actor), run, config.critic);
  const trainer = Trainer.over(
    { ...trainerOptions(config), custom },
    { policy, critic, reference },
    checkpoint && trainerState(checkpoint),
  );
  const publish = () => {
    for (const mailbox of mailboxes) mailbox.publish(servedVersion(trainer.state.version, newest));
  };
  await policy.commitVersion();
  publish();
  hasBegun = true;
  return {
    trainer,
    publish,
    save: (folder) => save(folder, start, trainer, models, run),
    close: async () => {
      for (const mailbox of mailboxes) mailbox.close();
      await trainer[Symbol.asyncDispose]();
    },
  };
};

const open = async (start: TinkerStart): Promise<StartedLearner> => {
  const aborting = new AbortController();
  const scope = await Effect.runPromise(Scope.make());
  const close = () => {
    aborting.abort();
    return Effect.runPromise(Scope.close(scope, Exit.void));
  };
  try {
    const learner = await openLearner(start, scope, aborting.signal);
    return { ...learner, close: () => learner.close().finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
};

const thread = serveLearner<TinkerStart, TinkerEvent>(open);
