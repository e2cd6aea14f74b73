/**
 * One run's folder as the page asks for it, finished or growing. Files are read from where the last reading ended, by one pass at first; no
 * answer reads a whole file. Invariant: answers are those of one state of the folder, the one of the last `refresh`.
 */
import { basename, dirname, join } from "node:path";
import type { Curves, EpisodePage, LineView, RunCard, Timeline, WindowView } from "../Api.ts";
import { Episodes } from "./Episodes.ts";
import type { EpisodeQuery } from "./EpisodesIndex.ts";
import { Events } from "./Events.ts";
import { MetricsTable } from "./MetricsTable.ts";
import type { Attribute } from "./Moment.ts";
import { configText, type Facts, factsOfConfig, factsOfLine, type Life, lifeOf, statusOf } from "./RunFacts.ts";
import { Tail } from "./Tail.ts";

/** What a refresh found. */
export interface Change {
  readonly line: boolean;
  readonly metrics: boolean;
  readonly episodes: boolean;
  readonly state: boolean;
}

export interface RunStoreOptions {
  readonly id: string;
  readonly folder: string;
  readonly attribute: Attribute;
}

export class RunStore {
  readonly id: string;
  readonly folder: string;
  readonly #events: Events;
  readonly #metrics = new MetricsTable();
  readonly #metricsTail: Tail;
  readonly #episodes: Episodes;
  #life: Life = { runs: false, controllable: false };
  #state: RunCard["state"] | null = null;
  #configFacts: Facts | null = null;
  #refreshing: Promise<Change>;
  /** Settles when the folder has been read once. */
  readonly ready: Promise<unknown>;

  constructor({ attribute, folder, id }: RunStoreOptions) {
    this.id = id;
    this.folder = folder;
    this.#events = new Events(folder, attribute);
    this.#metricsTail = new Tail(join(folder, "metrics.jsonl"), this.#metrics);
    this.#episodes = new Episodes(folder);
    this.#refreshing = this.#refresh();
    this.ready = this.#refreshing;
  }

  /** Reads what has come since. Calls are carried out one after the other. */
  refresh(): Promise<Change> {
    this.#refreshing = this.#refreshing.then(() => this.#refresh());
    return this.#refreshing;
  }

  card(): RunCard {
    const run = this.#events.index.run();
    const facts = run === null ? this.#configFacts : factsOfLine(run);
    const live = this.#events.live;
    const span = this.#metrics.span();
    const started = this.#events.index.started() ?? span?.first ?? 0;
    const step = this.#events.index.lastClose()?.step ?? this.#metrics.lastStep() ?? 0;
    const name = basename(dirname(this.folder));
    return {
      id: this.id,
      name: run?.name ?? name,
      stamp: basename(this.folder),
      state: this.#status(),
      message: live?.replay.ended?.message || null,
      mode: facts?.mode ?? "sync",
      maxStaleness: facts?.maxStaleness ?? 0,
      seed: facts?.seed ?? 0,
      step,
      steps: facts?.steps ?? 0,
      started,
      last: Math.max(live?.at ?? 0, span?.last ?? 0, started),
      controllable: this.#life.controllable,
    };
  }

  config(): Promise<string | null> {
    return configText(this.folder);
  }

  names(): readonly string[] {
    return this.#metrics.names();
  }

  curves(names: readonly string[], from: number, to: number, points: number): Curves {
    return this.#metrics.curves(names, from, to, points);
  }

  csv(names: readonly string[]): Generator<string> {
    return this.#metrics.csv(names);
  }

  timeline(points: number): Timeline {
    return this.#events.timeline(points);
  }

  line(at: number | null): Promise<LineView | null> {
    return this.#events.line(at);
  }

  windows(from: number, to: number, limit: number): Promise<readonly WindowView[]> {
    return this.#events.windows(from, to, limit);
  }

  episodes(query: EpisodeQuery): EpisodePage {
    return this.#episodes.page(query);
  }

  group(split: string, step: number, group: number): Promise<readonly string[]> {
    return this.#episodes.group(split, step, group);
  }

  lastEpisodesStep(): number | null {
    return this.#episodes.lastStep();
  }

  lastStep(): number | null {
    return this.#metrics.lastStep();
  }

  /** What cannot be read now is tried again the next time. */
  #refresh(): Promise<Change> {
    return this.#read().catch(() => ({ line: false, metrics: false, episodes: false, state: false }));
  }

  async #read(): Promise<Change> {
    // Before the files: a run that ends in between is seen to have written its last line.
    this.#life = await lifeOf(this.folder);
    const metrics = await this.#metricsTail.advance();
    const line = await this.#events.advance();
    const episodes = await this.#episodes.advance();
    if (this.#configFacts === null) this.#configFacts = factsOfConfig((await this.config()) ?? "");
    const before = this.#state;
    this.#state = this.#status();
    return { line, metrics, episodes, state: before !== null && before !== this.#state };
  }

  #status(): RunCard["state"] {
    const ended = this.#events.live?.replay.ended ?? null;
    const step = this.#metrics.lastStep() ?? 0;
    const whole = this.#events.live === null && step > 0 && step >= (this.#configFacts?.steps ?? 0);
    return statusOf(this.#life.runs, ended, whole);
  }
}
