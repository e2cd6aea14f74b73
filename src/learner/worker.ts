/**
 * Entry of the thread of a learner that computes here; it holds the trainer and its mailboxes. Invariant: generators are sent snapshots,
 * which are copies of the weights between two commands.
 */
import { Effect } from "effect";
import { CheckpointError } from "../model/checkpoint/CheckpointError.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { baseOf, readableBase } from "../model/runtime/baseFeeds.ts";
import { useRuntime } from "../model/runtime/Session.ts";
import { CallError } from "../model/runtime/serve.ts";
import { Mailbox, Snapshot } from "../model/weights/Mailbox.ts";
import { criticConfig } from "./Critic.ts";
import { loadCustomParts } from "./CustomParts.ts";
import type { StartRequest } from "./LearnerProtocol.ts";
import { type StartedLearner, serveLearner } from "./serveLearner.ts";
import { Trainer } from "./Trainer.ts";
import { type ModelFiles, restoreTrainer, saveTrainer } from "./TrainerCheckpoint.ts";
import type { RestoredTrainer } from "./TrainerState.ts";

const restore = (folder: string, config: DecoderConfig, criticTrunk: DecoderConfig): Promise<RestoredTrainer> =>
  Effect.runPromise(restoreTrainer(folder, config, criticTrunk)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });

/** Saves the trainer. A number that is not finite is refused as `not_finite`. */
const save = async (folder: string, model: ModelFiles, trainer: Trainer): Promise<void> => {
  const { networks, state } = trainer;
  await networks.synchronise();
  const { actor, critic, reference } = networks;
  await Effect.runPromise(saveTrainer(folder, model, state, actor, critic, reference)).catch((error) => {
    const refused = error instanceof CheckpointError && error.reason === "not_finite";
    throw refused ? new CallError("not_finite", error.message) : error;
  });
};

/** Sends the trainer's weights to every mailbox. */
const publish = (trainer: Trainer, kind: "full" | "adapter", mailboxes: readonly Mailbox[]): void => {
  if (mailboxes.length === 0) return;
  const { version } = trainer.state;
  const snapshot = new Snapshot({ version, kind }, trainer.networks.actor.parameters.flat.slice(), mailboxes.length);
  for (const mailbox of mailboxes) mailbox.publish(snapshot);
};

const open = async (request: StartRequest): Promise<StartedLearner> => {
  const { parameters, ...files } = request.checkpoint;
  const { adapter, config } = files;
  useRuntime(request.options.runtime ?? "onnx");
  const options = { ...request.options, custom: await loadCustomParts(request.options) };
  const policyBase = baseOf(config, parameters);
  const base = policyBase && (await readableBase(policyBase));
  const criticTrunk = criticConfig(config, request.options.critic);
  const restored = request.restore === null ? undefined : await restore(request.restore, config, criticTrunk);
  const trainer = await Trainer.open(config, adapter?.parameters ?? parameters, options, restored, base);
  const mailboxes = request.ports.map((port) => new Mailbox(port));
  return {
    trainer,
    publish: () => publish(trainer, adapter === undefined ? "full" : "adapter", mailboxes),
    save: (folder) => save(folder, files, trainer),
    close: async () => {
      for (const mailbox of mailboxes) mailbox.close();
      await trainer[Symbol.asyncDispose]();
    },
  };
};

serveLearner(open);
