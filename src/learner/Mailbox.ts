/**
 * Sender's side of the weights mailbox (`policy/Weights.ts`) of one generator port. At most one message is unacknowledged;
 * on acknowledgement the newest version published meanwhile is sent.
 * Invariant: versions arrive in increasing order, and the newest one always arrives.
 */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../domain/Episode.ts";
import type { AdoptedMessage, WeightsMessage } from "../policy/Weights.ts";

/** Which version a snapshot is of, and what of it: all of the model's parameters or an adapter's. */
export interface SnapshotOf {
  readonly version: Version;
  readonly kind: "full" | "adapter";
}

/** A version's parameters for several readers, each of which takes or drops them once. The last that takes them is given them without a copy. */
export class Snapshot {
  readonly of: SnapshotOf;
  readonly #parameters: Float32Array<ArrayBuffer>;
  #readers: number;

  /** Takes ownership of the parameters. */
  constructor(of: SnapshotOf, parameters: Float32Array<ArrayBuffer>, readers: number) {
    this.of = of;
    this.#parameters = parameters;
    this.#readers = readers;
  }

  take(): ArrayBuffer {
    this.#readers--;
    return this.#readers === 0 ? this.#parameters.buffer : this.#parameters.slice().buffer;
  }

  drop(): void {
    this.#readers--;
  }
}

export class Mailbox {
  readonly #port: MessagePort;
  #waiting: Snapshot | undefined;
  #inFlight = false;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (_: AdoptedMessage) => {
      this.#inFlight = false;
      this.#send();
    });
  }

  publish(snapshot: Snapshot): void {
    this.#waiting?.drop();
    this.#waiting = snapshot;
    this.#send();
  }

  close(): void {
    this.#port.close();
  }

  #send(): void {
    if (this.#inFlight || this.#waiting === undefined) return;
    const { version, kind } = this.#waiting.of;
    const buffer = this.#waiting.take();
    this.#waiting = undefined;
    this.#inFlight = true;
    const message: WeightsMessage = { _tag: "weights", version, payload: { _tag: kind, buffer } };
    this.#port.postMessage(message, [buffer]);
  }
}
