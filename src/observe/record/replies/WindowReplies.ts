/**
 * The replies that a log holds of one window, found by their stream keys. Invariant: a reply is given only to the request that it was
 * given to.
 */
import type { Sampled } from "../../../domain/Episode.ts";
import type { StreamKey } from "../../../domain/Random.ts";
import type { ReplyRecord } from "./ReplyRecord.ts";

const nameOf = ({ counters, purpose, seed }: StreamKey): string => `${purpose} ${seed} ${counters.join(" ")}`;

export class WindowReplies {
  readonly #records = new Map<string, ReplyRecord>();
  #given = 0;
  #differing = 0;
  #added = 0;

  constructor(records: readonly ReplyRecord[]) {
    // A later record of a key replaces an earlier one, as the later run did.
    for (const record of records) this.#records.set(nameOf(record.key), record);
  }

  /** Replies that the log gave. */
  get given(): number {
    return this.#given;
  }

  /** Requests whose key the log holds with another request: an environment or an agent that answered otherwise. */
  get differing(): number {
    return this.#differing;
  }

  /** True if the log gave every reply of the window. */
  get isWhole(): boolean {
    return this.#given > 0 && this.#added === 0;
  }

  find(key: StreamKey, request: number): Sampled | undefined {
    const record = this.#records.get(nameOf(key));
    if (record === undefined) return undefined;
    if (record.request !== request) {
      this.#differing++;
      return undefined;
    }
    this.#given++;
    return record.sampled;
  }

  /** Forgets the replies of a window that is closed; its counts stay. */
  clear(): void {
    this.#records.clear();
  }

  countAdded(): void {
    this.#added++;
  }
}
