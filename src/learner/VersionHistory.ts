/**
 * Copies of the policy's newest versions under a fixed lag. A checkpoint holds those before the newest, because the run that resumes from it
 * plays its first windows by them. Invariant: ascending by version, at most `lag` + 1.
 */
import type { Version } from "../domain/Episode.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";

export class VersionHistory {
  readonly #lag: number;
  #versions: readonly EarlierVersion[];

  /** Starts with the versions of a checkpoint, ascending; none for a new run. */
  constructor(lag: number, restored: readonly EarlierVersion[] = []) {
    this.#lag = lag;
    this.#versions = restored;
  }

  /** Records the newest version; its parameters are copied. */
  record(version: Version, parameters: Float32Array): void {
    if (this.#lag === 0) return;
    this.#versions = [...this.#versions, { version, parameters: parameters.slice() }].slice(-(this.#lag + 1));
  }

  /** The versions before the newest one, ascending. */
  get earlier(): readonly EarlierVersion[] {
    return this.#versions.slice(0, -1);
  }
}
