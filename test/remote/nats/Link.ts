/** A TCP proxy that delays what goes through it, holds it back for a while, or cuts every connection: a bad network made of sockets. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** Bytes on their way in one direction, after which the sender is held back. */
const MOST = 4 * 2 ** 20;

export interface LinkOptions {
  readonly host: string;
  readonly port: number;
  readonly target: { readonly host: string; readonly port: number };
  /** Milliseconds in each direction. */
  readonly delayMs: number;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** Bytes that are held back during a stall. */
  #held: (() => void)[] | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#server = createServer((client) => this.#join(client));
  }

  listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve) => this.#server.listen(port, host, () => resolve()));
  }

  close(): Promise<void> {
    this.cut();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Nothing goes through for so long; connections stay. */
  stall(ms: number): void {
    if (this.#held !== undefined) return;
    this.#held = [];
    setTimeout(() => {
      const delayed = this.#held ?? [];
      this.#held = undefined;
      for (const send of delayed) send();
    }, ms);
  }

  /** Every connection breaks; what was on its way is lost. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  #join(client: Socket): void {
    const { host, port } = this.#options.target;
    const server = connect(port, host);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
    }
    const end = (): void => {
      client.destroy();
      server.destroy();
      this.#sockets.delete(client);
      this.#sockets.delete(server);
    };
    client.on("close", end);
    server.on("close", end);
    this.#carry(client, server);
    this.#carry(server, client);
  }

  #carry(from: Socket, to: Socket): void {
    let onTheWay = 0;
    from.on("data", (bytes: Buffer) => {
      onTheWay += bytes.length;
      if (onTheWay > MOST) from.pause();
      const send = (): void => {
        if (this.#held !== undefined) return void this.#held.push(send);
        onTheWay -= bytes.length;
        if (!to.destroyed) to.write(bytes);
        if (onTheWay <= MOST && from.isPaused()) from.resume();
      };
      setTimeout(send, this.#options.delayMs);
    });
  }
}
