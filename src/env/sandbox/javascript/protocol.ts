/** The messages to and from the interpreter's thread. `Began` precedes every test, so that the main thread can detect a hang. */
import type { Job, Outcome } from "../Job.ts";

/** Tests of `job` from the `from`th on; a job begins with the check that it compiles. */
export interface Order {
  readonly job: Job;
  readonly from: number;
}

export type Message =
  | { readonly _tag: "Uncompilable"; readonly message: string }
  | { readonly _tag: "Began" }
  | { readonly _tag: "Ended"; readonly outcome: Outcome }
  | { readonly _tag: "Done" };
