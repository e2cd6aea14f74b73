/**
 * The report of a run of benches: tables to read, and one JSON file per day, commit and measured checkout. A row that is measured again replaces
 * the old one.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type Figure, met, type Target } from "./Bench.ts";
import type { GemmUnit } from "./gemmUnit.ts";
import type { Machine } from "./machine.ts";

/** One bench's figures beside the unit its process measured. */
export interface Row {
  readonly bench: string;
  readonly question: string;
  /** GFLOP/s. */
  readonly gemm: GemmUnit;
  readonly seconds: number;
  readonly figures: readonly Figure[];
}

export interface Report {
  readonly machine: Machine;
  readonly rows: readonly Row[];
}

/** Three significant digits at least. */
const short = (value: number): string => {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 1e-9))));
  return value.toFixed(Math.min(digits, 6));
};

const bound = (target: Target | undefined): string => {
  if (target === undefined) return "";
  return "atLeast" in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`;
};

const verdict = (figure: Figure): string => {
  const is = met(figure);
  if (is === undefined) return "";
  return is ? "met" : "MISSED";
};

const header = ["figure", "value", "IQR", "unit", "target", ""] as const;

export const table = ({ bench, figures, gemm, question, seconds }: Row): string => {
  const lines = figures.map((figure) => [
    figure.name,
    short(figure.value),
    figure.iqr === undefined ? "" : short(figure.iqr),
    figure.unit,
    bound(figure.target),
    verdict(figure),
  ]);
  const widths = header.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]!.length)));
  const format = (line: readonly string[]): string =>
    `  ${line
      .map((cell, column) =>
        column === 1 || column === 2 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join("  ")
      .trimEnd()}`;
  const unit = `GEMM unit ${short(gemm.one.median)} / ${short(gemm.two.median)} GFLOP/s`;
  return [`${bench}: ${question} (${unit}, ${seconds.toFixed(0)} s)`, format(header), ...lines.map(format)].join("\n");
};

const isReport = (value: unknown): value is Report => typeof value === "object" && value !== null && "rows" in value;

/** Returns the name of a report: `<day>-<commit>.json`, or `<day>-<commit>-<folder>.json` where `checkout` is the one measured instead. */
export const reportName = (day: string, commit: string, checkout: string | undefined): string =>
  [day, commit, ...(checkout ? [basename(resolve(checkout))] : [])].join("-").concat(".json");

/** Writes a report and gives its path; rows of other benches already in it stay. */
export const save = async (folder: string, name: string, report: Report): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  const text = await readFile(file, "utf8").catch(() => "null");
  const before: unknown = JSON.parse(text);
  const fresh = new Set(report.rows.map(({ bench }) => bench));
  const kept = isReport(before) ? before.rows.filter(({ bench }) => !fresh.has(bench)) : [];
  await writeFile(file, `${JSON.stringify({ ...report, rows: [...kept, ...report.rows] }, null, 2)}\n`);
  return file;
};
