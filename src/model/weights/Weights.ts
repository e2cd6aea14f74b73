/**
 * The versioned weights handle: how new parameters travel from the learner to the generators, by value, over ports that connect
 * the two threads directly. Each port is a one-slot, latest-wins mailbox: the receiver acknowledges what it adopted, the sender
 * sends the newest version it has when acknowledged. Nothing upstream imports the learner.
 */
import type { Version } from "../../domain/Episode.ts";

/** What a version of the weights is made of, as a backend is given it. Buffers are float32, tensors concatenated in specification order. */
export type Payload =
  /** Every parameter of the model. */
  | { readonly _tag: "full"; readonly buffer: ArrayBuffer }
  /** An adapter's parameters; the base beside it stays where it is and is not sent. */
  | { readonly _tag: "adapter"; readonly buffer: ArrayBuffer }
  /** A version that a server keeps under this name. */
  | { readonly _tag: "remote"; readonly id: string };

/** What a backend of generation can do with versions. */
export interface VersionSupport {
  /** The payloads that it takes. */
  readonly payloadKinds: readonly Payload["_tag"][];
  /** Whether it keeps a version that requests are pinned to while newer ones come. */
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
