/** A sink that writes a CSV file with one row a step into the run's folder. A metric that a step did not measure is an empty cell. */
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MetricKey } from "../../domain/metrics/Catalogue.ts";
import type { Sink } from "./Sink.ts";
import { sinkOf } from "./sinkOf.ts";

/** The columns beside the step, where the caller names none. */
const defaultColumns: readonly MetricKey[] = [
  "train/success",
  "train/charts/avg_episode_return",
  "val-env/success",
  "actor/entropy",
  "staleness/mean",
  "timing_s/step",
];

/** A cell as RFC 4180 writes it. */
const cellOf = (value: string | number): string =>
  /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

const rowOf = (cells: readonly (string | number)[]): string => `${cells.map(cellOf).join(",")}\n`;

/** The rows of a CSV file up to a step, without its head; none of a file that is not there. */
const rowsUntil = async (path: string, step: number): Promise<string> => {
  const text = await readFile(path, "utf8").catch(() => "");
  const rows = text.split("\n").slice(1, -1);
  return rows
    .filter((row) => Number.parseInt(row, 10) <= step)
    .map((row) => `${row}\n`)
    .join("");
};

/**
 * A sink that writes a CSV file in the run's folder, one row a step. A resumed run goes on in the file it has, without the rows of steps that it
 * makes again.
 */
export const csv = (name: string, columns: readonly MetricKey[] = defaultColumns): Sink => {
  let path = "";
  return sinkOf({
    name: "csv",
    open: async ({ folder, from }) => {
      path = join(folder, name);
      await writeFile(path, rowOf(["step", ...columns]) + (from === 0 ? "" : await rowsUntil(path, from)));
    },
    step: ({ metrics, step }) => {
      const values = new Map<string, number>(metrics);
      return appendFile(path, rowOf([step, ...columns.map((column) => values.get(column) ?? "")]));
    },
  });
};
