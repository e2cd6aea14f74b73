/**
 * What is believed of how a service's time grows with the calls it has at once: weights over a family of curves, from few measured points. A
 * curve is flat up to its room, and above that grows by a power, with a sharp or a soft bend between.
 * Invariant: a belief is a function of its points; the more of them agree, the fewer curves have weight.
 */

/** Mean service time at a level of calls in service; `error` is that of its logarithm. */
export interface Point {
  readonly level: number;
  readonly serviceMs: number;
  readonly error: number;
}

interface Shape {
  readonly room: number;
  readonly power: number;
  readonly bend: number;
}

interface Weighted extends Shape {
  /** Logarithm of the time of a call that is alone. */
  readonly alone: number;
  readonly weight: number;
}

export type Curve = readonly Weighted[];

const MOST_ROOM = 2048;
/** Rooms are this far apart. */
const APART = 1.06;
const POWERS = [0.3, 0.6, 1, 1.25, 1.5, 2, 3];
const BENDS = [1, 3, 12];
/** Points of one service are not quite independent, and no curve is quite right: their evidence is divided by this. */
const TEMPER = 2;
/** Curves of less than this share of the largest weight are left out. */
const SLIGHT = 1e-3;

const rooms = Array.from({ length: Math.ceil(Math.log(MOST_ROOM) / Math.log(APART)) }, (_, i) => APART ** i);
const family: readonly Shape[] = rooms.flatMap((room) =>
  POWERS.flatMap((power) => BENDS.map((bend) => ({ room, power, bend }))),
);

/** Logarithm of the factor by which calls take longer than one alone. */
const crowding = ({ bend, power, room }: Shape, level: number): number => {
  const above = power * bend * Math.log(level / room);
  return (above > 30 ? above : Math.log1p(Math.exp(above))) / bend;
};

const fitted = (shape: Shape, points: readonly Point[]): { readonly alone: number; readonly misfit: number } => {
  let [total, sum, squares] = [0, 0, 0];
  for (const { error, level, serviceMs } of points) {
    const weight = 1 / error ** 2;
    const value = Math.log(serviceMs) - crowding(shape, level);
    total += weight;
    sum += weight * value;
    squares += weight * value ** 2;
  }
  return { alone: sum / total, misfit: Math.max(0, squares - sum ** 2 / total) };
};

export const of = (points: readonly Point[]): Curve => {
  const fits = family.map((shape) => ({ ...shape, ...fitted(shape, points) }));
  const least = fits.reduce((low, { misfit }) => Math.min(low, misfit), Number.POSITIVE_INFINITY);
  const likely = fits
    .map(({ misfit, ...fit }) => ({ ...fit, weight: Math.exp((least - misfit) / (2 * TEMPER)) }))
    .filter(({ weight }) => weight > SLIGHT);
  const total = likely.reduce((sum, { weight }) => sum + weight, 0);
  return likely.map((fit) => ({ ...fit, weight: fit.weight / total }));
};

/** The logarithm of the service time expected at a level, and its standard deviation. */
export const expected = (curve: Curve, level: number): { readonly mean: number; readonly error: number } => {
  const values = curve.map((shape) => shape.alone + crowding(shape, level));
  const mean = curve.reduce((sum, { weight }, i) => sum + weight * values[i]!, 0);
  const variance = curve.reduce((sum, { weight }, i) => sum + weight * (values[i]! - mean) ** 2, 0);
  return { mean, error: Math.sqrt(variance) };
};

const gains = (curve: Curve, from: number, to: number, of: (gain: number) => number): number => {
  const longer = Math.log(to / from);
  return curve.reduce(
    (sum, shape) => sum + shape.weight * of(Math.exp(longer + crowding(shape, from) - crowding(shape, to)) - 1),
    0,
  );
};

/** Share of throughput that `to` calls at once are expected to give beyond `from`. */
export const gain = (curve: Curve, from: number, to: number): number => gains(curve, from, to, (one) => one);

/** The same, curves by which it loses counting as no gain: what to hope for of a change that can be taken back. */
export const improvement = (curve: Curve, from: number, to: number): number =>
  gains(curve, from, to, (one) => Math.max(0, one));
