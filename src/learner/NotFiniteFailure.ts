/**
 * How a run ends whose numbers are not finite any more: failures in one sentence that says what was not finite and what to try, and where
 * the last good checkpoint is.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { LearnerError, PolicyError } from "../domain/Errors.ts";
import { type SkippedUpdates, tooMany } from "../domain/SkippedUpdates.ts";
import { describeUntrained, type NonFinitePart, type UntrainedNetwork } from "./NonFinitePart.ts";

type Section = "actor" | "critic";

/** The rate that the updates were made at, and the bound on their gradients. */
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

/** The failure of a training run whose last update is one of too many skipped ones; null where the run goes on. */
export const trainingFailure = (
  config: RunConfig,
  row: SkippedUpdates | null,
  untrained: UntrainedNetwork | null,
): LearnerError | null => {
  const { max_skipped_updates, total_training_steps } = config.trainer;
  if (row === null || untrained === null || !tooMany(row, max_skipped_updates, total_training_steps)) return null;
  return failure(row, untrained, advice(config, untrained));
};

/** The same of a cloning run, of whose last step `notFinite` was not. */
export const cloningFailure = (
  { actor, sft, trainer }: RunConfig,
  row: SkippedUpdates | null,
  notFinite: NonFinitePart,
): LearnerError | null => {
  if (row === null || !tooMany(row, trainer.max_skipped_updates, sft.steps)) return null;
  return failure(row, { network: "policy", notFinite }, lowerRate("sft.lr", sft.lr, "actor", actor.grad_clip));
};

/** The fields of a failure that is about numbers, its message with the last good checkpoint. */
const withCheckpoint = ({ cause, message }: LearnerError | PolicyError, checkpoint: string | null, toTry = "") => {
  const last = checkpoint === null ? "no checkpoint was written before" : `the last good checkpoint is ${checkpoint}`;
  return {
    reason: "not_finite" as const,
    message: `${message}${toTry}; ${last}`,
    ...(cause === undefined ? {} : { cause }),
  };
};

/** The learner's failure, with the last good checkpoint where it is about numbers that are not finite. */
export const learnerFailure = (error: LearnerError, checkpoint: string | null): LearnerError =>
  error.reason === "not_finite" ? new LearnerError(withCheckpoint(error, checkpoint)) : error;

/** The same of the policy's. */
export const policyFailure = (error: PolicyError, checkpoint: string | null): PolicyError =>
  error.reason === "not_finite"
    ? new PolicyError(withCheckpoint(error, checkpoint, "; lower the learning rate (actor.lr)"))
    : error;
