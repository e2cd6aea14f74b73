/** The open episodes by their keys. A key is the only thing that a client has to know, and it opens nothing but its own episode. */
import { randomBytes } from "node:crypto";
import type { Session } from "./Session.ts";

/** A key that cannot be guessed: 128 random bits. */
export const mintKey = (): string => `mr-ep-${randomBytes(16).toString("hex")}`;

export class Sessions {
  readonly #open = new Map<string, Session>();
  /** The keys of the newest ended episodes, so that a late call is told that its episode has ended. */
  readonly #ended = new Set<string>();
  readonly #mostEnded = 10_000;

  get size(): number {
    return this.#open.size;
  }

  /** Opens a session under a new key. */
  add(session: Session): string {
    const key = mintKey();
    this.#open.set(key, session);
    return key;
  }

  /** The session of a key; "ended" if it had one, undefined for a key that nobody was given. */
  find(key: string): Session | "ended" | undefined {
    return this.#open.get(key) ?? (this.#ended.has(key) ? "ended" : undefined);
  }

  remove(key: string): void {
    if (!this.#open.delete(key)) return;
    this.#ended.add(key);
    const [oldest] = this.#ended;
    if (this.#ended.size > this.#mostEnded && oldest !== undefined) this.#ended.delete(oldest);
  }
}
