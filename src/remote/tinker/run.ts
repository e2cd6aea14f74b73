/** Runs what is asked of a server for code that has promises. A failure rejects with the code that the thread's owner knows; closing ends all of it. */
import { Cause, Effect, Exit, Option } from "effect";
import { CallError } from "../../model/runtime/serve.ts";
import { TinkerError } from "./TinkerError.ts";

export type Run = <A>(effect: Effect.Effect<A, TinkerError>) => Promise<A>;

/** `refusing`: what the server will not do is a mistake in the run file, as long as the run has not begun. */
const asCallError = (error: unknown, refusing: boolean): unknown => {
  if (!(error instanceof TinkerError)) return error;
  const { message, reason } = error;
  const refused = refusing && reason !== "failed";
  // What a server says of a request names no key of the run file.
  const named = refused && message.startsWith("http") ? `model.learner: ${message}` : message;
  return new CallError(refused ? "refused" : "session_failed", named, { cause: error });
};

export const runWith =
  (signal: AbortSignal, refusing: () => boolean): Run =>
  async (effect) => {
    const exit = await Effect.runPromiseExit(effect, { signal });
    if (Exit.isSuccess(exit)) return exit.value;
    const failure = Cause.findErrorOption(exit.cause);
    throw asCallError(Option.isSome(failure) ? failure.value : Cause.squash(exit.cause), refusing());
  };
