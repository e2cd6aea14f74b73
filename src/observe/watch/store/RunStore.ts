/**
 * One run's folder for the page, finished or growing. Each reading continues where the last one ended, so no answer reads a whole
 * file. Invariant: all answers come from one state of the folder, that of the last `refresh`.
 */
import { basename, dirname, join, relative } from "node:path";
import { readRunResult } from "../../record/readRunResult.ts";
import type { Curves, EpisodePage, LineView, RunCard, RunSummary, Timeline, WindowView } from "../Api.ts";
import { Episodes } from "./Episodes.ts";
import type { EpisodeQuery } from "./EpisodesIndex.ts";
import { Events } from "./Events.ts";
import { MetricsTable } from "./MetricsTable.ts";
import {
  configText,
  factsOfConfig,
  factsOfLine,
  hasEvaluationSummary,
  livenessOf,
  type RunFacts,
  type RunLiveness,
  statusOf,
} from "./RunFacts.ts";
import type { AttributeBottleneck } from "./RunSnapshot.ts";
import { folderSignature } from "./signature.ts";
import { Tail } from "./Tail.ts";

/** The parts of the folder that a refresh found changed. */
export interface FolderChange {
  readonly line: boolean;
  readonly metrics: boolean;
  readonly episodes: boolean;
  readonly state: boolean;
}

export const noChange: FolderChange = { line: false, metrics: false, episodes: false, state: false };

/** The changes of two refreshes together. */
export const mergeChanges = (a: FolderChange, b: FolderChange): FolderChange => ({
  line: a.line || b.line,
  metrics: a.metrics || b.metrics,
  episodes: a.episodes || b.episodes,
  state: a.state || b.state,
});

const parts = ["episodes", "metrics", "events"] as const;
type Part = (typeof parts)[number];

export interface RunStoreOptions {
  readonly id: string;
  readonly folder: string;
  /** The displayed name if the run's own name is not enough: a sweep's run has the sweep's name before it. */
  readonly name?: string | undefined;
  readonly attribute: AttributeBottleneck;
}

export class RunStore {
  readonly id: string;
  readonly folder: string;
  readonly #name: string | undefined;
  readonly #events: Events;
  readonly #metrics = new MetricsTable();
  readonly #metricsTail: Tail;
  readonly #episodes: Episodes;
  #liveness: RunLiveness = { isRunning: false, controllable: false };
  #hasSummary = false;
  #state: RunCard["state"] | null = null;
  #configFacts: RunFacts | null = null;
  #refreshing: Promise<FolderChange> = Promise.resolve(noChange);
  #isRead = false;
  #signature = "";
  #summary: { readonly signature: string; readonly value: RunSummary } | null = null;
  /** Answers wait for these: each part of the folder is read once, at the first request for it. */
  readonly #opened: Promise<void>;
  readonly #reading = new Map<Part, Promise<unknown>>();

  constructor({ attribute, folder, id, name }: RunStoreOptions) {
    this.id = id;
    this.#name = name;
    this.folder = folder;
    this.#events = new Events(folder, attribute);
    this.#metricsTail = new Tail(join(folder, "metrics.jsonl"), this.#metrics);
    this.#episodes = new Episodes(folder);
    this.#opened = this.#open().catch(() => undefined);
  }

  /** Resolves when the whole folder is read. */
  get ready(): Promise<unknown> {
    return Promise.all(parts.map((part) => this.#read(part))).then(() => {
      this.#isRead = true;
    });
  }

  /** True if the run goes on, or its folder has changed since the last call; the store is out of date then. */
  async hasChanged(): Promise<boolean> {
    await this.#opened;
    this.#liveness = await livenessOf(this.folder);
    const before = this.#signature;
    this.#signature = await folderSignature(this.folder);
    return this.#liveness.isRunning || before !== this.#signature;
  }

  /** True once the whole folder is read. Until then a refresh takes as long as that. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Reads new lines. Calls run one after the other. */
  refresh(): Promise<FolderChange> {
    this.#refreshing = this.#refreshing.then(() => this.ready).then(() => this.#refresh());
    return this.#refreshing;
  }

