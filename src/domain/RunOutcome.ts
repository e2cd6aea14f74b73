/** The outcome of a run, for its sinks and as the last line of its record. */
import { Cause, Exit } from "effect";
import { RESTARTING, ThreadLost } from "./Restart.ts";

/** The outcome of a run. */
export type RunOutcome =
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly message: string };

/** The outcome, from the exit of the run's effect and the reason in its state, which is "complete" after the last step. */
export const runOutcome = (exit: Exit.Exit<unknown, unknown>, reason: string): RunOutcome => {
  const stopped = reason === "complete" ? null : reason;
  if (Exit.isSuccess(exit)) return stopped === null ? { _tag: "Completed" } : { _tag: "Stopped", reason: stopped };
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Stopped", reason: stopped ?? "interrupted" };
  const error = Cause.squash(exit.cause);
  if (error instanceof ThreadLost) return { _tag: "Stopped", reason: RESTARTING };
  return { _tag: "Failed", message: error instanceof Error ? error.message : String(error) };
};
