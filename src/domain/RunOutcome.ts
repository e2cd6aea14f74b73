/** The outcome of a run, for its sinks and as the last line of its record. */
import { Cause, Exit } from "effect";
import { RESTARTING, ThreadLost } from "./Restart.ts";

/** The outcome of a run. */
export type RunOutcome =
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly message: string };

/** True for the exit of an attempt at a run that is opened again. */
export const isRestarting = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof ThreadLost;

/** The outcome, from the exit of the run's effect and the reason in its state, which is "complete" after the last step. */
export const runOutcome = (exit: Exit.Exit<unknown, unknown>, reason: string): RunOutcome => {
  const stopped = reason === "complete" ? null : reason;
  if (Exit.isSuccess(exit)) return stopped === null ? { _tag: "Completed" } : { _tag: "Stopped", reason: stopped };
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Stopped", reason: stopped ?? "interrupted" };
  if (isRestarting(exit)) return { _tag: "Stopped", reason: RESTARTING };
  const error = Cause.squash(exit.cause);
  return { _tag: "Failed", message: error instanceof Error ? error.message : String(error) };
};
