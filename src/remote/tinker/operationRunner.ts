/**
 * Runs effects on a server for code that awaits promises. A failure rejects with a code that the thread's owner knows; an abort ends all of
 * them.
 */
import { Cause, Effect, Exit, Option } from "effect";
import { CallError } from "../../model/runtime/serve.ts";
import { TinkerError } from "./TinkerError.ts";

export type RunOperation = <A>(effect: Effect.Effect<A, TinkerError>) => Promise<A>;

/** @param isStarting true until the run has begun: a refusal by the server is then a mistake in the run file */
const asCallError = (error: unknown, isStarting: boolean): unknown => {
  if (!(error instanceof TinkerError)) return error;
  const { message, reason } = error;
  const refused = isStarting && reason !== "failed";
  // The server's messages about requests name no key of the run file.
  const named = refused && message.startsWith("http") ? `model.learner: ${message}` : message;
  return new CallError(refused ? "refused" : "session_failed", named, { cause: error });
};

export const operationRunner =
  (signal: AbortSignal, isStarting: () => boolean): RunOperation =>
  async (effect) => {
    const exit = await Effect.runPromiseExit(effect, { signal });
    if (Exit.isSuccess(exit)) return exit.value;
    const failure = Cause.findErrorOption(exit.cause);
    throw asCallError(Option.isSome(failure) ? failure.value : Cause.squash(exit.cause), isStarting());
  };
