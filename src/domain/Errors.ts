/**
 * Failures that end a run, one class per boundary. A failed episode is data (`Outcome`), never one of these.
 * `BadInput` is a mistake of the user (exit code 2); the others are a failed engine (exit code 1).
 */
import * as Schema from "effect/Schema";

/** Something the user wrote cannot be used. `message` is one readable sentence that names the thing and the nearest valid choice. */
export class BadInput extends Schema.TaggedError<BadInput>()("BadInput", { message: Schema.String }) {}

/** The model's threads failed: a session error, a dead thread, a shape the graphs refuse, weights whose logits are not finite. */
export class PolicyError extends Schema.TaggedError<PolicyError>()("PolicyError", {
  reason: Schema.Literals(["thread_died", "session_failed", "bad_request", "not_finite"]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {}

/**
 * The learner failed. `bad_checkpoint`: the folder to resume from cannot be read; `refused`: a training server cannot do what the run file
 * asks for; `not_finite`: training has left the finite numbers.
 */
export class LearnerError extends Schema.TaggedError<LearnerError>()("LearnerError", {
  reason: Schema.Literals(["thread_died", "session_failed", "bad_checkpoint", "refused", "not_finite"]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {}

/** The environments as a whole cannot run (a single step's failure is an episode's outcome instead). */
export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  tag: Schema.String,
  message: Schema.String,
}) {}

/** A checkpoint could not be written because the disk is full, or the quota used up. What was half written is removed; older checkpoints stay. */
export class CheckpointSpaceError extends Schema.TaggedError<CheckpointSpaceError>()("CheckpointSpaceError", {
  message: Schema.String,
}) {}

/** A replayed run came out otherwise than it was recorded. `message` names the first update or token that differs. */
export class ReplayDifference extends Schema.TaggedError<ReplayDifference>()("ReplayDifference", {
  message: Schema.String,
}) {}

/** Nothing happened in a run for `pipeline.stall_abort_ms`. `message` says who waits for whom, and which checkpoint the run goes on from. */
export class RunStalled extends Schema.TaggedError<RunStalled>()("RunStalled", { message: Schema.String }) {}
