/**
 * Limits the episodes in flight. A group starts as soon as one slot is free, so one slow member does not idle the slots of its finished
 * siblings. Invariant: at most `slots - 1` episodes and one group more are in flight.
 */
import { Effect, Latch } from "effect";
import type { PlayMode } from "../../rollout/Rollout.ts";

/** A mode that calls `onEnd` as each of its episodes ends. */
export const withEpisodeEnds = (mode: PlayMode, onEnd: () => void): PlayMode => ({
  ...mode,
  wrapEpisode: (episode, urgent) => Effect.ensuring(mode.wrapEpisode(episode, urgent), Effect.sync(onEnd)),
});

export class EpisodeBudget {
  readonly slots: number;
  readonly #onRoom: () => void;
  readonly #roomLatch = Latch.makeUnsafe(true);
  #inFlight = 0;

  /** @param onRoom is called whenever a release leaves room */
  constructor(slots: number, onRoom: () => void = () => undefined) {
    this.slots = slots;
    this.#onRoom = onRoom;
  }

  get hasRoom(): boolean {
    return this.#inFlight < this.slots;
  }

  /** Episodes in flight for each slot; above 1 when the last group exceeds the slots. */
  get usedShare(): number {
    return this.#inFlight / this.slots;
  }

  /** Suspends until a group may start. */
  readonly awaitRoom: Effect.Effect<void> = Effect.suspend(() => this.#roomLatch.await);

  acquire(episodes: number): void {
    this.#inFlight += episodes;
    if (!this.hasRoom) this.#roomLatch.closeUnsafe();
  }

  release(episodes: number): void {
    this.#inFlight -= episodes;
    if (!this.hasRoom) return;
    this.#roomLatch.openUnsafe();
    this.#onRoom();
  }

  /** The most groups of `groupSize` episodes that can be in flight. */
  mostGroups(groupSize: number): number {
    return Math.ceil(this.slots / groupSize);
  }
}
