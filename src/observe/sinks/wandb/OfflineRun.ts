/**
 * One run as a folder that W&B's own tools read. When a call returns, its data is on disk. Invariant: steps ascend and none
 * appears twice, even after a resume.
 */
import type { EpisodeRecord } from "../../../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../../../domain/Event.ts";
import type { Sample } from "../../../flow/Bus.ts";
import { stepLine } from "../PlainConsole.ts";
import type { RunInfo } from "../Sink.ts";
import { Definitions, initial } from "./Definitions.ts";
import {
  configItems,
  configYaml,
  environmentEntry,
  historyEntry,
  type Labels,
  metadata,
  runEntry,
  summaryEntry,
} from "./entries.ts";
import { Folder, placeOf } from "./Folder.ts";
import { GroupTables } from "./GroupTables.ts";
import type { Item } from "./Json.ts";
import type { KeptPart } from "./KeptPart.ts";
import { type Machine, System } from "./System.ts";
import { rowsIn, type TableFile } from "./Table.ts";
import { columnsIn, Tables, tableKeys } from "./Tables.ts";
import type { OutputEntry, RunEntry, WandbEntry } from "./WandbEntry.ts";

export interface OfflineOptions {
  readonly run: RunInfo;
  readonly labels: Labels;
  /** Rows of the table of training episodes. */
  readonly trainEpisodes: number;
  /** True if the rewards of groups are tables too. */
  readonly groupTables: boolean;
  readonly machine: Machine;
  /** Millrace's version. */
  readonly version: string;
}

const linesOf = (text: string, time: number): readonly OutputEntry[] =>
  text.split("\n").map((line) => ({ _tag: "Output", time, line }));

const fileEntries = (tables: readonly TableFile[]): readonly WandbEntry[] =>
  tables.length === 0 ? [] : [{ _tag: "Files", paths: tables.map(({ path }) => path) }];

export class OfflineRun {
  readonly folder: Folder;
  readonly kept: KeptPart;
  readonly entry: RunEntry;
  readonly definitions: Definitions;
  readonly #options: OfflineOptions;
  readonly #tables: Tables;
  readonly #groups = new GroupTables();
  readonly #system: System;
  /** The last step that was written. */
  #step: number;

  private constructor(options: OfflineOptions, folder: Folder, kept: KeptPart) {
    const { labels, machine, run, trainEpisodes, version } = options;
    this.#options = options;
    this.folder = folder;
    this.kept = kept;
    this.entry = runEntry(run, folder.place.id, labels, version, machine);
    this.definitions = new Definitions(kept.metrics);
    this.#tables = new Tables({ most: trainEpisodes, steps: run.steps });
    this.#system = new System(machine);
    this.#step = kept.step ?? -1;
  }

  /** Opens the run's folder, or that of an earlier start. */
  static async open(options: OfflineOptions): Promise<OfflineRun> {
    const { machine, run, version } = options;
    const { folder, kept } = await Folder.open(await placeOf(run.folder, run.started), run.from);
    const offline = new OfflineRun(options, folder, kept);
    const environment = environmentEntry(run, machine);
    const items = configItems(run, version);
    const first: readonly WandbEntry[] =
      kept.number === 0
        ? [{ _tag: "Header", producer: `millrace ${version}` }, offline.entry, environment]
        : [{ _tag: "Config", items }];
    await folder.append([...first, ...offline.definitions.missing(initial())]);
    await folder.writeFile("config.yaml", configYaml(items));
    await folder.writeFile("wandb-metadata.json", metadata(environment));
    await offline.#restoreTables();
    await offline.print(`${run.name}: ${run.mode}, seed ${run.seed}, ${run.folder}`, run.started);
    return offline;
  }

  async #restoreTables(): Promise<void> {
    for (const key of tableKeys) {
      const path = this.kept.tables[key];
      const text = path === undefined ? null : await this.folder.readFile(path).catch(() => null);
      if (text !== null) this.#tables.restore(key, rowsIn(text.toString("utf8"), columnsIn(key)));
    }
  }

  #runtime(time: number): number {
    return this.kept.runtime + Math.max(0, time - this.#options.run.started) / 1000;
  }

  /** Appends console lines. */
  async print(text: string, time: number): Promise<void> {
    await this.folder.append(linesOf(text, time));
    await this.folder.writeFile("output.log", `${text}\n`, "a");
  }

  /** Records an alert for the run's owner. */
  async alert(title: string, text: string): Promise<void> {
    await this.folder.append([{ _tag: "Alert", title, text }]);
  }

  /** Records a step, unless it is written already. */
  async step(record: StepRecord): Promise<void> {
    if (record.step <= this.#step) return;
    const tables = await this.#write(this.#tables.due(record.step, false));
    const history = historyEntry(
      record,
      this.#runtime(record.time),
      tables.flatMap(({ items }) => items),
    );
    const line = stepLine(this.#options.run, record);
    await this.folder.append([
      ...this.definitions.missing(record.metrics.keys()),
      ...fileEntries(tables),
      history,
      this.#summary(history.items, record.time),
      ...linesOf(line, record.time),
    ]);
    this.#step = record.step;
    await this.folder.writeFile("output.log", `${line}\n`, "a");
  }

  #summary(items: readonly Item[], time: number): WandbEntry {
    const entry = summaryEntry(items, this.#runtime(time));
    this.kept.summary.add(entry.items);
    return entry;
  }

  async #write(tables: readonly TableFile[]): Promise<readonly TableFile[]> {
    for (const { path, text } of tables) await this.folder.writeFile(path, text);
    return tables;
  }

  episodes(records: readonly EpisodeRecord[]): void {
    this.#tables.add(records);
  }

  /** Adds to the tables of groups, if they are switched on. */
  event(event: Event): void {
    if (!this.#options.groupTables) return;
    const rows = this.#groups.observe(event);
    if (rows !== null) this.#tables.addGroups(rows);
  }

  async gauges(sample: Sample): Promise<void> {
    const items = this.#system.observe(sample);
    if (items !== null)
      await this.folder.append([{ _tag: "Stats", time: this.#options.run.started + sample.elapsedMs, items }]);
  }

  /** Records the end of the run; a run without it has crashed. */
  async end(outcome: string, code: number, time: number): Promise<void> {
    const tables = await this.#write(this.#tables.due(Math.max(0, this.#step), true));
    if (tables.length > 0) {
      const items = tables.flatMap((table) => table.items);
      await this.folder.append([...fileEntries(tables), this.#summary(items, time)]);
    }
    await this.print(outcome, time);
    await this.folder.writeFile("wandb-summary.json", this.kept.summary.text);
    await this.folder.append([
      { _tag: "Exit", code, seconds: Math.floor(this.#runtime(time)) },
      { _tag: "Final" },
      { _tag: "Footer" },
    ]);
  }
}
