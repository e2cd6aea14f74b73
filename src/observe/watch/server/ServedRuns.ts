/**
 * The runs that a server shows, each with its feed. A run's folder is read at the first request, and again when the last reading
 * is old.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import { isRunFolder, runsBelow } from "../../record/RunFolders.ts";
import type { AttributeBottleneck } from "../store/RunSnapshot.ts";
import { RunStore } from "../store/RunStore.ts";
import { LiveFeed, type LiveLimits } from "./LiveFeed.ts";

/** The maximum age of an answer, and of the list of runs below a folder. */
const FRESH_MS = 500;
const LISTED_MS = 2_000;

interface ServedRun {
  readonly store: RunStore;
  readonly feed: LiveFeed;
  looked: number;
}

/** The folders of a server: runs, and folders below which all runs are shown, including later ones. */
export interface RunSources {
  readonly runs: readonly string[];
  readonly below?: readonly string[];
}

/** A run's folder with its id; `name` is set if the id is longer than name and time stamp. */
interface RunPlace {
  readonly id: string;
  readonly folder: string;
  readonly name?: string;
}

const placeOf = (folder: string): RunPlace => ({ id: `${basename(dirname(folder))}/${basename(folder)}`, folder });

/** The runs below a folder. A run of a sweep has the sweep's name before its own. */
const placesBelow = (root: string): readonly RunPlace[] =>
  runsBelow(root).map((folder) => {
    const parts = relative(root, folder).split(sep);
    return parts.length <= 2 ? placeOf(folder) : { id: parts.join("/"), folder, name: parts.slice(0, -1).join("/") };
  });

const placesIn = ({ below = [], runs }: RunSources): readonly RunPlace[] => [
  ...runs.map((folder) => placeOf(realpathSync(folder))),
  ...below.flatMap((root) => placesBelow(realpathSync(root))),
];

export class ServedRuns {
  readonly #sources: RunSources;
  readonly #served = new Map<string, ServedRun>();
  readonly #now: () => number;
  readonly #serve: (place: RunPlace) => ServedRun;
  #listed: number;

  constructor(what: RunSources, attribute: AttributeBottleneck, limits: LiveLimits, now: () => number) {
    this.#sources = what;
    this.#now = now;
    this.#serve = (place) => {
      const store = new RunStore({ ...place, attribute });
      return { store, feed: new LiveFeed(store, limits, now), looked: now() };
    };
    this.#listed = now();
    this.#list();
  }

  /** Ids of the runs that exist now. */
  ids(): readonly string[] {
    const now = this.#now();
    if (this.#sources.below !== undefined && now - this.#listed >= LISTED_MS) {
      this.#listed = now;
      this.#list();
    }
    return [...this.#served.keys()];
  }

  /** Undefined if no run has the id. */
  feed(id: string): LiveFeed | undefined {
    return this.#served.get(id)?.feed;
  }

  /** The store of a run, as new as `FRESH_MS` allows; undefined if no run has the id. */
  async store(id: string): Promise<RunStore | undefined> {
    const shown = this.#served.get(id);
    if (shown === undefined) return undefined;
    const { feed, store } = shown;
    const now = this.#now();
    if (now - shown.looked < FRESH_MS) return store;
    shown.looked = now;
    if (store.isRead) feed.addChange(await store.refresh());
    // In a list of many runs, only changed ones are read, and nobody waits for that.
    else if (await store.hasChanged()) void store.refresh().then((change) => feed.addChange(change));
    return store;
  }

  /** True if every browser has read the end of its run. */
  get isEveryEndRead(): boolean {
    return [...this.#served.values()].every(({ feed }) => feed.isEndRead);
  }

  close(): void {
    for (const { feed } of this.#served.values()) feed.close();
  }

  /** Adds new runs and removes those whose folders are gone. If two have the same id, the second gets a number. */
  #list(): void {
    for (const [id, { feed, store }] of this.#served) {
      if (isRunFolder(store.folder)) continue;
      feed.close();
      this.#served.delete(id);
    }
    const shown = new Set([...this.#served.values()].map(({ store }) => store.folder));
    for (const place of placesIn(this.#sources)) {
      if (shown.has(place.folder)) continue;
      shown.add(place.folder);
      let { id } = place;
      for (let n = 2; this.#served.has(id); n++) id = `${place.id}~${n}`;
      this.#served.set(id, this.#serve({ ...place, id }));
    }
  }
}
