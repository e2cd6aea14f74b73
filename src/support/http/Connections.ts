/**
 * The connections of one server. Where one more comes than there may be, the one that has waited longest for a whole request is closed, so
 * that slow clients make room for honest ones. Invariant: a connection whose request is whole and not answered yet is never closed to make room.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Connection {
  readonly socket: Socket;
  /** Requests whose head has come and whose answer is not written yet. */
  unanswered: number;
  /** Those of them whose body has come too. An upgraded connection counts as one until it closes. */
  whole: number;
}

/** Requests of one connection that may wait for their answers. */
const mostUnanswered = 16;

/** Names a connection by its two ends, because with TLS the socket of a request is another object than the one that was accepted. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

export class Connections {
  readonly #most: number;
  readonly #open = new Map<string, Connection>();
  /** Connections without a whole request; the one that has waited longest comes first. */
  readonly #waiting = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a connection as it comes, or closes it where every other has its whole request. */
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

  /** Counts a request until it is answered; false where its connection was closed because too many wait for their answers. */
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

  /** Keeps a connection that changes its protocol until it closes. */
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
