/**
 * Messages that carry new weights from the learner to the generators, by value, over ports that connect the two threads directly.
 * Each port is a one-slot mailbox: the receiver acknowledges a version, and the sender then sends its newest one, or under a fixed lag the
 * next one.
 */
import type { Version } from "../../domain/Episode.ts";

/** The content of a version for a backend. Buffers are float32, with tensors concatenated in specification order. */
export type Payload =
  /** Every parameter of the model. */
  | { readonly _tag: "full"; readonly buffer: ArrayBuffer }
  /** An adapter's parameters; the base beside it stays where it is and is not sent. */
  | { readonly _tag: "adapter"; readonly buffer: ArrayBuffer }
  /** A version that a server keeps under this name. */
  | { readonly _tag: "remote"; readonly id: string };

/** A version before the newest one, which groups of open windows are still played by. */
export interface EarlierVersion {
  readonly version: Version;
  /** Trained parameters in specification order. */
  readonly parameters: Float32Array;
}

/** The abilities of a generation backend with versions. */
export interface VersionSupport {
  /** Kinds of payload that the backend accepts. */
  readonly payloadKinds: readonly Payload["_tag"][];
  /** True if the backend keeps a pinned version while newer ones arrive. */
  readonly canPin: boolean;
}

/** Learner to generator. The payload's buffer is transferred. */
export interface WeightsMessage {
  readonly _tag: "weights";
  readonly version: Version;
  readonly payload: Payload;
}

/** Generator to learner: `version` is in use from the next decode step on. */
export interface AdoptedMessage {
  readonly _tag: "adopted";
  readonly version: Version;
}

/** A copy of parameters as the payload of a version of the whole model. */
export const fullPayload = (flat: Float32Array): Extract<Payload, { readonly _tag: "full" }> => ({
  _tag: "full",
  buffer: new Float32Array(flat).buffer,
});
