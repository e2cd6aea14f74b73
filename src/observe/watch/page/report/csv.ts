/** A metric's curves in a report as CSV: a line for each run and bucket of steps. */
import type { Curves } from "../../Api.ts";

/** Something with curves, and what its lines are called. */
interface Drawn {
  readonly card: { readonly id: string };
  readonly curves: Curves;
}

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const linesOf = (name: string, runs: readonly Drawn[]): readonly string[] => [
  "run,step,time,mean,min,max",
  ...runs.flatMap(({ card, curves: { series, steps, times } }) => {
    const found = series.find((one) => one.name === name);
    if (found === undefined) return [];
    return steps.flatMap((step, at) =>
      found.mean[at] === null || found.mean[at] === undefined
        ? []
        : [[quoted(card.id), step, times[at], found.mean[at], found.min[at], found.max[at]].join(",")],
    );
  }),
];

/** As an address that a browser saves. */
export const csvOf = (name: string, runs: readonly Drawn[]): string =>
  `data:text/csv;charset=utf-8,${encodeURIComponent(`${linesOf(name, runs).join("\n")}\n`)}`;
