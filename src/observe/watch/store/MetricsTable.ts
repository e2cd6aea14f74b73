/**
 * The metrics of a run as columns by name, from metrics.jsonl as it grows. A value that a step did not measure is NaN here and
 * absent outside. Memory: 8 bytes for each step and name, and 24 for each step.
 */
import { parseObject } from "../../../support/files/readLines.ts";
import type { Curves } from "../Api.ts";
import { Column, evenly } from "./Column.ts";
import type { LineFollower } from "./Tail.ts";

/** A run has some hundreds of names; a file with more is not a run's. */
const MOST_NAMES = 4_096;

interface Bucket {
  mean: number | null;
  min: number | null;
  max: number | null;
}

export class MetricsTable implements LineFollower {
  readonly #steps = new Column();
  readonly #times = new Column();
  readonly #offsets = new Column();
  readonly #columns = new Map<string, Column>();

  readonly line = (line: Buffer, offset: number): void => {
    const record = parseObject(line);
    if (record === null) return;
    const { step, time, ...metrics } = record;
    if (typeof step !== "number" || typeof time !== "number") return;
    const row = this.#steps.length;
    this.#steps.push(step);
    this.#times.push(time);
    this.#offsets.push(offset);
    for (const name in metrics) {
      const value = metrics[name];
      if (typeof value === "number") this.#column(name)?.set(row, value);
    }
  };

  readonly cut = (offset: number): void => {
    const rows = this.#offsets.countBelow(offset);
    for (const column of [this.#steps, this.#times, this.#offsets, ...this.#columns.values()]) column.cut(rows);
  };

  /** Names that at least one step measured, sorted. */
  names(): readonly string[] {
    return [...this.#columns]
      .filter(([, column]) => column.length > 0)
      .map(([name]) => name)
      .sort();
  }

  lastStep(): number | null {
    const rows = this.#steps.length;
    return rows === 0 ? null : this.#steps.at(rows - 1);
  }

  span(): { readonly first: number; readonly last: number } | null {
    const rows = this.#times.length;
    return rows === 0 ? null : { first: this.#times.at(0), last: this.#times.at(rows - 1) };
  }

  /** The curves over the steps `from` to `to`, in at most `points` buckets of equally many records. */
  curves(names: readonly string[], from: number, to: number, points: number): Curves {
    const first = this.#steps.countBelow(from);
    const end = Math.max(first, this.#steps.countUpTo(to));
    const lasts = evenly(first, end, points);
    const series = names.map((name) => {
      const column = this.#columns.get(name);
      const buckets = lasts.map((last, i) => bucketOf(column, i === 0 ? first : (lasts[i - 1] ?? 0) + 1, last));
      return {
        name,
        mean: buckets.map(({ mean }) => mean),
        min: buckets.map(({ min }) => min),
        max: buckets.map(({ max }) => max),
      };
    });
    return {
      steps: lasts.map((row) => this.#steps.at(row)),
      times: lasts.map((row) => this.#times.at(row)),
      series,
    };
  }

  /** The lines of a CSV table, with a head, in pieces of at most `rows` lines. */
  *csv(names: readonly string[], rows = 1_000): Generator<string> {
    yield `${["step", "time", ...names].map(textCell).join(",")}\n`;
    const columns = names.map((name) => this.#columns.get(name));
    for (let from = 0; from < this.#steps.length; from += rows) {
      const lines: string[] = [];
      for (let row = from; row < Math.min(from + rows, this.#steps.length); row++) {
        const values = columns.map((column) => cellValue(column?.at(row) ?? Number.NaN));
        lines.push(`${[this.#steps.at(row), this.#times.at(row), ...values].join(",")}\n`);
      }
      yield lines.join("");
    }
  }

  #column(name: string): Column | undefined {
    const existing = this.#columns.get(name);
    if (existing !== undefined || this.#columns.size >= MOST_NAMES) return existing;
    const column = new Column();
    this.#columns.set(name, column);
    return column;
  }
}

const bucketOf = (column: Column | undefined, first: number, last: number): Bucket => {
  let [sum, count, min, max] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = first; column !== undefined && row <= last; row++) {
    const value = column.at(row);
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return count === 0 ? { mean: null, min: null, max: null } : { mean: sum / count, min, max };
};

const cellValue = (value: number): string => (Number.isNaN(value) ? "" : String(value));

/** A text as a cell. A text that a spreadsheet would take for a formula is quoted. */
const textCell = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
