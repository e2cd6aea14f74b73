/** One stage's part in what bounds a run. */

/** The limit of a stage. Under `latency` nothing waits for the stage: its episodes take as long as they take. */
export type Limit = "slots" | "threads" | "memory" | "admission" | "update" | "main thread" | "validation" | "latency";

export interface Pull {
  readonly stage: string;
  readonly limit: Limit;
  /** Share by which throughput grows per share of capacity that the stage gains: 0 to 1. */
  readonly pull: number;
  /** Share of throughput that one more slot is expected to gain; null where none can be added. */
  readonly gain: number | null;
}
