/**
 * Makes one request of an asynchronous environment under a time limit. Invariants: the signal aborts at the time limit and at interruption;
 * an answer that comes after that is passed to `late`, so that what it holds can be released.
 */
import { Effect, Option } from "effect";
import type { StepFailure } from "../contract/Environments.ts";
import { messageOf } from "../contract/prepare.ts";
import { stepFailure } from "../contract/Request.ts";

export const callWithTimeout = <A>(
  call: (signal: AbortSignal) => Promise<A>,
  timeoutMs: number,
  onLateAnswer: (answer: A) => void = () => undefined,
): Effect.Effect<A, StepFailure> =>
  Effect.callback<A, StepFailure>((resume, signal) => {
    const refuse = (cause: unknown): void => resume(Effect.fail(stepFailure("step_error", messageOf(cause))));
    try {
      // Checked when the answer arrives; a turn of the event loop later it may have changed.
      call(signal).then((answer) => (signal.aborted ? onLateAnswer(answer) : resume(Effect.succeed(answer))), refuse);
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
