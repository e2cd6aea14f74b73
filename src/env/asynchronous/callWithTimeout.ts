/**
 * Makes one request of an asynchronous environment under a time limit. Invariants: the signal aborts at the time limit and at interruption;
 * `onLateAnswer` gets an answer that arrives after that, to release what it holds.
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
      // The signal is checked as soon as the answer arrives, because it may abort a turn of the event loop later.
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
