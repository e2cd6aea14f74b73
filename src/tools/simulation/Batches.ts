/**
 * Calls that go to threads in batches, by the rules of the engine's batcher: while a batch is free, the waiting calls are shared out among the
 * free ones; a batch's calls are served one after the other, and answered together.
 */
import type { Gauge } from "../../flow/Gauge.ts";
import type { Moment } from "./RunShape.ts";
import type { World } from "./World.ts";

export interface BatchesOptions {
  /** Batches in flight. */
  readonly concurrency: number;
  readonly cap: number;
  readonly gauge: Gauge | null;
  readonly onCore: boolean;
}

interface Call {
  readonly time: (moment: Moment) => number;
  readonly done: () => void;
}

export class Batches {
  readonly #world: World;
  readonly #options: BatchesOptions;
  readonly #waiting: Call[] = [];
  #limit: number;
  #running = 0;
  #called = false;

  constructor(world: World, options: BatchesOptions) {
    this.#world = world;
    this.#options = options;
    this.#limit = options.concurrency;
  }

  call(time: (moment: Moment) => number, done: () => void): void {
    this.#options.gauge?.enqueued();
    this.#waiting.push({ time, done });
    if (this.#called) return;
    this.#called = true;
    this.#world.agenda.after(0, () => {
      this.#called = false;
      this.#dispatch();
    });
  }

  resize(concurrency: number): void {
    this.#limit = concurrency;
    this.#options.gauge?.resized(concurrency);
    this.#dispatch();
  }

  #dispatch(): void {
    while (this.#waiting.length > 0 && this.#running < this.#limit) {
      const share = Math.ceil(this.#waiting.length / (this.#limit - this.#running));
      this.#begin(this.#waiting.splice(0, Math.min(this.#options.cap, share)));
    }
  }

  #begin(batch: readonly Call[]): void {
    const { gauge, onCore } = this.#options;
    this.#running++;
    const timed = gauge?.callBegun(batch.length);
    const moment: Moment = { at: this.#world.agenda.now, inService: this.#running };
    const ms = batch.reduce((sum, { time }) => sum + time(moment), 0);
    const end = (): void => {
      this.#running--;
      if (timed !== undefined) gauge?.callEnded(timed, batch.length);
      gauge?.delivered(batch.length);
      for (const { done } of batch) done();
      this.#dispatch();
    };
    if (onCore) this.#world.work("step", ms, end);
    else this.#world.agenda.after(ms, end);
  }
}
