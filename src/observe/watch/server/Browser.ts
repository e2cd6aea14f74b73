/**
 * One browser that listens to a run. Invariant: while it reads, at most the newest message of each kind waits for it, so a
 * browser that does not read costs a few messages. After `patienceMs` without reading it is cut off.
 */
/** The part of a response that a browser uses. */
export interface BrowserResponse {
  readonly destroyed: boolean;
  readonly socket: { setTimeout(ms: number): unknown; setNoDelay(on: boolean): unknown } | null;
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  on(event: "drain" | "close", listener: () => void): unknown;
}

export type MessageName = "line" | "step" | "episodes" | "ended";

const text = (name: MessageName, data: string): string => `event: ${name}\ndata: ${data}\n\n`;

export class Browser {
  readonly #response: BrowserResponse;
  readonly #waiting = new Map<MessageName, string>();
  /** The time at which the last bytes were refused; null while the browser reads. */
  #stuckSince: number | null = null;
  readonly #sent = new Set<MessageName>();

  constructor(response: BrowserResponse) {
    this.#response = response;
    response.socket?.setTimeout(0);
    response.socket?.setNoDelay(true);
    response.write(": open\n\n");
    response.on("drain", () => this.#drained());
  }

  /** Sends `data`, which is JSON and so one line. */
  send(name: MessageName, data: string, now: number): void {
    if (this.#stuckSince === null) this.#send(name, data, now);
    else this.#waiting.set(name, data);
  }

  /** True if the browser was sent a message of that name and keeps up. */
  hasRead(name: MessageName): boolean {
    return this.#sent.has(name) && this.#stuckSince === null;
  }

  /** Sends a sign of life, or cuts off a browser that does not read. */
  keepAlive(now: number, patienceMs: number): void {
    if (this.#stuckSince === null) this.#write(": alive\n\n", now);
    else if (now - this.#stuckSince >= patienceMs) this.#response.destroy();
  }

  end(): void {
    this.#response.end();
  }

  #send(name: MessageName, data: string, now: number): void {
    this.#sent.add(name);
    this.#write(text(name, data), now);
  }

  #write(message: string, now: number): void {
    if (!this.#response.destroyed && !this.#response.write(message)) this.#stuckSince = now;
  }

  #drained(): void {
    const stuckSince = this.#stuckSince ?? 0;
    this.#stuckSince = null;
    for (const [name, data] of this.#waiting) {
      this.#waiting.delete(name);
      this.#send(name, data, stuckSince);
      if (this.#stuckSince !== null) return;
    }
  }
}
