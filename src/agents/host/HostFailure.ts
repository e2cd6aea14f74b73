/** A failure of an episode in its host. Invariant: it is never a reward of 0. */
import type { FailureReason } from "../../domain/Episode.ts";

/** The failure of an episode where it ran. */
export interface HostFailure {
  readonly _tag: "HostFailure";
  readonly reason: FailureReason;
  readonly message: string;
}

export const hostFailure = (reason: FailureReason, message: string): HostFailure => ({
  _tag: "HostFailure",
  reason,
  message,
});
