/** The messages to and from the interpreter's thread. `Began` precedes every test, so that the main thread can detect a hang. */
import type { Job, Outcome } from "../Job.ts";

/** The order to run the tests of `job` from index `from` on; with `from` 0 the thread first checks that the code compiles. */
export interface Order {
  readonly job: Job;
  readonly from: number;
}

export type Message =
  | { readonly _tag: "Uncompilable"; readonly message: string }
  | { readonly _tag: "Began" }
  | { readonly _tag: "Ended"; readonly outcome: Outcome }
  | { readonly _tag: "Done" };
