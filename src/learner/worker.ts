/**
 * Entry of the thread of a learner that computes here; it holds the trainer and its mailboxes. Invariant: generators are sent snapshots,
 * which are copies of the weights between two commands.
 */
import { baseOf, readableBase } from "../model/runtime/baseFeeds.ts";
import { useRuntime } from "../model/runtime/Session.ts";
import { Mailbox, Snapshot } from "../model/weights/Mailbox.ts";
import { criticConfig } from "./Critic.ts";
import type { CustomParts } from "./CustomParts.ts";
import type { StartRequest } from "./LearnerProtocol.ts";
import { type StartedLearner, serveLearner } from "./serveLearner.ts";
import { Trainer } from "./Trainer.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";
import { VersionHistory } from "./VersionHistory.ts";

/** Loads the code of checkpoints. The thread begins this when it has started, so that a long run saves by the code that it began with. */
const loadCheckpointFiles = () => import("./checkpointFiles.ts");

/** Sends the trainer's weights to every mailbox. */
const publish = (
  trainer: Trainer,
  kind: "full" | "adapter",
  mailboxes: readonly Mailbox[],
  history: VersionHistory | undefined,
): void => {
  const { version } = trainer.state;
  const { flat } = trainer.networks.actor.parameters;
  history?.record(version, flat);
  if (mailboxes.length === 0) return;
  const snapshot = new Snapshot({ version, kind }, flat.slice(), mailboxes.length);
  for (const mailbox of mailboxes) mailbox.publish(snapshot);
};

/** The user's own parts. Most runs have none, and then nothing is loaded. */
const customParts = async (options: TrainerOptions): Promise<CustomParts> => {
  if (options.algorithm.custom_estimator === null && options.actor.custom_loss === null) return {};
  const { loadCustomParts } = await import("./CustomParts.ts");
  return loadCustomParts(options);
};

const open = async (request: StartRequest): Promise<StartedLearner> => {
  const { parameters, ...files } = request.checkpoint;
  const { adapter, config } = files;
  useRuntime(request.options.runtime ?? "onnx");
  const options = { ...request.options, custom: await customParts(request.options) };
  const policyBase = baseOf(config, parameters);
  const base = policyBase && (await readableBase(policyBase));
  const criticTrunk = criticConfig(config, request.options.critic);
  const restored =
    request.restore === null
      ? undefined
      : await (await loadCheckpointFiles()).restore(request.restore, config, criticTrunk);
  const trainer = await Trainer.open(config, adapter?.parameters ?? parameters, options, restored, base);
  const { lag, sendsEach } = request;
  const order = lag === null && !sendsEach ? "latest" : "each";
  const mailboxes = request.ports.map((port) => new Mailbox(port, order));
  const history = lag === null ? undefined : new VersionHistory(lag, restored?.earlier);
  history?.record(trainer.state.version, trainer.networks.actor.parameters.flat);
  const checkpointFiles = loadCheckpointFiles();
  return {
    trainer,
    publish: () => publish(trainer, adapter === undefined ? "full" : "adapter", mailboxes, history),
    save: async (folder) => (await checkpointFiles).save(folder, files, trainer, history?.earlier),
    close: async () => {
      for (const mailbox of mailboxes) mailbox.close();
      await trainer[Symbol.asyncDispose]();
    },
  };
};

serveLearner(open);
