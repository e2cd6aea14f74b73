/** Counts what the log gives to a run that goes on, until the last window is closed that it held then. */
import type { RepliesReused } from "../../../domain/Event.ts";
import type { WindowReplies } from "./WindowReplies.ts";

export class Reuse {
  /** Last window that the log held when the run went on; -1 for none. */
  readonly #last: number;
  readonly #now: () => number;
  readonly #startMs: number;
  #lastMs: number;
  #isReported = false;
  #windows: WindowReplies[] = [];

  /** `now` gives milliseconds of a clock that is never set. */
  constructor(windows: readonly number[], now: () => number) {
    this.#last = windows.at(-1) ?? -1;
    this.#now = now;
    this.#startMs = now();
    this.#lastMs = this.#startMs;
  }

  add(window: WindowReplies): void {
    if (!this.#isReported) this.#windows.push(window);
  }

  /** Records that the log gave a reply now. */
  recordGiven(): void {
    this.#lastMs = this.#now();
  }

  /** Returns the event once the step of the last logged window is closed; null before, and later on. */
  report(step: number): RepliesReused | null {
    if (this.#isReported || this.#last < 0 || step <= this.#last) return null;
    this.#isReported = true;
    const windows = this.#windows;
    this.#windows = [];
    return {
      _tag: "RepliesReused",
      step,
      windows: windows.filter(({ isWhole }) => isWhole).length,
      replies: windows.reduce((sum, { given }) => sum + given, 0),
      differing: windows.reduce((sum, { differing }) => sum + differing, 0),
      seconds: (this.#lastMs - this.#startMs) / 1000,
    };
  }
}
