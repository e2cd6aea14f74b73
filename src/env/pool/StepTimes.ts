/** The times that requests of each preset take. They set the size of a batch and the time after which a request is suspected of hanging. */
import { type Request, tagOf } from "../contract/Request.ts";

/** A batch of more requests than this makes no message cheaper. */
const maxBatch = 64;
/** A batch should take so many milliseconds, because its last request waits for all others. */
const batchMs = 10;

/** A request is suspected after `suspectTimes` the mean, and not before `suspectMs`; the first of its kind after `unknownMs`. */
const suspectTimes = 10;
const suspectMs = 100;
const unknownMs = 500;
/** In a run without hangs, a request may also take this many times the slowest so far. */
const slowestTimes = 2;

/** The weight of the newest time in the mean. */
const newestWeight = 1 / 16;

/** Moves the mean by one time. An outlier, say of a thread that waited for a processor, counts as twice the mean. */
const movedMean = (meanMs: number, ms: number): number =>
  meanMs + (Math.min(ms, 2 * meanMs + 0.01) - meanMs) * newestWeight;

interface KindTimes {
  meanMs: number;
  slowestMs: number;
}

const kindOf = (request: Request): string => `${request._tag} ${tagOf(request)}`;

export class StepTimes {
  readonly #kinds = new Map<string, KindTimes>();
  #meanMs: number | null = null;

  /** Adds the milliseconds of the first `times.length` requests of a batch. */
  observe(requests: readonly Request[], times: readonly number[]): void {
    for (const [at, ms] of times.entries()) this.#observe(kindOf(requests[at]!), ms);
  }

  #observe(kind: string, ms: number): void {
    const times = this.#kinds.get(kind);
    if (times === undefined) this.#kinds.set(kind, { meanMs: ms, slowestMs: ms });
    else {
      times.meanMs = movedMean(times.meanMs, ms);
      times.slowestMs = Math.max(times.slowestMs, ms);
    }
    this.#meanMs = this.#meanMs === null ? ms : movedMean(this.#meanMs, ms);
  }

  /** The most requests of one batch. */
  batchCap(): number {
    if (this.#meanMs === null || this.#meanMs === 0) return maxBatch;
    return Math.min(maxBatch, Math.max(1, Math.floor(batchMs / this.#meanMs)));
  }

  /** The milliseconds after which one of the requests is suspected. Once steps have hung, the slowest time so far no longer counts. */
  suspectAfterMs(requests: readonly Request[], hangsKnown: boolean): number {
    return Math.max(suspectMs, ...requests.map((request) => this.#usuallyWithin(request, hangsKnown)));
  }

  #usuallyWithin(request: Request, hangsKnown: boolean): number {
    const times = this.#kinds.get(kindOf(request));
    if (times === undefined) return unknownMs;
    const { meanMs, slowestMs } = times;
    return hangsKnown ? meanMs * suspectTimes : Math.max(meanMs * suspectTimes, slowestMs * slowestTimes);
  }
}
