/** The table of runs as data: its columns, which keys of the configuration are among them, and the order of its rows. Pure. */
import type { Comparison, RunCard } from "../../Api.ts";

export interface RunRow {
  readonly run: RunCard;
  /** Undefined until it is read. */
  readonly summary: Comparison["summaries"][string] | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

/** The value by which a row is sorted; null if it was not measured. */
type Value = number | string | null;

export interface RunColumn {
  readonly key: string;
  readonly title: string;
  readonly isNumber: boolean;
  readonly valueIn: (row: RunRow) => Value;
}

const number = (key: string, title: string, valueIn: RunColumn["valueIn"]): RunColumn => ({
  key,
  title,
  isNumber: true,
  valueIn,
});
const text = (key: string, title: string, valueIn: RunColumn["valueIn"]): RunColumn => ({
  key,
  title,
  isNumber: false,
  valueIn,
});

export const resultColumns: readonly RunColumn[] = [
  text("run", "run", ({ run }) => `${run.name} ${run.stamp}`),
  text("state", "state", ({ run }) => run.state),
  number("before", "val before", ({ summary }) => summary?.validation.before?.success ?? null),
  number("best", "best", ({ summary }) => summary?.validation.best?.success ?? null),
  number("last", "last", ({ summary }) => summary?.validation.last?.success ?? null),
  number("steps", "steps", ({ run }) => run.step),
  number("minutes", "time", ({ summary }) => summary?.minutes ?? null),
];

export const lastColumns: readonly RunColumn[] = [number("started", "started", ({ run }) => run.started)];

const numeric = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A column of a key: numbers where all its values are. */
const settingColumn = (key: string, rows: readonly RunRow[]): RunColumn => {
  const values = rows.flatMap(({ settings }) => settings[key] ?? []);
  const isNumber = values.length > 0 && values.every((value) => numeric.test(value));
  const valueIn = ({ settings }: RunRow): Value => {
    const value = settings[key];
    if (value === undefined) return null;
    return isNumber ? Number(value) : value;
  };
  return { key: `setting ${key}`, title: key, isNumber, valueIn };
};

/** The division of the rows by a key: two keys with the same division distinguish the same runs. */
const divisionOf = (key: string, rows: readonly RunRow[]): string => {
  const values = rows.map(({ settings }) => settings[key]);
  return values.map((value) => values.indexOf(value)).join();
};

/** Columns of the keys in which the rows differ. The first ones each divide the rows in another way; those that repeat a division follow. */
export const settingColumns = (rows: readonly RunRow[]): readonly RunColumn[] => {
  const keys = [...new Set(rows.flatMap(({ settings }) => Object.keys(settings)))].sort();
  const differ = keys.filter((key) => new Set(rows.map(({ settings }) => settings[key])).size > 1);
  const alike = [...Map.groupBy(differ, (key) => divisionOf(key, rows)).values()];
  const chosen = [...alike.flatMap(([first]) => first ?? []), ...alike.flatMap(([, ...others]) => others)];
  return chosen.map((key) => settingColumn(key, rows));
};

export interface RowOrder {
  readonly key: string;
  readonly isDescending: boolean;
}

/** The order after a click on a column's head: numbers begin with the greatest, texts with the first, and a second click turns it. */
export const ordered = ({ isDescending, key }: RowOrder, column: RunColumn): RowOrder => ({
  key: column.key,
  isDescending: column.key === key ? !isDescending : column.isNumber,
});

const compared = (a: number | string, b: number | string): number =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });

/** Rows in an order; what was not measured comes last either way. */
export const sorted = (rows: readonly RunRow[], column: RunColumn, isDescending: boolean): readonly RunRow[] =>
  rows.toSorted((one, other) => {
    const [a, b] = [column.valueIn(one), column.valueIn(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return isDescending ? compared(b, a) : compared(a, b);
  });

/** Rows whose name, stamp, state or differing settings have every word. */
export const found = (rows: readonly RunRow[], words: string): readonly RunRow[] => {
  const all = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return rows.filter(({ run, settings }) => {
    const text = `${run.name} ${run.stamp} ${run.state} ${Object.entries(settings)
      .map((pair) => pair.join("="))
      .join(" ")}`;
    return all.every((word) => text.toLowerCase().includes(word));
  });
};
