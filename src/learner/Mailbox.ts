/**
 * Sender's side of the weights mailbox (`policy/Weights.ts`) of one generator port. At most one message is unacknowledged;
 * on acknowledgement the newest version published meanwhile is sent.
 * Invariant: versions arrive in increasing order, and the newest one always arrives.
 */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../domain/Episode.ts";
import type { AdoptedMessage, WeightsMessage } from "../policy/Weights.ts";

/** A version's parameters, all of the model's or an adapter's, never written to again; shared by the mailboxes. */
export interface Snapshot {
  readonly version: Version;
  readonly kind: "full" | "adapter";
  readonly parameters: Float32Array<ArrayBuffer>;
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
    this.#waiting = snapshot;
    this.#send();
  }

  close(): void {
    this.#port.close();
  }

  #send(): void {
    if (this.#inFlight || this.#waiting === undefined) return;
    const { version, kind, parameters } = this.#waiting;
    this.#waiting = undefined;
    this.#inFlight = true;
    const { buffer } = parameters.slice();
    const message: WeightsMessage = { _tag: "weights", version, payload: { _tag: kind, buffer } };
    this.#port.postMessage(message, [buffer]);
  }
}
