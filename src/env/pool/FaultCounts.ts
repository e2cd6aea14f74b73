/**
 * Counts the faults (hangs and crashes) of each instance, and its suspects: steps that are tried alone because they may be at fault. After
 * `limit` faults an instance is quarantined for good. While its suspects could bring it there, its other requests are blocked until one
 * trial ends, so that no more than `limit` of its steps are on trial.
 */
import { Latch } from "effect";
import { type Request, tagOf } from "../contract/Request.ts";

/** The map remembers only so many instances, those whose trials ended last; any other starts from nothing again. */
const maxInstances = 10_000;

export type TrialResult = "innocent" | "guilty";

/** The caller of a blocked request asks for the status again once `trialEnded` opens. */
export type InstanceStatus =
  | { readonly _tag: "Free" }
  | { readonly _tag: "Quarantined"; readonly faults: number }
  | { readonly _tag: "Blocked"; readonly trialEnded: Latch.Latch };

interface InstanceCounts {
  suspects: number;
  faults: number;
  trialEnded: Latch.Latch;
}

const free: InstanceStatus = { _tag: "Free" };

/** The key of a request's instance; null where its caller names none. */
const instanceOf = (request: Request): string | null => {
  if (request._tag === "Step") {
    const { instance } = request.step;
    return instance === undefined ? null : `${tagOf(request)} ${instance}`;
  }
  const { instance, split } = request.reset;
  return `${tagOf(request)} reset ${split} ${instance.purpose} ${instance.seed} ${instance.counters.join(".")}`;
};

export class FaultCounts {
  readonly #limit: number;
  readonly #instances = new Map<string, InstanceCounts>();
  #quarantined = 0;

  /** A limit of 0 blocks and quarantines nothing. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of instances quarantined so far. */
  quarantined(): number {
    return this.#quarantined;
  }

  statusOf(request: Request): InstanceStatus {
    // Most runs have no fault at all, and need no key.
    if (this.#limit === 0 || this.#instances.size === 0) return free;
    const key = instanceOf(request);
    const counts = key === null ? undefined : this.#instances.get(key);
    if (counts === undefined) return free;
    const { faults, suspects, trialEnded } = counts;
    if (faults >= this.#limit) return { _tag: "Quarantined", faults };
    return suspects > 0 && faults + suspects >= this.#limit ? { _tag: "Blocked", trialEnded } : free;
  }

  beginTrial(request: Request): void {
    const key = instanceOf(request);
    if (key === null) return;
    const counts = this.#instances.get(key) ?? { suspects: 0, faults: 0, trialEnded: Latch.makeUnsafe(false) };
    counts.suspects++;
    this.#instances.set(key, counts);
  }

  endTrial(request: Request, result: TrialResult): void {
    const key = instanceOf(request);
    const counts = key === null ? undefined : this.#instances.get(key);
    if (key === null || counts === undefined) return;
    counts.suspects--;
    if (result === "guilty" && ++counts.faults === this.#limit) this.#quarantined++;
    const { trialEnded } = counts;
    counts.trialEnded = Latch.makeUnsafe(false);
    // The key is deleted and set again, so that the map stays ordered by the last trial.
    this.#instances.delete(key);
    if (counts.suspects > 0 || counts.faults > 0) this.#instances.set(key, counts);
    this.#forgetOldest();
    trialEnded.openUnsafe();
  }

  #forgetOldest(): void {
    if (this.#instances.size <= maxInstances) return;
    for (const [key, { suspects }] of this.#instances) {
      if (suspects > 0) continue;
      this.#instances.delete(key);
      return;
    }
  }
}
