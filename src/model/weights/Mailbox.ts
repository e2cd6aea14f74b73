/**
 * The sender's side of a generator port's weights mailbox (Weights.ts). At most one message is unacknowledged; an acknowledgement sends the
 * newest version published meanwhile, or the next one if every version is to arrive.
 * Invariant: versions arrive in increasing order, and the newest one always arrives.
 */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../../domain/Episode.ts";
import type { AdoptedMessage, Payload, WeightsMessage } from "./Weights.ts";

/** The version of a snapshot, and its kind: all of the model's parameters, or an adapter's. */
export interface SnapshotInfo {
  readonly version: Version;
  readonly kind: "full" | "adapter";
}

/** A version of the weights on its way to several readers, each of which takes or drops it once. */
export interface OutgoingVersion {
  readonly version: Version;
  readonly take: () => Payload;
  readonly drop: () => void;
}

/** Makes a version that a server keeps; readers receive only its name. */
export const servedVersion = (version: Version, id: string): OutgoingVersion => ({
  version,
  take: () => ({ _tag: "remote", id }),
  drop: () => undefined,
});

/** A version's parameters for several readers. The last reader gets them without a copy. */
export class Snapshot implements OutgoingVersion {
  readonly info: SnapshotInfo;
  readonly #parameters: Float32Array<ArrayBuffer>;
  #readers: number;

  /** Takes ownership of the parameters. */
  constructor(info: SnapshotInfo, parameters: Float32Array<ArrayBuffer>, readers: number) {
    this.info = info;
    this.#parameters = parameters;
    this.#readers = readers;
  }

  get version(): Version {
    return this.info.version;
  }

  take(): Payload {
    this.#readers--;
    const buffer = this.#readers === 0 ? this.#parameters.buffer : this.#parameters.slice().buffer;
    return { _tag: this.info.kind, buffer };
  }

  drop(): void {
    this.#readers--;
  }
}

/** Versions that reach a generator: the latest ones, with those left out that came while another was on its way; or each, in order. */
export type Delivery = "latest" | "each";

export class Mailbox {
  readonly #port: MessagePort;
  readonly #delivery: Delivery;
  /** Versions to send, in order; at most one unless each is to arrive. Admission bounds how many can be made meanwhile. */
  readonly #waiting: OutgoingVersion[] = [];
  #inFlight = false;

  constructor(port: MessagePort, delivery: Delivery = "latest") {
    this.#port = port;
    this.#delivery = delivery;
    port.on("message", (_: AdoptedMessage) => {
      this.#inFlight = false;
      this.#send();
    });
  }

  publish(parcel: OutgoingVersion): void {
    if (this.#delivery === "latest") this.#waiting.pop()?.drop();
    this.#waiting.push(parcel);
    this.#send();
  }

  close(): void {
    this.#port.close();
  }

  #send(): void {
    const next = this.#inFlight ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    const { version } = next;
    const payload = next.take();
    this.#inFlight = true;
    const message: WeightsMessage = { _tag: "weights", version, payload };
    this.#port.postMessage(message, payload._tag === "remote" ? [] : [payload.buffer]);
  }
}
