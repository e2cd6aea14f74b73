/**
 * The sender's side of a generator port's weights mailbox (Weights.ts). At most one message is unacknowledged; an acknowledgement
 * sends the newest version published meanwhile.
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

export class Mailbox {
  readonly #port: MessagePort;
  #waiting: OutgoingVersion | undefined;
  #inFlight = false;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (_: AdoptedMessage) => {
      this.#inFlight = false;
      this.#send();
    });
  }

  publish(parcel: OutgoingVersion): void {
    this.#waiting?.drop();
    this.#waiting = parcel;
    this.#send();
  }

  close(): void {
    this.#port.close();
  }

  #send(): void {
    if (this.#inFlight || this.#waiting === undefined) return;
    const { version } = this.#waiting;
    const payload = this.#waiting.take();
    this.#waiting = undefined;
    this.#inFlight = true;
    const message: WeightsMessage = { _tag: "weights", version, payload };
    this.#port.postMessage(message, payload._tag === "remote" ? [] : [payload.buffer]);
  }
}
