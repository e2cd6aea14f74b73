/**
 * A belief about how a service's time grows with the calls it has at once: weights over a family of curves, from few measured points. A
 * curve is flat up to its room, and above that grows by a power, with a sharp or a soft bend between.
 * Invariant: a belief is a function of its points; the more of them agree, the fewer curves have weight.
 */

/** Mean service time at a level of calls in service; `error` is that of its logarithm. */
export interface Point {
  readonly level: number;
  readonly serviceMs: number;
  readonly error: number;
}

/** Logarithm of crowding at a level: `softplus(slope · log(level / room)) / bend`, where the slope is power times bend. */
interface Shape {
  readonly slope: number;
  readonly room: number;
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
/** Curves of less than this share of the largest weight are left out. */
const SLIGHT = 1e-3;

const rooms = Array.from({ length: Math.ceil(Math.log(MOST_ROOM) / Math.log(APART)) }, (_, i) => i * Math.log(APART));
/** Rooms as logarithms. */
const family: readonly Shape[] = rooms.flatMap((room) =>
  POWERS.flatMap((power) => BENDS.map((bend) => ({ slope: power * bend, room, bend }))),
);

/** Beyond it, softplus is 0 or its argument; between, it is read off a table, since a fit takes a hundred thousand of them. */
const SPAN = 32;
const PER_UNIT = 64;
const table = Float64Array.from({ length: 2 * SPAN * PER_UNIT + 2 }, (_, i) =>
  Math.log1p(Math.exp(i / PER_UNIT - SPAN)),
);

const softplus = (x: number): number => {
  if (x >= SPAN) return x;
  if (x <= -SPAN) return 0;
  const at = (x + SPAN) * PER_UNIT;
  const low = Math.floor(at);
  return table[low]! + (at - low) * (table[low + 1]! - table[low]!);
};

/** Logarithm of the factor by which calls take longer than one alone, at a level given as its logarithm. */
const crowding = ({ bend, room, slope }: Shape, level: number): number => softplus(slope * (level - room)) / bend;

interface Logarithms {
  readonly level: number;
  readonly time: number;
  readonly weight: number;
}

const logarithms = ({ error, level, serviceMs }: Point): Logarithms => ({
  level: Math.log(level),
  time: Math.log(serviceMs),
  weight: 1 / error ** 2,
});

const fitted = (shape: Shape, points: readonly Logarithms[]): { readonly alone: number; readonly misfit: number } => {
  let [total, sum, squares] = [0, 0, 0];
  for (const { level, time, weight } of points) {
    const value = time - crowding(shape, level);
    total += weight;
    sum += weight * value;
    squares += weight * value ** 2;
  }
  return { alone: sum / total, misfit: Math.max(0, squares - sum ** 2 / total) };
};

export const fit = (points: readonly Point[]): Curve => {
  const logs = points.map(logarithms);
  const fits = family.map((shape) => ({ ...shape, ...fitted(shape, logs) }));
  const least = fits.reduce((low, { misfit }) => Math.min(low, misfit), Number.POSITIVE_INFINITY);
  const likely = fits
    .map(({ misfit, ...fit }) => ({ ...fit, weight: Math.exp((least - misfit) / 2) }))
    .filter(({ weight }) => weight > SLIGHT);
  const total = likely.reduce((sum, { weight }) => sum + weight, 0);
  return likely.map((fit) => ({ ...fit, weight: fit.weight / total }));
};

/** The logarithm of the service time expected at a level, and its standard deviation. */
export const expected = (curve: Curve, level: number): { readonly mean: number; readonly error: number } => {
  const logLevel = Math.log(level);
  const values = curve.map((shape) => shape.alone + crowding(shape, logLevel));
  const mean = curve.reduce((sum, { weight }, i) => sum + weight * values[i]!, 0);
  const variance = curve.reduce((sum, { weight }, i) => sum + weight * (values[i]! - mean) ** 2, 0);
  return { mean, error: Math.sqrt(variance) };
};

const gains = (curve: Curve, from: number, to: number, part: (gain: number) => number): number => {
  const [a, b] = [Math.log(from), Math.log(to)];
  return curve.reduce(
    (sum, shape) => sum + shape.weight * part(Math.exp(b - a + crowding(shape, a) - crowding(shape, b)) - 1),
    0,
  );
};

/** Share of throughput that `to` calls at once are expected to give beyond `from`. */
export const gain = (curve: Curve, from: number, to: number): number => gains(curve, from, to, (one) => one);

/** The density and the distribution of the standard normal; the latter by the logistic approximation. */
const density = (z: number): number => Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);
const below = (z: number): number => 1 / (1 + Math.exp(-1.5976 * z - 0.07056 * z ** 3));

/**
 * Expected improvement: losses count as no gain, as a change can be taken back. `doubt` is how far the truth may lie from any curve, the
 * logarithm's standard deviation.
 */
export const improvement = (curve: Curve, from: number, to: number, doubt = 0): number =>
  gains(curve, from, to, (one) => {
    if (doubt <= 0) return Math.max(0, one);
    const z = one / doubt;
    return one * below(z) + doubt * density(z);
  });
