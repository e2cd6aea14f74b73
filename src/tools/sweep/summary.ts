/** Summarises a metric's curve for a table. A curve is the values of one run by ascending steps; one without a value has no summary. */

export interface Value {
  readonly step: number;
  readonly value: number;
}

type Summary = (curve: readonly Value[]) => number;

/** Mean over the steps by the trapezoid rule: the area under the curve, over its width. The value itself where there is one step only. */
const area: Summary = (curve) => {
  let sum = 0;
  for (const [at, { step, value }] of curve.entries()) {
    const before = curve[at - 1];
    if (before !== undefined) sum += ((before.value + value) / 2) * (step - before.step);
  }
  const width = curve.at(-1)!.step - curve[0]!.step;
  return width === 0 ? curve.at(-1)!.value : sum / width;
};

export const summaries = {
  last: (curve) => curve.at(-1)!.value,
  best: (curve) => Math.max(...curve.map(({ value }) => value)),
  least: (curve) => Math.min(...curve.map(({ value }) => value)),
  area,
} as const satisfies Readonly<Record<string, Summary>>;

export type SummaryName = keyof typeof summaries;

/** The curve's value at the first step at which `other` has reached `target`; undefined if it never has. */
export const valueWhenReached = (
  curve: readonly Value[],
  other: readonly Value[],
  target: number,
): number | undefined => {
  const reached = other.find(({ value }) => value >= target);
  return reached === undefined ? undefined : curve.findLast(({ step }) => step <= reached.step)?.value;
};

/** Undefined of a curve without values. */
export const summaryOf = (name: SummaryName, curve: readonly Value[]): number | undefined =>
  curve.length === 0 ? undefined : summaries[name](curve);
