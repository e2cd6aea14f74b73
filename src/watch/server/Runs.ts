/** The runs that a server shows, each with its feed. A run's folder is read once somebody asks, and looked at again when an answer is old. */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Attribute } from "../store/Moment.ts";
import { RunStore } from "../store/RunStore.ts";
import { Feed, type FeedLimits } from "./Feed.ts";

/** An answer is at most so old. */
const FRESH_MS = 500;

interface Shown {
  readonly store: RunStore;
  readonly feed: Feed;
  looked: number;
}

/** Folders by their runs' ids, `quickstart/20261122-015315`; of two with one id the second gets a number. */
export const idsOf = (folders: readonly string[]): ReadonlyMap<string, string> => {
  const ids = new Map<string, string>();
  for (const folder of new Set(folders.map((each) => realpathSync(each)))) {
    const base = `${basename(dirname(folder))}/${basename(folder)}`;
    let id = base;
    for (let n = 2; ids.has(id); n++) id = `${base}~${n}`;
    ids.set(id, folder);
  }
  return ids;
};

export class Runs {
  readonly #shown = new Map<string, Shown>();
  readonly #now: () => number;

  constructor(folders: readonly string[], attribute: Attribute, limits: FeedLimits, now: () => number) {
    this.#now = now;
    for (const [id, folder] of idsOf(folders)) {
      const store = new RunStore({ id, folder, attribute });
      this.#shown.set(id, { store, feed: new Feed(store, limits, now), looked: now() });
    }
  }

  ids(): readonly string[] {
    return [...this.#shown.keys()];
  }

  /** Undefined where no run has the id. */
  feed(id: string): Feed | undefined {
    return this.#shown.get(id)?.feed;
  }

  /** The run as its folder is now, or as far as it is read; undefined where none has the id. */
  async store(id: string): Promise<RunStore | undefined> {
    const shown = this.#shown.get(id);
    if (shown === undefined) return undefined;
    const now = this.#now();
    if (shown.store.isRead && now - shown.looked >= FRESH_MS) {
      shown.looked = now;
      shown.feed.notice(await shown.store.refresh());
    }
    return shown.store;
  }

  /** Whether every browser that listens to a run has read how that run ended. */
  get areEndsRead(): boolean {
    return [...this.#shown.values()].every(({ feed }) => feed.isEndRead);
  }

  close(): void {
    for (const { feed } of this.#shown.values()) feed.close();
  }
}
