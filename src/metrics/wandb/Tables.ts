/**
 * The run's two tables. Validation episodes: all of them, of which the newest stay. Sampled training episodes: as many as the run file says,
 * spread over the run's steps. Both are pure state; files are written by who asks what is due.
 */
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import { columnsOf, type Row, rowsOf, type Written, written } from "./Table.ts";

export const keys = { val: "val/generations", train: "train/generations" } as const;
type Split = EpisodeRecord["split"];

/** Rows of validation that stay. */
export const NEWEST = 512;
/** A table is written again when it has grown by this share: each file holds all rows, and they would grow with the square of them. */
const GROWTH = 1 / 8;

export interface TablesOptions {
  /** Rows of training over the run. */
  readonly most: number;
  /** Steps of the run. */
  readonly steps: number;
}

class Growing {
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
  readonly #tables: Readonly<Record<Split, Growing>> = { val: new Growing(), train: new Growing() };

  constructor(options: TablesOptions) {
    this.#options = options;
  }

  /** Goes on with rows that were written before. */
  restore(split: Split, rows: readonly Row[]): void {
    this.#tables[split].rows = rows;
  }

  add(records: readonly EpisodeRecord[]): void {
    const { train, val } = this.#tables;
    const of = (split: Split) => rowsOf(records.filter((record) => record.split === split));
    val.add(of("val"), NEWEST);
    const { most, steps } = this.#options;
    const last = records.reduce((latest, { step }) => Math.max(latest, step), 0);
    const allowed = Math.min(most, Math.ceil((most * last) / Math.max(1, steps)));
    const rows = of("train").slice(0, Math.max(0, allowed - train.rows.length));
    if (rows.length > 0) train.add(rows, most);
  }

  /** The tables to write with `step`: validation's with each validation, training's as it has grown; at the end all with rows that no file has. */
  due(step: number, end: boolean): readonly Written[] {
    return (["val", "train"] as const).flatMap((split) => {
      const table = this.#tables[split];
      const least = split === "val" || end ? 1 : Math.max(1, Math.floor(table.rows.length * GROWTH));
      if (table.fresh < least) return [];
      table.fresh = 0;
      return [written(keys[split], columnsOf(split), table.rows, step)];
    });
  }
}
