/**
 * What the browsers that look at one run are told as its folder changes. The folder is watched while there are any. Invariant: a view is
 * computed once for all of them, and at most every `QUIET_MS`.
 */
import { type FSWatcher, watch } from "node:fs";
import { type FolderChange, mergeChanges, noChange, type RunStore } from "../store/RunStore.ts";
import { Browser, type BrowserResponse, type MessageName } from "./Browser.ts";

export interface LiveLimits {
  /** A browser that reads nothing for so long is cut off. */
  readonly patienceMs: number;
  /** Between two signs of life, and two looks for browsers that do not read. */
  readonly aliveMs: number;
  /** The folder is looked at so often though nothing was said to have changed: not every file system tells. */
  readonly safetyMs: number;
}

const QUIET_MS = 250;

export class LiveFeed {
  readonly #store: RunStore;
  readonly #limits: LiveLimits;
  readonly #now: () => number;
  readonly #browsers = new Set<Browser>();
  #watcher: FSWatcher | null = null;
  #timers: readonly NodeJS.Timeout[] = [];
  #nextLook: NodeJS.Timeout | null = null;
  /** The first look tells the line in any case: the view that greeted a browser may be older than what the store has read since. */
  #hasLooked = false;
  /** What readings of the folder by others found, of which browsers are not told yet. */
  #untoldChange = noChange;

  constructor(store: RunStore, limits: LiveLimits, now: () => number) {
    this.#store = store;
    this.#limits = limits;
    this.#now = now;
  }

  add(response: BrowserResponse): void {
    const browser = new Browser(response);
    this.#browsers.add(browser);
    response.on("close", () => {
      this.#browsers.delete(browser);
      if (this.#browsers.size === 0) this.#stopWatching();
    });
    if (this.#browsers.size === 1) this.#startWatching();
    void this.#greet(browser).catch(() => undefined);
  }

  /** Takes what another reading of the folder found: a change is found once, and browsers are told of it with the next look. */
  addChange(change: FolderChange): void {
    this.#untoldChange = mergeChanges(this.#untoldChange, change);
    if (this.#browsers.size > 0 && Object.values(change).includes(true)) this.#lookSoon();
  }

  /** Whether every browser that listens has read how the run ended. */
  get isEndRead(): boolean {
    return [...this.#browsers].every((browser) => browser.hasRead("ended"));
  }

  close(): void {
    for (const browser of this.#browsers) browser.end();
    this.#browsers.clear();
    this.#stopWatching();
  }

  #startWatching(): void {
    const { aliveMs, safetyMs } = this.#limits;
    this.#hasLooked = false;
    try {
      this.#watcher = watch(this.#store.folder, () => this.#lookSoon());
      // The folder was removed, or the system has no more watches: the timer goes on.
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      this.#watcher = null;
    }
    this.#timers = [
      setInterval(() => this.#lookSoon(), safetyMs),
      setInterval(() => {
        for (const browser of this.#browsers) browser.keepAlive(this.#now(), this.#limits.patienceMs);
      }, aliveMs),
    ];
    this.#lookSoon();
  }

  #stopWatching(): void {
    this.#watcher?.close();
    this.#watcher = null;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    if (this.#nextLook !== null) clearTimeout(this.#nextLook);
    this.#nextLook = null;
  }

  /** Looks once for all changes of the next moment. */
  #lookSoon(): void {
    this.#nextLook ??= setTimeout(() => {
      // First, so that what changes while it looks is looked for again.
      this.#nextLook = null;
      // What cannot be told now is told with the next change.
      this.#look().catch(() => undefined);
    }, QUIET_MS);
  }

  async #look(): Promise<void> {
    const found = await this.#store.refresh();
    const change = mergeChanges(this.#untoldChange, found);
    this.#untoldChange = noChange;
    if (this.#browsers.size === 0) return;
    if (change.line || !this.#hasLooked) this.#broadcast("line", await this.#store.line(null));
    this.#hasLooked = true;
    if (change.metrics) this.#broadcast("step", { step: this.#store.lastStep() });
    if (change.episodes) this.#broadcast("episodes", { step: this.#store.lastEpisodesStep() });
    if (!change.state) return;
    const { state } = await this.#store.card();
    if (state !== "running") this.#broadcast("ended", state);
  }

  #broadcast(name: MessageName, value: unknown): void {
    const data = JSON.stringify(value);
    const now = this.#now();
    for (const browser of this.#browsers) browser.send(name, data, now);
  }

  async #greet(browser: Browser): Promise<void> {
    const view = await this.#store.line(null);
    const { state } = await this.#store.card();
    if (!this.#browsers.has(browser)) return;
    if (view !== null) browser.send("line", JSON.stringify(view), this.#now());
    if (state !== "running") browser.send("ended", JSON.stringify(state), this.#now());
  }
}
