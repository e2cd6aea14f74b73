/**
 * Failures of a run whose numbers are no longer finite. Each message says in one sentence what was not finite, what to change, and which
 * checkpoint was the last good one.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { LearnerError, PolicyError } from "../domain/Errors.ts";
import { isTooLong, type SkippedUpdates } from "../domain/SkippedUpdates.ts";
import { describeUntrained, type NonFinitePart, type UntrainedNetwork } from "./NonFinitePart.ts";

type Section = "actor" | "critic";

/** Advises to lower the learning rate, or to bound gradients. */
const lowerRate = (key: string, rate: number, section: Section, clip: number): string =>
  `lower ${key} (${rate}) or ${clip === 0 ? `bound gradients by ${section}.grad_clip` : `${section}.grad_clip (${clip})`}`;

const advice = ({ actor, critic }: RunConfig, { network, notFinite }: UntrainedNetwork): string => {
  if (notFinite === "rewards") return "look at the rewards of the environments";
  return network === "critic" || notFinite === "values"
    ? lowerRate("critic.lr", critic.lr, "critic", critic.grad_clip)
    : lowerRate("actor.lr", actor.lr, "actor", actor.grad_clip);
};

const failure = ({ count, since }: SkippedUpdates, untrained: UntrainedNetwork, toTry: string): LearnerError => {
  const updates = `${count} ${count === 1 ? "update" : "updates"} in a row, from step ${since} on,`;
  return new LearnerError({
    reason: "not_finite",
    message: `${updates} could not be applied (not finite: ${describeUntrained(untrained)}); ${toTry}`,
  });
};

/** Returns the failure of a training run that has skipped too many updates in a row; null while it may go on. */
export const trainingFailure = (
  config: RunConfig,
  row: SkippedUpdates | null,
  untrained: UntrainedNetwork | null,
): LearnerError | null => {
  const { max_skipped_updates, total_training_steps } = config.trainer;
  if (row === null || untrained === null || !isTooLong(row, max_skipped_updates, total_training_steps)) return null;
  return failure(row, untrained, advice(config, untrained));
};

/** Returns the failure of a cloning run that has skipped too many steps; `notFinite` stopped the last one. */
export const cloningFailure = (
  { actor, sft, trainer }: RunConfig,
  row: SkippedUpdates | null,
  notFinite: NonFinitePart,
): LearnerError | null => {
  if (row === null || !isTooLong(row, trainer.max_skipped_updates, sft.steps)) return null;
  return failure(row, { network: "policy", notFinite }, lowerRate("sft.lr", sft.lr, "actor", actor.grad_clip));
};

/** Adds the last good checkpoint to a failure's message. */
const withCheckpoint = ({ cause, message }: LearnerError | PolicyError, checkpoint: string | null, toTry = "") => {
  const last = checkpoint === null ? "no checkpoint was written before" : `the last good checkpoint is ${checkpoint}`;
  return {
    reason: "not_finite" as const,
    message: `${message}${toTry}; ${last}`,
    ...(cause === undefined ? {} : { cause }),
  };
};

/** Adds the last good checkpoint to a learner's failure if it is `not_finite`; returns other failures unchanged. */
export const learnerFailure = (error: LearnerError, checkpoint: string | null): LearnerError =>
  error.reason === "not_finite" ? new LearnerError(withCheckpoint(error, checkpoint)) : error;

/** Adds the checkpoint and an advice to a policy's failure if it is `not_finite`; returns other failures unchanged. */
export const policyFailure = (error: PolicyError, checkpoint: string | null): PolicyError =>
  error.reason === "not_finite"
    ? new PolicyError(withCheckpoint(error, checkpoint, "; lower the learning rate (actor.lr)"))
    : error;
