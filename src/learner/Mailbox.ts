/**
 * Sender's side of the weights mailbox (`policy/Weights.ts`) of one generator port. At most one message is unacknowledged;
 * on acknowledgement the newest version published meanwhile is sent.
 * Invariant: versions arrive in increasing order, and the newest one always arrives.
 */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../domain/Episode.ts";
import type { AdoptedMessage, WeightsMessage } from "../policy/Weights.ts";

/** A version's parameters for several readers, each of which takes or drops them once. The last that takes them is given them without a copy. */
export class Snapshot {
  readonly version: Version;
  readonly #parameters: Float32Array<ArrayBuffer>;
  #readers: number;

  /** Takes ownership of the parameters. */
  constructor(version: Version, parameters: Float32Array<ArrayBuffer>, readers: number) {
    this.version = version;
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
    const { version } = this.#waiting;
    const buffer = this.#waiting.take();
    this.#waiting = undefined;
    this.#inFlight = true;
    const message: WeightsMessage = { _tag: "weights", version, buffer };
    this.#port.postMessage(message, [buffer]);
  }
}
