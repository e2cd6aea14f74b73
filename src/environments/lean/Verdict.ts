/**
 * What a check says of a proof: the server's answer about one script enters, a verdict leaves. Pure. A tactic is accepted unless Lean
 * complains of more than goals still to prove, or the proof is by `sorry`; a proof is complete when Lean complains of nothing.
 */
import { Schema } from "effect";

const Position = Schema.Struct({ line: Schema.Int, column: Schema.Int });

export const Message = Schema.Struct({
  severity: Schema.Literals(["trace", "info", "warning", "error"]),
  pos: Schema.optionalKey(Schema.NullOr(Position)),
  endPos: Schema.optionalKey(Schema.NullOr(Position)),
  data: Schema.String,
});
export type Message = typeof Message.Type;

/** What Lean's REPL says: what it found in the script, or why it could not run it. */
export const Response = Schema.Union([
  Schema.Struct({ message: Schema.String }),
  Schema.Struct({
    messages: Schema.optionalKey(Schema.NullOr(Schema.Array(Message))),
    sorries: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
  }),
]);
export type Response = typeof Response.Type;

export interface Verdict {
  readonly accepted: boolean;
  /** The proof is complete. */
  readonly success: boolean;
  readonly timedOut: boolean;
  readonly messages: readonly Message[];
}

export const isUnsolved = ({ data, severity }: Message): boolean =>
  severity === "error" && data.toLowerCase().includes("unsolved goals");

/** Some tactics (`admit`, `stop`) leave a `sorry` that only this warning tells of. */
const admits = ({ data }: Message): boolean => /declaration uses ['`‘]sorry/.test(data);

const rejected = (data: string, timedOut: boolean): Verdict => ({
  accepted: false,
  success: false,
  timedOut,
  messages: [{ severity: "error", data }],
});

export const verdictOf = (response: Response): Verdict => {
  if ("message" in response) return rejected(response.message, false);
  const messages = response.messages ?? [];
  const errors = messages.filter(({ severity }) => severity === "error");
  const proved = (response.sorries ?? []).length === 0 && !messages.some(admits);
  return {
    accepted: proved && errors.every(isUnsolved),
    success: proved && errors.length === 0,
    timedOut: false,
    messages,
  };
};

/** Lean took longer than it may. */
export const timedOut = (complaint: string): Verdict => rejected(complaint, true);

export const emptyTactic: Verdict = rejected("Empty tactic is not allowed.", false);
