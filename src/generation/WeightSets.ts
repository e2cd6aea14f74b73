/**
 * The weights of a generator thread: the newest versions, as many as are kept, and older ones that somebody holds. `adopt` makes an offered
 * version the newest. Invariants: memory is bounded, because adoption waits rather than exceed the bound; a held set is never dropped.
 */
import type { Version } from "../domain/Episode.ts";

interface WeightSet<W> {
  readonly version: Version;
  readonly weights: W;
}

/** The versions that a thread keeps although nobody holds them. */
export interface VersionRetention {
  /** Number of newest versions to keep, at least 1. */
  readonly kept: number;
  /** True if none of those may be given up while an older one is held, because groups will still ask for each of them (a fixed lag). */
  readonly isStrict: boolean;
}

/** Fewest sets that there may be at once: a validation holds one version while training goes on with the next. */
const LEAST_BOUND = 2;

export class WeightSets<W> {
  /** Ascending by version; the last is the newest. */
  #sets: readonly WeightSet<W>[];
  #offered: WeightSet<W> | undefined;
  readonly #forget: (weights: W) => void;
  readonly #retention: VersionRetention;
  readonly #holds = new Map<Version, number>();

  /** Starts with one or more sets, ascending by version. `forget` is called with each set that is dropped. */
  constructor(sets: readonly WeightSet<W>[], retention: VersionRetention, forget: (weights: W) => void = () => {}) {
    if (sets.length === 0) throw new RangeError("a generator starts with weights");
    this.#sets = sets;
    this.#forget = forget;
    this.#retention = retention;
  }

  get newest(): Version {
    return this.#sets.at(-1)!.version;
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
    this.#dropSurplus();
  }

  /** Offers weights for adoption. A later offer replaces a waiting one; an offer that is not newer is dropped. */
  offer(version: Version, weights: W): void {
    if (version > this.newest && version > (this.#offered?.version ?? -1)) {
      if (this.#offered !== undefined) this.#forget(this.#offered.weights);
      this.#offered = { version, weights };
    } else this.#forget(weights);
  }

  /** Makes the offered set the newest, unless no set may be dropped for it. Returns the adopted version. */
  adopt(): Version | undefined {
    const offered = this.#offered;
    if (offered === undefined) return undefined;
    if (this.#sets.length >= Math.max(LEAST_BOUND, this.#retention.kept)) {
      const dropped = this.#replaceable;
      if (dropped === undefined) return undefined;
      this.#drop(dropped);
    }
    this.#sets = [...this.#sets, offered];
    this.#offered = undefined;
    this.#dropSurplus();
    return offered.version;
  }

  /** The set that gives up its place to a newer one; undefined if none may. */
  get #replaceable(): WeightSet<W> | undefined {
    const candidates = this.#retention.isStrict ? this.#sets.slice(0, 1) : this.#sets;
    return candidates.find(({ version }) => !this.#holds.has(version));
  }

  /** Drops the sets that are neither among the newest ones nor held. */
  #dropSurplus(): void {
    const surplus = this.#sets.slice(0, -this.#retention.kept);
    for (const weightSet of surplus) if (!this.#holds.has(weightSet.version)) this.#drop(weightSet);
  }

  #drop(dropped: WeightSet<W>): void {
    this.#sets = this.#sets.filter((weightSet) => weightSet !== dropped);
    this.#forget(dropped.weights);
  }

  #find(version: Version): WeightSet<W> | undefined {
    return this.#sets.find((weightSet) => weightSet.version === version);
  }
}
