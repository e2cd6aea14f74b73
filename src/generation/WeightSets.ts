/**
 * The weights of a generator thread: the newest set and one older set, which validation has pinned or, among several threads, may pin next.
 * `adopt` replaces one by an offered version. Invariant: there are never more than two sets, and a pinned set is never dropped.
 */
import type { Version } from "../domain/Episode.ts";

interface WeightSet<W> {
  readonly version: Version;
  readonly weights: W;
}

export class WeightSets<W> {
  #newest: WeightSet<W>;
  #older: WeightSet<W> | undefined;
  #offered: WeightSet<W> | undefined;
  readonly #forget: (weights: W) => void;
  readonly #keepsOlder: boolean;
  readonly #holds = new Map<Version, number>();

  /** `forget` is called with each set that is dropped. Without `keepsOlder` the older set is dropped once nobody holds it. */
  constructor(version: Version, weights: W, forget: (weights: W) => void = () => {}, keepsOlder = true) {
    this.#newest = { version, weights };
    this.#forget = forget;
    this.#keepsOlder = keepsOlder;
  }

  get newest(): Version {
    return this.#newest.version;
  }

  has(version: Version): boolean {
    return this.#find(version) !== undefined;
  }

  /** Throws a RangeError for a version that is not here. */
  get(version: Version): W {
    const weightSet = this.#find(version);
    if (weightSet === undefined) throw new RangeError(`weights version ${version} is not held`);
    return weightSet.weights;
  }

  /** Keeps a version until `unhold`; returns false if it is gone. Holds are counted. */
  hold(version: Version): boolean {
    if (!this.has(version)) return false;
    this.#holds.set(version, (this.#holds.get(version) ?? 0) + 1);
    return true;
  }

  unhold(version: Version): void {
    const count = (this.#holds.get(version) ?? 0) - 1;
    if (count > 0) this.#holds.set(version, count);
    else this.#holds.delete(version);
    this.#dropUnheldOlder();
  }

  /** Offers weights for adoption. A later offer replaces a waiting one; an offer that is not newer is dropped. */
  offer(version: Version, weights: W): void {
    if (version > this.#newest.version && version > (this.#offered?.version ?? -1)) {
      if (this.#offered !== undefined) this.#forget(this.#offered.weights);
      this.#offered = { version, weights };
    } else this.#forget(weights);
  }

  /** Makes the offered set the newest, unless both sets are pinned. Returns the adopted version. */
  adopt(): Version | undefined {
    const offered = this.#offered;
    if (offered === undefined) return undefined;
    const isOlderHeld = this.#older !== undefined && this.#holds.has(this.#older.version);
    if (isOlderHeld && this.#holds.has(this.#newest.version)) return undefined;
    const dropped = isOlderHeld ? this.#newest : this.#older;
    if (!isOlderHeld) this.#older = this.#newest;
    if (dropped !== undefined) this.#forget(dropped.weights);
    this.#newest = offered;
    this.#offered = undefined;
    this.#dropUnheldOlder();
    return offered.version;
  }

  #dropUnheldOlder(): void {
    if (this.#keepsOlder || this.#older === undefined || this.#holds.has(this.#older.version)) return;
    this.#forget(this.#older.weights);
    this.#older = undefined;
  }

  #find(version: Version): WeightSet<W> | undefined {
    if (this.#newest.version === version) return this.#newest;
    return this.#older?.version === version ? this.#older : undefined;
  }
}
