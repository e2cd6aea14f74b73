/** Restarts of a run whose thread or process died: the run is opened again and goes on from its newest checkpoint. */
import { Schema } from "effect";
import { LearnerError, PolicyError } from "./Errors.ts";

/** The failure of a run that lost a generator thread, its learner's thread or a lane. */
export type ThreadDeath = PolicyError | LearnerError;

/** True for a death of a thread. Any other failure has a cause that a restart would meet again. */
export const isThreadDeath = (error: unknown): error is ThreadDeath =>
  (error instanceof PolicyError || error instanceof LearnerError) && error.reason === "thread_died";

/** Ends an attempt at a run that is opened again. The run's sinks are told of a stop, and not of a failure. */
export class ThreadLost extends Schema.TaggedError<ThreadLost>()("ThreadLost", {
  message: Schema.String,
}) {}

/** The reason in the outcome of an attempt that ended with `ThreadLost`. */
export const RESTARTING = "restarting";

/** Why a run is opened again. */
export interface Restart {
  /** One sentence that names what died. */
  readonly reason: string;
  /** Restarts that are left after this one. */
  readonly left: number;
}

/** The failure of a run that has used all its restarts. `checkpoint` is the folder of its newest checkpoint. */
export const withoutRestarts = (death: ThreadDeath, restarts: number, checkpoint: string | null): ThreadDeath => {
  if (restarts === 0) return death;
  const used = `trainer.max_restarts: ${restarts}: the run was restarted so often before`;
  const place = checkpoint === null ? "no checkpoint was written" : `the newest checkpoint is ${checkpoint}`;
  const message = `${death.message}; ${used}; ${place}`;
  return death instanceof PolicyError
    ? new PolicyError({ reason: death.reason, message, cause: death })
    : new LearnerError({ reason: death.reason, message, cause: death });
};
