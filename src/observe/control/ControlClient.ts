/**
 * Sends a control to a running run, through the socket that its folder names. A refusal by the run, and a run that has ended, are
 * BadInput.
 */
import { createConnection } from "node:net";
import { Effect, Result } from "effect";
import type { Control, Controller } from "../../domain/Control.ts";
import { BadInput } from "../../domain/Errors.ts";
import { writerStatus } from "../record/RunLock.ts";
import * as ControlFile from "./ControlFile.ts";
import { type ControlAnswer, decodeAnswer, encodeLine, LONGEST_LINE } from "./Protocol.ts";

/** Milliseconds. A run carries a control out at once or refuses it, so a slower answer means that it hangs. */
const ANSWER_MS = 10_000;

type Outcome = ControlAnswer | { readonly gone: true } | { readonly silent: true };

const ask = (socketPath: string, text: string): Effect.Effect<Outcome> =>
  Effect.callback<Outcome>((resume) => {
    let answer = "";
    // The path is passed by name, because a path that is a number would be taken for a port.
    const socket = createConnection({ path: socketPath });
    const end = (outcome: Outcome): void => {
      socket.destroy();
      resume(Effect.succeed(outcome));
    };
    socket.setEncoding("utf8");
    socket.setTimeout(ANSWER_MS, () => end({ silent: true }));
    socket.on("error", () => end({ gone: true }));
    socket.on("connect", () => socket.write(text));
    socket.on("data", (piece: string) => {
      answer += piece;
      if (answer.length > LONGEST_LINE) end({ silent: true });
    });
    socket.on("end", () => {
      const decoded = decodeAnswer(answer.trim());
      end(Result.isSuccess(decoded) ? decoded.success : { gone: true });
    });
    return Effect.sync(() => socket.destroy());
  });

/** Succeeds once the run has carried out the control. */
export const sendControl = Effect.fnUntraced(function* (
  folder: string,
  control: Control,
  by: Controller,
): Effect.fn.Return<void, BadInput> {
  const name = ControlFile.runNameOf(folder);
  const address = yield* Effect.promise(() => ControlFile.read(folder));
  const gone = new BadInput({ message: `the run ${name} does not run any more` });
  if (address === null) {
    const runs = (yield* Effect.promise(() => writerStatus(folder))) === "running";
    return yield* runs ? new BadInput({ message: `the run ${name} takes no controls` }) : gone;
  }
  const outcome = yield* ask(address.socket, encodeLine({ control, by }));
  if ("gone" in outcome) return yield* gone;
  if ("silent" in outcome) return yield* new BadInput({ message: `the run ${name} does not answer` });
  if ("error" in outcome) return yield* new BadInput({ message: outcome.error });
});
