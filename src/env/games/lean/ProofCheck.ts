/**
 * Reads the server's answer about one script, by pure functions. A tactic is accepted unless Lean reports an error other than unsolved goals, or
 * the proof uses `sorry`; a proof is complete when Lean reports no error.
 */
import { Schema } from "effect";

const Position = Schema.Struct({ line: Schema.Int, column: Schema.Int });

export const LeanMessage = Schema.Struct({
  severity: Schema.Literals(["trace", "info", "warning", "error"]),
  pos: Schema.optionalKey(Schema.NullOr(Position)),
  endPos: Schema.optionalKey(Schema.NullOr(Position)),
  data: Schema.String,
});
export type LeanMessage = typeof LeanMessage.Type;

/** The answer of Lean's REPL: its messages about the script, or the reason why it could not run the script. */
export const LeanResponse = Schema.Union([
  Schema.Struct({ message: Schema.String }),
  Schema.Struct({
    messages: Schema.optionalKey(Schema.NullOr(Schema.Array(LeanMessage))),
    sorries: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
  }),
]);
export type LeanResponse = typeof LeanResponse.Type;

export interface ProofCheck {
  readonly accepted: boolean;
  /** True if the proof is complete. */
  readonly success: boolean;
  readonly timedOut: boolean;
  readonly messages: readonly LeanMessage[];
}

export const isUnsolved = ({ data, severity }: LeanMessage): boolean =>
  severity === "error" && data.toLowerCase().includes("unsolved goals");

/** True for the warning that alone shows the `sorry` of some tactics (`admit`, `stop`). */
const hasSorryWarning = ({ data }: LeanMessage): boolean => /declaration uses ['`‘]sorry/.test(data);

const rejectedCheck = (data: string, timedOut: boolean): ProofCheck => ({
  accepted: false,
  success: false,
  timedOut,
  messages: [{ severity: "error", data }],
});

export const proofCheckOf = (response: LeanResponse): ProofCheck => {
  if ("message" in response) return rejectedCheck(response.message, false);
  const messages = response.messages ?? [];
  const errors = messages.filter(({ severity }) => severity === "error");
  const usesNoSorry = (response.sorries ?? []).length === 0 && !messages.some(hasSorryWarning);
  return {
    accepted: usesNoSorry && errors.every(isUnsolved),
    success: usesNoSorry && errors.length === 0,
    timedOut: false,
    messages,
  };
};

/** The check of a script for which Lean exceeded its time limit. */
export const timedOutCheck = (message: string): ProofCheck => rejectedCheck(message, true);

export const emptyTactic: ProofCheck = rejectedCheck("Empty tactic is not allowed.", false);
