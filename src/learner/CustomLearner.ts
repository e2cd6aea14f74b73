/**
 * A learner of the user's own in place of the learner's thread, by promises. Invariant: commands run one at a time in the order sent, and an
 * update that was applied makes one version.
 */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope, Semaphore } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import { LearnerError } from "../domain/Errors.ts";
import { type MetricKey, metricOf } from "../domain/metrics/Catalogue.ts";
import { metricsFrom } from "../domain/metrics/Metrics.ts";
import {
  type CustomModelContext,
  contextOf,
  type ModelWeights,
  messageOf,
  weightsOf,
} from "../model/CustomModelContext.ts";
import { copyOf, namedTensors, type Parameters, parametersOf } from "../model/graphs/Parameters.ts";
import { trainedParameters } from "../model/graphs/TrainedParameters.ts";
import type { Model } from "../model/Model.ts";
import { Mailbox, type OutgoingVersion, Snapshot, servedVersion } from "../model/weights/Mailbox.ts";
import type { UpdateReport } from "./Learner.ts";
import type { LearnerThread } from "./LearnerThread.ts";
import { writePolicy } from "./TrainerCheckpoint.ts";

/** The run that a learner of the user's own works for. */
export interface LearnerContext extends CustomModelContext {
  /** The weights that the run begins with or goes on from, by name; copies. They are of no use beside a policy of the user's own. */
  readonly weights: ModelWeights;
  /** Folder that `save` wrote and that the run goes on from; null for a new run. */
  readonly restore: string | null;
  /** Version of the weights that it begins with; 0 for a new run. */
  readonly version: Version;
}

/** The result of training on one window. */
export interface CustomUpdate {
  /** True if the policy changed, which makes a new version. */
  readonly applied: boolean;
  /** The new weights by name. The built-in generator needs them, and checkpoints hold them; a policy of the user's own need not. */
  readonly weights?: ModelWeights;
  /** Advantage of each id of the batch, for the recorded trajectories; default 0. */
  readonly advantages?: Float32Array;
  /** Metrics of the update under names of the catalogue, such as `actor/pg_loss`. */
  readonly metrics?: Readonly<Partial<Record<MetricKey, number>>>;
}

/** A learner of the user's own in place of the learner's thread. Its members are called one at a time. */
export interface CustomLearner {
  /** Called before the first update, and again, after `close`, when the run is restarted. */
  readonly start?: (context: LearnerContext) => Promise<void> | void;
  /** Trains on the kept groups of a window. A rejection ends the run. */
  readonly update: (batch: TokenBatch) => Promise<CustomUpdate> | CustomUpdate;
  /** Writes what `start` restores into an existing folder, beside the model's files. */
  readonly save: (folder: string) => Promise<void> | void;
  readonly close?: () => Promise<void> | void;
}

const attempt = <Value>(member: string, call: () => Promise<Value> | Value): Effect.Effect<Value, LearnerError> =>
  Effect.tryPromise({
    try: async () => call(),
    catch: (cause) =>
      new LearnerError({ reason: "session_failed", message: `the learner's ${member}: ${messageOf(cause)}`, cause }),
  });

const refused = (what: string) =>
  Effect.fail(new LearnerError({ reason: "refused", message: `a learner of one's own does not ${what}` }));

/** Copies weights by name into parameters of the model. Throws an `Error` that names a parameter that does not fit. */
const parametersFrom = ({ checkpoint }: Model, weights: ModelWeights): Parameters => {
  const parameters = parametersOf(trainedParameters(checkpoint.config));
  for (const { name, values } of namedTensors(parameters)) {
    const given = weights.get(name);
    if (given === undefined) throw new Error(`returned no weights for ${name}`);
    if (given.length !== values.length)
      throw new Error(`returned ${given.length} weights for ${name}, which has ${values.length}`);
    values.set(given);
  }
  return parameters;
};

