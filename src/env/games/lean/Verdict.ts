/**
 * Reads the server's answer about one script as a verdict. Pure. A tactic is accepted unless Lean reports an error other than unsolved
 * goals, or the proof uses `sorry`; a proof is complete when Lean reports no error.
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

/** The answer of Lean's REPL: its messages about the script, or why it could not run it. */
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

/** Some tactics (`admit`, `stop`) leave a `sorry` that only this warning shows. */
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

/** Lean exceeded its time limit. */
export const timedOut = (message: string): Verdict => rejected(message, true);

export const emptyTactic: Verdict = rejected("Empty tactic is not allowed.", false);