  async card(): Promise<RunCard> {
    await this.#opened;
    // Without events or their index, the files themselves show the progress of the run.
    if (this.#events.live === null) await Promise.all([this.#read("events"), this.#read("metrics")]);
    const run = this.#events.index.run();
    const facts = run === null ? this.#configFacts : factsOfLine(run);
    const live = this.#events.live;
    const span = this.#metrics.span();
    const started = this.#events.index.started() ?? span?.first ?? 0;
    const step = live?.replay.progress.step ?? this.#metrics.lastStep() ?? 0;
    return {
      id: this.id,
      name: this.#name ?? run?.name ?? basename(dirname(this.folder)),
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
      controllable: this.#liveness.controllable,
    };
  }

  /** The summary, read again after the folder has changed. */
  async summary(): Promise<RunSummary> {
    const signature = await folderSignature(this.folder);
    if (this.#summary?.signature === signature) return this.#summary.value;
    const { checkpoint, failedShare, kind, minutes, steps, validation } = await readRunResult(this.folder);
    const fromHere = relative(process.cwd(), this.folder);
    const value: RunSummary = {
      kind,
      steps,
      minutes,
      validation,
      failedShare,
      checkpoint: { newest: checkpoint.newest?.step ?? null, best: checkpoint.best?.step ?? null },
      folder: fromHere === "" || fromHere.startsWith("..") ? this.folder : fromHere,
    };
    this.#summary = { signature, value };
    return value;
  }

  config(): Promise<string | null> {
    return configText(this.folder);
  }

  async names(): Promise<readonly string[]> {
    await this.#read("metrics");
    return this.#metrics.names();
  }

  async curves(names: readonly string[], from: number, to: number, points: number): Promise<Curves> {
    await this.#read("metrics");
    return this.#metrics.curves(names, from, to, points);
  }

  async csv(names: readonly string[]): Promise<Generator<string>> {
    await this.#read("metrics");
    return this.#metrics.csv(names);
  }

  async timeline(points: number): Promise<Timeline> {
    await this.#read("events");
    return this.#events.timeline(points);
  }

  /** Null if the run has no events. */
  async line(at: number | null): Promise<LineView | null> {
    await this.#opened;
    if (this.#events.live === null) await this.#read("events");
    return this.#events.line(at);
  }

  async windows(from: number, to: number, limit: number): Promise<readonly WindowView[]> {
    await this.#read("events");
    return this.#events.windows(from, to, limit);
  }

  async episodes(query: EpisodeQuery): Promise<EpisodePage> {
    await this.#read("episodes");
    return this.#episodes.page(query);
  }

  async group(split: string, step: number, group: number): Promise<readonly string[]> {
    await this.#read("episodes");
    return this.#episodes.group(split, step, group);
  }

  lastEpisodesStep(): number | null {
    return this.#episodes.lastStep();
  }

  lastStep(): number | null {
    return this.#metrics.lastStep();
  }

  #read(part: Part): Promise<unknown> {
    const existing = this.#reading.get(part);
    if (existing !== undefined) return existing;
    const advance = {
      episodes: () => this.#episodes.advance(),
      metrics: () => this.#metricsTail.advance(),
      events: () => this.#events.advance(),
    };
    const reading = this.#opened.then(() => advance[part]()).catch(() => undefined);
    this.#reading.set(part, reading);
    return reading;
  }

  async #open(): Promise<void> {
    this.#signature = await folderSignature(this.folder);
    this.#configFacts = factsOfConfig((await this.config()) ?? "");
    await this.#events.open();
    this.#liveness = await livenessOf(this.folder);
    this.#hasSummary = await hasEvaluationSummary(this.folder);
    this.#state = this.#status();
  }

  /** A part that cannot be read now is tried again the next time. */
  #refresh(): Promise<FolderChange> {
    return this.#advance().catch(() => noChange);
  }

  async #advance(): Promise<FolderChange> {
    // This comes before the files: a run that ends in between has then written its last line.
    this.#liveness = await livenessOf(this.folder);
    const metrics = await this.#metricsTail.advance();
    const line = await this.#events.advance();
    const episodes = await this.#episodes.advance();
    const before = this.#state;
    this.#hasSummary = await hasEvaluationSummary(this.folder);
    this.#state = this.#status();
    return { line, metrics, episodes, state: before !== this.#state };
  }

  #status(): RunCard["state"] {
    const ended = this.#events.live?.replay.ended ?? null;
    const step = this.#metrics.lastStep() ?? 0;
    const whole = this.#events.live === null && step > 0 && step >= (this.#configFacts?.steps ?? 0);
    return statusOf(this.#liveness.isRunning, ended, whole || this.#hasSummary);
  }
}
