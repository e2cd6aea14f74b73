/**
 * Tells the browsers of one run about changes in its folder, which it watches while there are any. Invariant: a view is computed
 * once for all browsers, and at most every `QUIET_MS`.
 */
import { type FSWatcher, watch } from "node:fs";
import { type FolderChange, mergeChanges, noChange, type RunStore } from "../store/RunStore.ts";
import { Browser, type BrowserResponse, type MessageName } from "./Browser.ts";

export interface LiveLimits {
  /** Milliseconds after which a browser that reads nothing is cut off. */
  readonly patienceMs: number;
  /** The interval of signs of life, and of checks for browsers that do not read, milliseconds. */
  readonly aliveMs: number;
  /** The interval of looks at the folder without a notice, milliseconds: not every file system reports changes. */
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
  /** The first look sends the line in any case: the view that greeted a browser may be older than the store's state. */
  #hasLooked = false;
  /** Changes that other readings of the folder found, and that browsers do not know yet. */
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

  /**
   * Adds the changes that another reading of the folder found. Each change is found once, and the next look tells browsers about
   * it.
   */
  addChange(change: FolderChange): void {
    this.#untoldChange = mergeChanges(this.#untoldChange, change);
    if (this.#browsers.size > 0 && Object.values(change).includes(true)) this.#lookSoon();
  }

  /** True if every browser that listens has read the end of the run. */
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
      // The folder was removed, or the system has no more watches; the timer goes on.
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

  /** Schedules one look for all changes of the next moment. */
  #lookSoon(): void {
    this.#nextLook ??= setTimeout(() => {
      // This comes first, so that a change during the look causes another one.
      this.#nextLook = null;
      // A change that cannot be sent now is sent with the next one.
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
