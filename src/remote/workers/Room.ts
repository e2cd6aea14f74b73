/**
 * Room for the episodes of groups: a group is taken as soon as not all of it is asked for, so that a straggler of one group does not keep the
 * slots of its finished members idle. Invariant: less than all of it, and one group more, is asked for at once.
 */
import { Effect, Latch } from "effect";
import type { Mode } from "../../rollout/Rollout.ts";

/** A mode that tells as each of its episodes ends. */
export const counting = (mode: Mode, ended: () => void): Mode => ({
  ...mode,
  around: (episode, urgent) => Effect.ensuring(mode.around(episode, urgent), Effect.sync(ended)),
});

export class Room {
  readonly slots: number;
  readonly #changed: () => void;
  readonly #free = Latch.makeUnsafe(true);
  #taken = 0;

  /** `changed` is told whenever there is room again. */
  constructor(slots: number, changed: () => void = () => undefined) {
    this.slots = slots;
    this.#changed = changed;
  }

  get free(): boolean {
    return this.#taken < this.slots;
  }

  /** What part of it is taken, from 0 on. */
  get share(): number {
    return this.#taken / this.slots;
  }

  /** Suspends until there is room. */
  readonly awaited: Effect.Effect<void> = Effect.suspend(() => this.#free.await);

  take(episodes: number): void {
    this.#taken += episodes;
    if (!this.free) this.#free.closeUnsafe();
  }

  give(episodes: number): void {
    this.#taken -= episodes;
    if (!this.free) return;
    this.#free.openUnsafe();
    this.#changed();
  }

  /** The groups of a size that are under way at most. */
  groups(size: number): number {
    return Math.ceil(this.slots / size);
  }
}
