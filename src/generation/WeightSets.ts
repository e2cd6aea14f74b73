/**
 * The weights a generator holds: the newest set and one older set, which validation has pinned or, among several threads, may be about to pin.
 * `adopt` decides when an offered version takes their place.
 * Invariant: never more than two sets, and a pinned one is never dropped.
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

  /** `forget` is told of each set that is let go. Without `keepsOlder` the older set goes as soon as nobody holds it. */
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

  /** Throws a RangeError for a version that is not held. */
  get(version: Version): W {
    const weightSet = this.#find(version);
    if (weightSet === undefined) throw new RangeError(`weights version ${version} is not held`);
    return weightSet.weights;
  }

  /** Keeps a held version until `unhold`; false where it is gone already. Holds are counted. */
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

  /** Offers weights for adoption. The latest offer replaces one that still waits; offers that are not newer are dropped. */
  offer(version: Version, weights: W): void {
    if (version > this.#newest.version && version > (this.#offered?.version ?? -1)) {
      if (this.#offered !== undefined) this.#forget(this.#offered.weights);
      this.#offered = { version, weights };
    } else this.#forget(weights);
  }

  /** Makes the offered set the newest, unless both held sets are pinned. Returns the adopted version. */
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
