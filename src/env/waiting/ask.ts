/**
 * One question to the other side of an environment that waits. Enters: what starts it and how long it may take; leaves: the answer, or
 * why there is none. Invariants: the signal aborts as soon as nobody waits any more, by time limit or interruption; an answer that comes
 * after that is handed to `late`, so that what it holds can be given back.
 */
import { Effect, Option } from "effect";
import type { StepFailure } from "../Environments.ts";
import { sentenceOf } from "../prepare.ts";
import { stepFailure } from "../Request.ts";

export const ask = <A>(
  question: (signal: AbortSignal) => Promise<A>,
  timeoutMs: number,
  late: (answer: A) => void = () => undefined,
): Effect.Effect<A, StepFailure> =>
  Effect.callback<A, StepFailure>((resume, signal) => {
    const refuse = (cause: unknown): void => resume(Effect.fail(stepFailure("step_error", sentenceOf(cause))));
    try {
      // Whether anybody waits is asked where the answer arrives: a turn of the event loop later it may have changed.
      question(signal).then((answer) => (signal.aborted ? late(answer) : resume(Effect.succeed(answer))), refuse);
    } catch (cause) {
      refuse(cause);
    }
  }).pipe(
    Effect.timeoutOption(timeoutMs),
    Effect.flatMap((answer) =>
      Option.isSome(answer)
        ? Effect.succeed(answer.value)
        : Effect.fail(stepFailure("step_timeout", `no answer after ${timeoutMs} ms`)),
    ),
  );