const outgoing = (
  { checkpoint }: Model,
  version: Version,
  parameters: Parameters | undefined,
  readers: number,
): OutgoingVersion => {
  if (parameters === undefined) return servedVersion(version, "");
  const kind = checkpoint.adapter === undefined ? "full" : "adapter";
  return new Snapshot({ version, kind }, parameters.flat.slice(), readers);
};

const trainedOf = ({ checkpoint: { adapter, parameters } }: Model): Parameters =>
  copyOf(adapter?.parameters ?? parameters);

const reportOf = (batch: TokenBatch, update: CustomUpdate, version: Version): UpdateReport => {
  const zeros = new Float32Array(batch.ids.length);
  const advantages = update.advantages ?? zeros;
  if (advantages.length !== zeros.length)
    throw new Error(`returned ${advantages.length} advantages for ${zeros.length} ids`);
  const metrics = Object.entries(update.metrics ?? {}).map(
    ([name, value]) => [metricOf(name as MetricKey), value] as const,
  );
  return {
    version,
    applied: update.applied,
    untrained: null,
    metrics: metricsFrom(...metrics),
    seconds: metricsFrom(),
    credit: { advantages, returns: advantages, values: zeros },
  };
};

/** Writes the model's files, from which the run goes on and an evaluation begins. */
const saveModel = (folder: string, { checkpoint }: Model, parameters: Parameters): Effect.Effect<void, LearnerError> =>
  Effect.mapError(
    writePolicy(folder, checkpoint, parameters),
    ({ message }) => new LearnerError({ reason: "session_failed", message }),
  );

export interface CustomLearnerOptions {
  readonly config: RunConfig;
  readonly model: Model;
  readonly restore: string | null;
  readonly version: Version;
  readonly ports: readonly MessagePort[];
  /** True if the generator takes its weights from the learner. */
  readonly givesWeights: boolean;
}

/** Starts the user's learner as the run's learner. */
export const make = Effect.fnUntraced(function* (
  learner: CustomLearner,
  { config, givesWeights, model, ports, restore, version: startVersion }: CustomLearnerOptions,
): Effect.fn.Return<LearnerThread, LearnerError, Scope.Scope> {
  let version = startVersion;
  let parameters = givesWeights ? trainedOf(model) : undefined;
  yield* attempt("start", () => {
    const weights = weightsOf(parameters ?? parametersOf([]));
    return learner.start?.({ ...contextOf(config, model), weights, restore, version });
  });
  const mailboxes = ports.map((port) => new Mailbox(port));
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      for (const mailbox of mailboxes) mailbox.close();
      await learner.close?.();
    }),
  );
  const inTurn = (yield* Semaphore.make(1)).withPermits(1);
  const update = async (batch: TokenBatch): Promise<UpdateReport> => {
    const result = await learner.update(batch);
    if (!result.applied) return reportOf(batch, result, version);
    if (givesWeights && result.weights === undefined) {
      throw new Error("returned no weights, and the generator of this run needs them");
    }
    const given = result.weights && parametersFrom(model, result.weights);
    const next = outgoing(model, version + 1, given, mailboxes.length);
    const report = reportOf(batch, result, version + 1);
    version++;
    if (parameters !== undefined) parameters = given;
    for (const mailbox of mailboxes) mailbox.publish(next);
    return report;
  };
  const save = Effect.fnUntraced(function* (folder: string) {
    if (parameters !== undefined) yield* saveModel(folder, model, parameters);
    yield* attempt("save", () => learner.save(folder));
  });
  return {
    update: ({ kept }) => inTurn(attempt("update", () => update(kept))),
    analyse: () => refused("analyse gradients (trainer.gradient_analysis_mode)"),
    clone: () => refused("clone"),
    cloningLoss: () => refused("clone"),
    score: () => refused("score thoughts (diagnostics.collapse)"),
    save: (folder) => inTurn(save(folder)),
    version: inTurn(Effect.sync(() => version)),
    lanes: null,
    died: Effect.never,
  };
});
