/** The open episodes by their keys. A key is the only thing that a client has to know, and it opens nothing but its own episode. */
import { randomBytes } from "node:crypto";
import type { EpisodeAccount } from "../host/EpisodeAccount.ts";
import type { Session } from "./Session.ts";

/** A key that cannot be guessed: 128 random bits. */
export const mintKey = (): string => `mr-ep-${randomBytes(16).toString("hex")}`;

interface KeyedEpisode {
  readonly session: Session;
  /** The agent's account by control routes; null if its host takes none. */
  readonly account: EpisodeAccount | null;
}

export class Sessions {
  readonly #open = new Map<string, KeyedEpisode>();
  /** The newest ended episodes, so that a late call is told that its episode has ended. */
  readonly #ended = new Map<string, EpisodeAccount | null>();
  readonly #mostEnded = 10_000;

  get size(): number {
    return this.#open.size;
  }

  /** Opens a session under a new key. */
  add(session: Session, account: EpisodeAccount | null = null): string {
    const key = mintKey();
    this.#open.set(key, { session, account });
    return key;
  }

  /** The session of a key; "ended" if it had one, undefined for a key that nobody was given. */
  find(key: string): Session | "ended" | undefined {
    return this.#open.get(key)?.session ?? (this.#ended.has(key) ? "ended" : undefined);
  }

  /** The account of a key's episode, open or ended; null if there is none. */
  accountOf(key: string): EpisodeAccount | null {
    return this.#open.get(key)?.account ?? this.#ended.get(key) ?? null;
  }

  remove(key: string): void {
    const episode = this.#open.get(key);
    if (episode === undefined) return;
    this.#open.delete(key);
    this.#ended.set(key, episode.account);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > this.#mostEnded && oldest !== undefined) this.#ended.delete(oldest);
  }
}
