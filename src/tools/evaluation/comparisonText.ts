/** A comparison as cells of two tables: each model on its own, and each less the first. */

import type { Interval } from "../../domain/intervals.ts";
import type { Comparison, Pair, Row } from "./Comparison.ts";

const percent = (value: number): string => (100 * value).toFixed(1);

/** Percent, or points: `63.6 [60.4, 66.7]`. */
const shareText = ({ high, low, mean }: Interval): string => `${percent(mean)} [${percent(low)}, ${percent(high)}]`;

const signed = (value: number, text: (value: number) => string): string =>
  value > 0 ? `+${text(value)}` : text(value);

const pointsText = ({ high, low, mean }: Interval): string =>
  `${signed(mean, percent)} [${signed(low, percent)}, ${signed(high, percent)}]`;

const number = (value: number): string => value.toFixed(2);

const valueText = (interval: Interval | null): string =>
  interval === null ? "-" : `${number(interval.mean)} [${number(interval.low)}, ${number(interval.high)}]`;

const changeText = (interval: Interval | null): string => {
  if (interval === null) return "-";
  const { high, low, mean } = interval;
  return `${signed(mean, number)} [${signed(low, number)}, ${signed(high, number)}]`;
};

const probability = (p: number | null): string => (p === null ? "-" : p < 0.001 ? "<0.001" : p.toFixed(3));

const rowCells = ({ byTag, episodes, name, return: returned, success }: Row, tags: readonly string[]) => [
  name,
  String(episodes),
  shareText(success),
  ...tags.map((tag) => (byTag[tag] === undefined ? "-" : shareText(byTag[tag]))),
  valueText(returned),
];

const pairCells = ({ gained, instances, lost, name, p, return: returned, success }: Pair) => [
  name,
  String(instances),
  pointsText(success),
  gained === null || lost === null ? "-" : `+${gained} -${lost}`,
  probability(p),
  changeText(returned),
];

/** Rows of cells, the first one the head. */
export const rowTable = ({ rows }: Comparison): readonly (readonly string[])[] => {
  const tags = [...new Set(rows.flatMap(({ byTag }) => Object.keys(byTag)))];
  return [
    ["MODEL", "EPISODES", "SUCCESS %", ...tags.map((tag) => `${tag} %`), "RETURN"],
    ...rows.map((row) => rowCells(row, tags)),
  ];
};

export const pairTable = ({ pairs }: Comparison): readonly (readonly string[])[] => [
  ["LESS THE FIRST", "INSTANCES", "SUCCESS, POINTS", "SOLVED", "P", "RETURN"],
  ...pairs.map(pairCells),
];

export const legend =
  "95 % intervals: Wilson's of success where each instance was played once, else a bootstrap over instances; differences are paired by instance. P is McNemar's exact test.";
