/**
 * How long the requests of each preset take, learned from those that were answered: how many make a batch, when one that is still going is
 * taken for stuck, and when its thread gives way to all others. A pure fold over measured times.
 */
import { type Request, tagOf } from "../contract/Request.ts";

/** Most requests of one batch: enough to make a message cheap, few enough to share out. */
const batchCap = 64;
/** Time a batch should take, milliseconds: what is lost with it, and what its last request waits. */
const batchMs = 10;
/** A request is taken for stuck after so many times the mean and the slowest so far, and not before `stuckMs`. */
const stuckTimes = 20;
const waryTimes = 10;
const slowestTimes = 2;
const stuckMs = 100;
/** The same while nothing is known of its kind. */
const unknownMs = 500;
/** A stuck request's thread gives way after this many times the slowest request so far, and not before `yieldMs`. */
const yieldTimes = 10;
const yieldMs = 500;
/** A request that gave way had its chance with so many times the mean. */
const amplyTimes = 3;
/** Weight of the newest time in the mean. */
const weight = 1 / 16;

/** An outlier, a thread that had to wait for a processor say, moves the mean as twice the mean would. */
const towards = (meanMs: number, ms: number): number => meanMs + (Math.min(ms, 2 * meanMs + 0.01) - meanMs) * weight;

interface Kind {
  meanMs: number;
  slowestMs: number;
}

export class Pace {
  readonly #kinds = new Map<Request["_tag"], Map<string, Kind>>();
  #meanMs: number | null = null;

  #kind(request: Request): Kind | undefined {
    return this.#kinds.get(request._tag)?.get(tagOf(request));
  }

  #observe(request: Request, ms: number): void {
    const tags = this.#kinds.get(request._tag) ?? new Map<string, Kind>();
    this.#kinds.set(request._tag, tags);
    const kind = tags.get(tagOf(request));
    if (kind === undefined) tags.set(tagOf(request), { meanMs: ms, slowestMs: ms });
    else {
      kind.meanMs = towards(kind.meanMs, ms);
      kind.slowestMs = Math.max(kind.slowestMs, ms);
    }
    this.#meanMs = this.#meanMs === null ? ms : towards(this.#meanMs, ms);
  }

  /** Takes in the times of the first requests of a batch; null for one that was not answered. */
  observe(requests: readonly Request[], times: readonly (number | null)[]): void {
    for (const [at, ms] of times.entries()) {
      const request = requests[at];
      if (request !== undefined && ms !== null) this.#observe(request, ms);
    }
  }

  /** Requests of one batch at most. */
  cap(): number {
    if (this.#meanMs === null || this.#meanMs === 0) return batchCap;
    return Math.min(batchCap, Math.max(1, Math.floor(batchMs / this.#meanMs)));
  }

  /**
   * How long one of the requests may go before its thread counts as stuck; it then still has all of its time limit. A wary caller, who
   * knows that requests hang, is sooner done with one that is only slow.
   */
  stuckAfterMs(requests: readonly Request[], timeoutMs: number, wary: boolean): number {
    let longest = stuckMs;
    for (const request of requests) longest = Math.max(longest, this.#usuallyWithin(request, wary));
    return Math.min(timeoutMs, longest);
  }

  #usuallyWithin(request: Request, wary: boolean): number {
    const kind = this.#kind(request);
    if (kind === undefined) return unknownMs;
    return wary ? kind.meanMs * waryTimes : Math.max(kind.meanMs * stuckTimes, kind.slowestMs * slowestTimes);
  }

  /** What of a processor is more than such a request usually needs. */
  amplyMs(request: Request): number {
    return (this.#kind(request)?.meanMs ?? Number.POSITIVE_INFINITY) * amplyTimes;
  }

  /** How long the request may go before its thread gives way. */
  yieldAfterMs(request: Request): number {
    return Math.max(yieldMs, (this.#kind(request)?.slowestMs ?? 0) * yieldTimes);
  }
}
