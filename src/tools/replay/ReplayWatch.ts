/**
 * Compares a run that is trained again with its record, update by update, and has its tokens verified. Invariant: the first difference ends
 * the replay, because all after it follows from it.
 */
import type { Event, StepRecord } from "../../domain/Event.ts";
import type { Metrics } from "../../domain/metrics/Metrics.ts";
import type { OpenedVerification } from "./openVerification.ts";

/** An update whose parameters are not the recorded ones. */
export interface UpdateDifference {
  readonly step: number;
  readonly recorded: number | undefined;
  readonly replayed: number | undefined;
}

export interface ReplayWatchOptions {
  /** Recorded checksums by window; null compares nothing. */
  readonly checksums: ReadonlyMap<number, number> | null;
  /** Step after which the replay ends. */
  readonly until: number;
  /** True if the replay ends with the checkpoint of `until`, and not with its step. */
  readonly awaitsCheckpoint: boolean;
  readonly onEnd: () => void;
}

export class ReplayWatch {
  readonly #options: ReplayWatchOptions;
  #verification: OpenedVerification | undefined;
  #difference: UpdateDifference | null = null;
  #updates = 0;
  #metrics: Metrics | null = null;

  constructor(options: ReplayWatchOptions) {
    this.#options = options;
  }

  /** Has windows verified from now on. */
  verifyBy(verification: OpenedVerification): void {
    this.#verification = verification;
  }

  get difference(): UpdateDifference | null {
    return this.#difference;
  }

  /** Updates that were repeated. */
  get updates(): number {
    return this.#updates;
  }

  /** Metrics of the last step. */
  get metrics(): Metrics | null {
    return this.#metrics;
  }

  onStep({ metrics, step }: StepRecord): void {
    if (step === this.#options.until) this.#metrics = metrics;
  }

  onEvent(event: Event): void {
    const { awaitsCheckpoint, onEnd, until } = this.#options;
    if (event._tag === "Learning" && event.window < until) this.#verification?.begin(event.window, event.from);
    else if (event._tag === "Updated") this.#compare(event.window + 1, event.checksum);
    else if (event._tag === (awaitsCheckpoint ? "CheckpointWritten" : "StepClosed") && event.step >= until) onEnd();
  }

  #compare(step: number, replayed: number | undefined): void {
    const { checksums, onEnd, until } = this.#options;
    if (step > until || this.#difference !== null) return;
    this.#updates++;
    const recorded = checksums?.get(step - 1);
    if (checksums === null || recorded === replayed) return;
    this.#difference = { step, recorded, replayed };
    onEnd();
  }
}
