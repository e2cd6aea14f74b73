/** One raw connection to a server: writes what it is given, and tells which statuses came back and how it ended. */
import { connect } from "node:net";
import type { Attack } from "./attacks.ts";

export interface Exchange {
  readonly statuses: readonly number[];
  /** The connection was still open when the patience ended. */
  readonly isHung: boolean;
}

/** Carries out an attack; the promise always resolves, at the latest after `patienceMs`. */
export const exchange = (port: number, { ending, writes }: Attack, patienceMs: number): Promise<Exchange> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    let isHung = false;
    const timer = setTimeout(() => {
      isHung = true;
      socket.destroy();
    }, patienceMs);
    socket.on("data", (piece: Buffer) => {
      text += piece.toString("latin1");
    });
    // A reset is one of the ends that a server may choose.
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      clearTimeout(timer);
      const statuses = Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
      resolve({ statuses: statuses.filter((status) => status >= 200), isHung });
    });
    const write = (at: number): void => {
      const next = writes[at];
      if (socket.destroyed) return;
      if (next === undefined) {
        if (ending === "gone") socket.destroy();
        else if (ending === "half") socket.end();
      } else if (typeof next === "object" && "pauseMs" in next) setTimeout(() => write(at + 1), next.pauseMs);
      else socket.write(next, () => write(at + 1));
    };
    socket.once("connect", () => write(0));
  });
