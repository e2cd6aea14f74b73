/** Effects as promises for callers of the package: errors are theirs to read, and nothing is printed where they get a value. */
import { Console as NodeConsole } from "node:console";
import { Writable } from "node:stream";
import { Cause, Console, Effect, Exit } from "effect";
import { BadInput } from "../src/domain/Errors.ts";

/** Makes an error without frames, so that Node prints its message and no line of this package. */
const withoutFrames = <Made extends Error>(make: () => Made): Made => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
};

/** Unwraps a failed effect's error. The stack of a typed error shows this package's insides, and a caller needs its message alone. */
export const thrownBy = (cause: Cause.Cause<unknown>): unknown => {
  const squashed = Cause.squash(cause);
  const error =
    squashed instanceof BadInput ? withoutFrames(() => new BadInput({ message: squashed.message })) : squashed;
  if (error instanceof Error && "_tag" in error) {
    Object.defineProperty(error, "stack", { value: `${error.name}: ${error.message}`, configurable: true });
  }
  return error;
};

/** Runs an effect. Rejects with its typed error; an abort interrupts it. */
export const promiseOf = async <Value, Failure>(
  effect: Effect.Effect<Value, Failure>,
  signal?: AbortSignal,
): Promise<Value> => {
  const exit = await Effect.runPromiseExit(effect, signal === undefined ? {} : { signal });
  if (Exit.isSuccess(exit)) return exit.value;
  if (signal?.aborted === true) throw signal.reason;
  throw thrownBy(exit.cause);
};

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });

/** Runs an effect that would print, and prints nothing. */
export const silently = <Value, Failure, Needs>(
  effect: Effect.Effect<Value, Failure, Needs>,
): Effect.Effect<Value, Failure, Needs> => Effect.provideService(effect, Console.Console, new NodeConsole(nowhere));
