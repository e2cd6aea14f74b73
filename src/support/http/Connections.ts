/**
 * The connections of one server. If there are too many, it closes the one that has waited longest for a whole request, so that
 * slow clients make room. Invariant: a connection with a whole, unanswered request is never closed to make room.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Connection {
  readonly socket: Socket;
  /** Requests whose head has arrived and whose answer is not written yet. */
  unanswered: number;
  /** Unanswered requests whose body has arrived too. An upgraded connection counts as one until it closes. */
  whole: number;
}

/** The largest number of unanswered requests on one connection. */
const mostUnanswered = 16;

/** Names a connection by its two ends: with TLS the socket of a request is not the socket that was accepted. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

export class Connections {
  readonly #most: number;
  readonly #open = new Map<string, Connection>();
  /** Connections without a whole request, the longest waiting first. */
  readonly #waiting = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Accepts a connection. If there are too many, it closes the one that has waited longest. */
  accept(socket: Socket): void {
    // A client that is gone already has no address.
    if (socket.remotePort === undefined) return void socket.destroy();
    const name = nameOf(socket);
    const connection = { socket, unanswered: 0, whole: 0 };
    const leave = (): void => {
      // The next connection may have the same ends before the events of this one have ended.
      if (this.#open.get(name) === connection) this.#open.delete(name);
      this.#waiting.delete(connection);
    };
    this.#open.set(name, connection);
    this.#waiting.add(connection);
    socket.once("close", leave);
    if (this.#open.size > this.#most) this.#makeRoom();
  }

  /** Counts a request until it is answered; false if its connection was closed for too many unanswered requests. */
  beginRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(nameOf(request.socket));
    if (connection === undefined || connection.unanswered === mostUnanswered) {
      request.socket.destroy();
      return false;
    }
    connection.unanswered++;
    let isAnswered = false;
    let isWhole = false;
    const complete = (): void => {
      if (isAnswered) return;
      isWhole = true;
      this.#hold(connection);
    };
    response.once("close", () => {
      isAnswered = true;
      connection.unanswered--;
      if (isWhole) this.#release(connection);
    });
    if (hasBody(request)) request.once("end", complete);
    else complete();
    return true;
  }

  /** Protects a connection that changes its protocol until it closes. */
  upgrade(request: IncomingMessage): void {
    const connection = this.#open.get(nameOf(request.socket));
    if (connection !== undefined) this.#hold(connection);
  }

  #hold(connection: Connection): void {
    connection.whole++;
    this.#waiting.delete(connection);
  }

  #release(connection: Connection): void {
    connection.whole--;
    if (connection.whole === 0 && !connection.socket.destroyed) this.#waiting.add(connection);
  }

  #makeRoom(): void {
    // The newest connection waits, so there is one.
    const [longest] = this.#waiting;
    if (longest === undefined) return;
    this.#waiting.delete(longest);
    this.#open.delete(nameOf(longest.socket));
    longest.socket.destroy();
  }
}
