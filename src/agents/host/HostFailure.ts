/** A failure of an episode in its host. Invariant: it is never a reward of 0. */
import type { Failure, FailureReason } from "../../domain/Episode.ts";

/** The failure of an episode where it ran. */
export interface HostFailure extends Failure {
  readonly _tag: "HostFailure";
}

export const hostFailure = (reason: FailureReason, message: string): HostFailure => ({
  _tag: "HostFailure",
  reason,
  message,
});
