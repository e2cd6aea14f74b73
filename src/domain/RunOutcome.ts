/** How a run ended: what its sinks are told, and what its record says last. */
import { Cause, Exit } from "effect";

export type RunOutcome =
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly message: string };

/** Of how the run's effect ended, and the reason that its state gives: "complete" where it came to its last step. */
export const runOutcome = (exit: Exit.Exit<unknown, unknown>, reason: string): RunOutcome => {
  const stopped = reason === "complete" ? null : reason;
  if (Exit.isSuccess(exit)) return stopped === null ? { _tag: "Completed" } : { _tag: "Stopped", reason: stopped };
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Stopped", reason: stopped ?? "interrupted" };
  const error = Cause.squash(exit.cause);
  return { _tag: "Failed", message: error instanceof Error ? error.message : String(error) };
};
