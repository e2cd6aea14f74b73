/**
 * The run's tables. Validation episodes: the newest ones. Sampled training episodes: as many as the run file says, spread over
 * the run's steps. If switched on, the rewards of each step's groups, and the deviations of all groups. All are pure state; the
 * caller writes the files that are due.
 */
import type { EpisodeRecord } from "../../../domain/EpisodeRecord.ts";
import { type GroupRows, columns as groupColumns, REWARDS } from "./GroupTables.ts";
import { columnsOf, type Row, rowsOf, type TableFile, tableFile } from "./Table.ts";

export const keys = { val: "val/generations", train: "train/generations", groups: "rollout/group_rv_table" } as const;
export type TableKey = keyof typeof keys;
export const tableKeys = ["val", "train", "groups"] as const satisfies readonly TableKey[];
type Split = EpisodeRecord["split"];

export const columnsIn = (key: TableKey): readonly string[] => (key === "groups" ? groupColumns : columnsOf(key));

/** Rows of validation that stay. */
export const NEWEST = 512;
/** Rows of groups that stay. */
export const MOST_GROUPS = 100_000;
/** A table is written again when it has grown by this share: each file holds all rows, and they would grow with the square of them. */
const GROWTH = 1 / 8;

export interface TablesOptions {
  /** Rows of training over the run. */
  readonly most: number;
  /** Steps of the run. */
  readonly steps: number;
}

class GrowingTable {
  rows: readonly Row[] = [];
  /** Rows that no file has yet. */
  fresh = 0;

  add(rows: readonly Row[], most: number): void {
    this.rows = [...this.rows, ...rows].slice(-most);
    this.fresh += rows.length;
  }
}

export class Tables {
  readonly #options: TablesOptions;
  readonly #tables: Readonly<Record<TableKey, GrowingTable>> = {
    val: new GrowingTable(),
    train: new GrowingTable(),
    groups: new GrowingTable(),
  };
  /** Rewards of steps that are not written. */
  #rewards: readonly GroupRows[] = [];

  constructor(options: TablesOptions) {
    this.#options = options;
  }

  /** Goes on with rows that were written before. */
  restore(key: TableKey, rows: readonly Row[]): void {
    this.#tables[key].rows = rows;
  }

  addGroups(rows: GroupRows): void {
    this.#rewards = [...this.#rewards, rows];
  }

  add(records: readonly EpisodeRecord[]): void {
    const { train, val } = this.#tables;
    const rowsOfSplit = (split: Split) => rowsOf(records.filter((record) => record.split === split));
    val.add(rowsOfSplit("val"), NEWEST);
    const { most, steps } = this.#options;
    const last = records.reduce((latest, { step }) => Math.max(latest, step), 0);
    const allowed = Math.min(most, Math.ceil((most * last) / Math.max(1, steps)));
    const rows = rowsOfSplit("train").slice(0, Math.max(0, allowed - train.rows.length));
    if (rows.length > 0) train.add(rows, most);
  }

  /**
   * The tables to write with `step`: the step's rewards, validation's with each validation, the others once they have grown. At
   * the end, all with rows that no file has.
   */
  due(step: number, end: boolean): readonly TableFile[] {
    const consumed = this.#rewards.filter((rows) => rows.step <= step);
    this.#rewards = this.#rewards.filter((rows) => rows.step > step);
    for (const { deviations } of consumed) this.#tables.groups.add(deviations, MOST_GROUPS);
    const rewards = consumed
      .filter((rows) => rows.step === step)
      .map(({ rewards: { columns, rows } }) => tableFile(REWARDS, columns, rows, step));
    const grown = tableKeys.flatMap((key) => {
      const table = this.#tables[key];
      const least = key === "val" || end ? 1 : Math.max(1, Math.floor(table.rows.length * GROWTH));
      if (table.fresh < least) return [];
      table.fresh = 0;
      return [tableFile(keys[key], columnsIn(key), table.rows, step)];
    });
    return [...rewards, ...grown];
  }
}
