/** The geometry of a small chart: scales, round ticks and the nearest step to a place. Pure. */

export interface Range {
  readonly least: number;
  readonly greatest: number;
}

/** Of all finite numbers; null where there are none. */
export const rangeOf = (lists: readonly (readonly (number | null)[])[]): Range | null => {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (const list of lists) {
    for (const value of list) {
      if (value === null || !Number.isFinite(value)) continue;
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
  }
  return least > greatest ? null : { least, greatest };
};

/** With room above and below; a single number gets some on either side. Shares stay between 0 and 1. */
export const padded = ({ greatest, least }: Range, share: boolean): Range => {
  const span = greatest - least;
  const room = span === 0 ? Math.max(Math.abs(greatest) * 0.1, 1e-6) : span * 0.06;
  const wider = { least: least - room, greatest: greatest + room };
  if (!share) return wider;
  return { least: Math.max(0, wider.least), greatest: Math.min(1, wider.greatest) };
};

/** Two to about `most` round numbers within the range. */
export const ticksOf = ({ greatest, least }: Range, most: number): readonly number[] => {
  const span = greatest - least;
  if (!(span > 0)) return [least];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power;
  const first = Math.ceil(least / step);
  const count = Math.floor(greatest / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
};

export interface Axis extends Range {
  /** Pixels of the least and the greatest number. */
  readonly from: number;
  readonly to: number;
}

export const place = ({ from, greatest, least, to }: Axis, value: number): number =>
  greatest === least ? (from + to) / 2 : from + ((value - least) / (greatest - least)) * (to - from);

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the measured values lie; what was not measured has no point. */
export const pointsOf = (
  steps: readonly number[],
  values: readonly (number | null)[],
  x: Axis,
  y: Axis,
): readonly Point[] =>
  steps.flatMap((step, at) => {
    const value = values[at];
    if (value === null || value === undefined || !Number.isFinite(value)) return [];
    return [{ x: place(x, step), y: place(y, value) }];
  });

/** An SVG path from point to point. */
export const lineThrough = (points: readonly Point[]): string =>
  points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Index of the entry nearest to `value`; -1 of none. */
export const nearest = (values: readonly number[], value: number): number => {
  let best = -1;
  for (const [at, one] of values.entries()) {
    if (best < 0 || Math.abs(one - value) < Math.abs((values[best] ?? 0) - value)) best = at;
  }
  return best;
};
