/**
 * The versioned weights handle: how new parameters travel from the learner to the generators, by value, over ports that connect
 * the two threads directly. Each port is a one-slot, latest-wins mailbox: the receiver acknowledges what it adopted, the sender
 * sends the newest version it has when acknowledged. Nothing upstream imports the learner.
 */
import type { Version } from "../domain/Episode.ts";

/** Learner to generator. `buffer` holds every parameter tensor, concatenated in specification order, float32; transferred. */
export interface WeightsMessage {
  readonly _tag: "weights";
  readonly version: Version;
  readonly buffer: ArrayBuffer;
}

/** Generator to learner: `version` is in use from the next decode step on. */
export interface AdoptedMessage {
  readonly _tag: "adopted";
  readonly version: Version;
}
