/** The runs that a server shows, each with its feed. A run's folder is read once somebody asks, and looked at again when an answer is old. */
import { realpathSync } from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import { isRun, runsBelow } from "../../record/RunFolders.ts";
import type { Attribute } from "../store/Moment.ts";
import { RunStore } from "../store/RunStore.ts";
import { Feed, type FeedLimits } from "./Feed.ts";

/** An answer is at most so old, and so is the list of the runs below a folder. */
const FRESH_MS = 500;
const LISTED_MS = 2_000;

interface Shown {
  readonly store: RunStore;
  readonly feed: Feed;
  looked: number;
}

/** What a server shows: runs by their folders, and all runs below other folders, those that begin later too. */
export interface ShownRuns {
  readonly runs: readonly string[];
  readonly below?: readonly string[];
}

/** A run's folder and what it is shown as; `name` is set where the id is longer than name and time stamp. */
interface Place {
  readonly id: string;
  readonly folder: string;
  readonly name?: string;
}

const placeOf = (folder: string): Place => ({ id: `${basename(dirname(folder))}/${basename(folder)}`, folder });

/** The runs below a folder; that of a sweep has the sweep's name before its own. */
const placesBelow = (root: string): readonly Place[] =>
  runsBelow(root).map((folder) => {
    const parts = relative(root, folder).split(sep);
    return parts.length <= 2 ? placeOf(folder) : { id: parts.join("/"), folder, name: parts.slice(0, -1).join("/") };
  });

const placesIn = ({ below = [], runs }: ShownRuns): readonly Place[] => [
  ...runs.map((folder) => placeOf(realpathSync(folder))),
  ...below.flatMap((root) => placesBelow(realpathSync(root))),
];

export class Runs {
  readonly #what: ShownRuns;
  readonly #shown = new Map<string, Shown>();
  readonly #now: () => number;
  readonly #make: (place: Place) => Shown;
  #listed: number;

  constructor(what: ShownRuns, attribute: Attribute, limits: FeedLimits, now: () => number) {
    this.#what = what;
    this.#now = now;
    this.#make = (place) => {
      const store = new RunStore({ ...place, attribute });
      return { store, feed: new Feed(store, limits, now), looked: now() };
    };
    this.#listed = now();
    this.#list();
  }

  /** Ids of the runs that are there now. */
  ids(): readonly string[] {
    const now = this.#now();
    if (this.#what.below !== undefined && now - this.#listed >= LISTED_MS) {
      this.#listed = now;
      this.#list();
    }
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
    const { feed, store } = shown;
    const now = this.#now();
    if (now - shown.looked < FRESH_MS) return store;
    shown.looked = now;
    if (store.isRead) feed.notice(await store.refresh());
    // Of a list of many runs, those that change are read, and nobody waits for it.
    else if (await store.hasChanged()) void store.refresh().then((change) => feed.notice(change));
    return store;
  }

  /** Whether every browser that listens to a run has read how that run ended. */
  get areEndsRead(): boolean {
    return [...this.#shown.values()].every(({ feed }) => feed.isEndRead);
  }

  close(): void {
    for (const { feed } of this.#shown.values()) feed.close();
  }

  /** Adds runs that have come, and takes away those whose folders are gone. Of two with one id the second gets a number. */
  #list(): void {
    for (const [id, { feed, store }] of this.#shown) {
      if (isRun(store.folder)) continue;
      feed.close();
      this.#shown.delete(id);
    }
    const shown = new Set([...this.#shown.values()].map(({ store }) => store.folder));
    for (const place of placesIn(this.#what)) {
      if (shown.has(place.folder)) continue;
      shown.add(place.folder);
      let { id } = place;
      for (let n = 2; this.#shown.has(id); n++) id = `${place.id}~${n}`;
      this.#shown.set(id, this.#make({ ...place, id }));
    }
  }
}
