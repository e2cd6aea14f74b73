/**
 * The slider's scale: positions are steps, so that a pause of a night takes no more room than a step, and a moment inside a step lies
 * between its ends. Invariant: `timeAt` and `positionAt` are inverse on [0, end], and both grow.
 */
import type { Timeline } from "../../Api.ts";

interface Point {
  readonly at: number;
  readonly position: number;
}

export interface Scale {
  /** At least two points; both coordinates grow. */
  readonly points: readonly [Point, Point, ...Point[]];
  /** Greatest position. */
  readonly end: number;
}

/** The share of a step that the time after the newest closed step counts for. */
const tailOf = (points: readonly Point[], to: number): number => {
  const last = points.at(-1)!;
  const mean = last.position > 0 ? (last.at - points[0]!.at) / last.position : 0;
  return mean > 0 ? Math.min(0.999, (to - last.at) / mean) : 1;
};

/** The scale of a run; `to` is later than the timeline's own end while the run goes on. */
export const scaleOf = (timeline: Timeline, newest: { readonly at: number; readonly step: number } | null): Scale => {
  const points: Point[] = [{ at: timeline.from, position: 0 }];
  const add = (at: number, position: number): void => {
    const last = points.at(-1)!;
    if (at > last.at && position > last.position) points.push({ at, position });
  };
  for (const { at, step } of timeline.steps) add(at, step);
  if (newest !== null && newest.step > points.at(-1)!.position) add(newest.at, newest.step);
  const to = Math.max(timeline.to, newest?.at ?? 0, points.at(-1)!.at);
  if (to > points.at(-1)!.at) add(to, points.at(-1)!.position + tailOf(points, to));
  if (points.length === 1) points.push({ at: timeline.from + 1, position: 1 });
  const [first, second, ...rest] = points;
  return { points: [first!, second!, ...rest], end: points.at(-1)!.position };
};

const clamped = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

const between = (scale: Scale, key: "at" | "position", value: number, to: "at" | "position"): number => {
  const { points } = scale;
  // Bisection: a run of 10^5 steps is asked for on every frame of a drag.
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle]![key] <= value) low = middle;
    else high = middle;
  }
  const [a, b] = [points[low]!, points[high]!];
  const share = clamped((value - a[key]) / (b[key] - a[key]), 0, 1);
  return a[to] + share * (b[to] - a[to]);
};

export const positionAt = (scale: Scale, at: number): number => between(scale, "at", at, "position");
export const timeAt = (scale: Scale, position: number): number => between(scale, "position", position, "at");

/** Steps that are closed at a moment. */
export const stepAt = (scale: Scale, at: number): number => Math.floor(positionAt(scale, at) + 1e-6);

/** The moment `by` whole steps away, from the nearest whole step on. */
export const moved = (scale: Scale, at: number, by: number): number => {
  const position = positionAt(scale, at);
  const whole = by > 0 ? Math.floor(position + 1e-6) : Math.ceil(position - 1e-6);
  return timeAt(scale, clamped(whole + by, 0, scale.end));
};
