/**
 * The arithmetic of a softmax over one row of logits, as WebAssembly with packed numbers. The row is cut into blocks, so that a draw first
 * searches block sums, and blocks far below the maximum cost nothing. Invariants: weights and sums are float64; every operation has one
 * defined rounding, so the bits are the same on every processor.
 */
import {
  add32,
  allTrue,
  and,
  and32,
  anyTrue,
  atLeast,
  type Code,
  f64,
  f64x2,
  get,
  i32,
  i64x2,
  lane32,
  larger,
  load,
  loadHigh,
  loadLow,
  moduleOf,
  notEqual,
  numbered,
  or,
  repeat,
  set,
  shiftLeft32,
  smaller,
  splat,
  store,
  type WasmFunction,
  when,
} from "../model/wasm/WasmCode.ts";

/** Ids of a block. */
export const BLOCK = 128;

const PAGE = 65_536;
const BLOCK_BYTES = 4 * BLOCK;
const VECTOR_BYTES = 16;
/** Four maxima and four minima are kept of a block. */
export const EXTREMES = 8;
const EXTREMES_BYTES = 4 * EXTREMES;

/** Entries of the table of powers of two between 1 and 2. */
const STEP_BITS = 11;
const STEPS = 2 ** STEP_BITS;
/** Natural logarithm of the ratio of neighbours in the table. Exponents are counted in it. */
const STEP = Math.LN2 / STEPS;

/**
 * Between entries e^r is taken as 1 + (1 + h^2 / 8) r + r^2 / 2, where h is half a step, the end of the range; the error is at most h^3 / 24,
 * 2e-13. It is computed as ((f + CENTRE)^2 + REST) / SCALE, where r is f steps. The table's entries are divided by SCALE beforehand.
 */
const SCALE = Math.round(2 / STEP ** 2);
const CENTRE = ((1 + (STEP / 2) ** 2 / 8) * STEP * SCALE) / 2;
const REST = SCALE - CENTRE ** 2;

/** A float64 below 2^51 that is added to this is rounded to an integer, whose bits are the low bits of the sum. */
const ROUNDER = 1.5 * 2 ** 52;

/** Byte offsets in the kernel's memory. The row is followed by the extremes of its blocks and by their sums. */
export const OFFSET = {
  table: 0,
  /** Four maxima, of which the largest is the row's. */
  largest: 8 * STEPS,
  /** Four masks: not 0 if the row has a NaN. */
  notNumbers: 8 * STEPS + VECTOR_BYTES,
  /** Two sums of weight times exponent, in steps. */
  moment: 8 * STEPS + 2 * VECTOR_BYTES,
  /** The weights of one block. */
  weights: 8 * STEPS + 3 * VECTOR_BYTES,
  row: 8 * STEPS + 3 * VECTOR_BYTES + 8 * BLOCK,
} as const;

/** Returns where the parts of a row of so many blocks end, in bytes of the kernel's memory. */
export const endsOf = (blocks: number) => {
  const row = OFFSET.row + BLOCK_BYTES * blocks;
  const extremes = row + EXTREMES_BYTES * blocks;
  return { row, extremes, sums: extremes + VECTOR_BYTES * blocks } as const;
};

const vectors = (count: number) => Array.from({ length: count }, () => "v128" as const);
const four = [0, 1, 2, 3] as const;

/** Finds the largest logit, and the four maxima and minima of each block. A block takes four at a time, so that none waits for another. */
const findExtremes = (): WasmFunction => {
  const { end, extremes, place } = numbered(["end", "place", "extremes"]);
  const [maxima, minima, value, largest, notNumbers] = [3, 7, 11, 12, 13];
  const merge = (pick: (a: Code, b: Code) => Code, first: number): Code =>
    pick(pick(get(first), get(first + 1)), pick(get(first + 2), get(first + 3)));
  const compare = (index: number): Code => {
    const [high, low] = [maxima + (index % 4), minima + (index % 4)];
    return [
      ...set(value, load(get(place), VECTOR_BYTES * index)),
      ...set(high, larger(get(high), get(value))),
      ...set(low, smaller(get(low), get(value))),
      ...set(notNumbers, or(get(notNumbers), notEqual(get(value), get(value)))),
    ];
  };
  const block = [
    ...four.flatMap((i) => [maxima + i, minima + i].flatMap((local) => set(local, load(get(place), 0)))),
    ...Array.from({ length: BLOCK_BYTES / VECTOR_BYTES }, (_, index) => compare(index)).flat(),
    ...set(maxima, merge(larger, maxima)),
    ...store(get(extremes), 0, get(maxima)),
    ...store(get(extremes), VECTOR_BYTES, merge(smaller, minima)),
    ...set(largest, larger(get(largest), get(maxima))),
    ...set(extremes, add32(get(extremes), i32(EXTREMES_BYTES))),
  ];
  return {
    name: "findExtremes",
    parameters: ["i32"],
    locals: ["i32", "i32", ...vectors(11)],
    body: [
      ...set(place, i32(OFFSET.row)),
      ...set(extremes, get(end)),
      ...set(largest, load(get(place), 0)),
      ...repeat(place, end, BLOCK_BYTES, block),
      ...store(i32(0), OFFSET.largest, get(largest)),
      ...store(i32(0), OFFSET.notNumbers, get(notNumbers)),
    ],
  };
};

/** Locals of the functions that compute weights. Their parameters are an address to read from, one to write to, and numbers of the row. */
const local = numbered([
  ...(["from", "to", "largest", "rate", "limit"] as const),
  ...(["place", "blockEnd", "extremes", "end"] as const),
  ...(["largests", "rates", "limits", "limits64", "rounder", "centre", "rest"] as const),
  ...(["isKept", "exponent", "rounded", "weight", "sum", "moment"] as const),
]);
const WEIGHING_LOCALS: WasmFunction["locals"] = ["i32", "i32", "i32", "i32", ...vectors(13)];
const WEIGHING_PARAMETERS: WasmFunction["parameters"] = ["i32", "i32", "f64", "f64", "f32"];

const constants = (): Code => [
  ...set(local.largests, f64x2.splat(get(local.largest))),
  ...set(local.rates, f64x2.splat(get(local.rate))),
  ...set(local.limits, splat(get(local.limit))),
  ...set(local.limits64, f64x2.fromFloat32(get(local.limits))),
  ...set(local.rounder, f64x2.splat(f64(ROUNDER))),
  ...set(local.centre, f64x2.splat(f64(CENTRE))),
  ...set(local.rest, f64x2.splat(f64(REST))),
];

/** Address of the table's entry for one of the two rounded exponents. */
const entry = (lane: 0 | 2): Code => shiftLeft32(and32(lane32(get(local.rounded), lane), i32(STEPS - 1)), 3);

/** Leaves the weights and exponents of the two logits at `place` in their locals. `isCut` makes weights below the limit 0. */
const weighPair = (isCut: boolean): Code => {
  const { centre, exponent, isKept, rest, rounded, rounder, weight } = local;
  const logits = f64x2.fromFloat32(loadLow(get(local.place), 0));
  const power = loadHigh(entry(2), OFFSET.table, loadLow(entry(0), OFFSET.table));
  const toNearest = f64x2.sub(get(exponent), f64x2.sub(get(rounded), get(rounder)));
  const square = f64x2.mul(get(weight), get(weight));
  const cut = (value: number): Code => (isCut ? set(value, and(get(value), get(isKept))) : []);
  return [
    ...set(weight, logits),
    ...(isCut ? set(isKept, f64x2.atLeast(get(weight), get(local.limits64))) : []),
    ...set(exponent, f64x2.mul(f64x2.sub(get(weight), get(local.largests)), get(local.rates))),
    // A logit of -Infinity would make the moment NaN.
    ...cut(exponent),
    ...set(rounded, f64x2.add(get(exponent), get(rounder))),
    ...set(weight, f64x2.add(toNearest, get(centre))),
    // Whole octaves are added to the exponent's bits; the table makes up for the step bits, which the shift leaves beside them.
    ...set(rounded, i64x2.add(i64x2.shiftLeft(get(rounded), 52 - STEP_BITS), power)),
    ...set(weight, f64x2.mul(get(rounded), f64x2.add(square, get(rest)))),
    ...cut(weight),
  ];
};

/** Adds up each block's weights, and the row's weights times exponents. A block whose maxima are below the limit is skipped. */
const weigh = (): WasmFunction => {
  const { blockEnd, end, extremes, from, limits, moment, place, sum, to } = local;
  const addPairs = (isCut: boolean): Code =>
    repeat(place, blockEnd, 8, [
      ...weighPair(isCut),
      ...set(sum, f64x2.add(get(sum), get(local.weight))),
      ...set(moment, f64x2.add(get(moment), f64x2.mul(get(local.weight), get(local.exponent)))),
    ]);
  const hasAny = anyTrue(atLeast(load(get(extremes), 0), get(limits)));
  const hasAll = allTrue(atLeast(load(get(extremes), VECTOR_BYTES), get(limits)));
  const block = [
    ...set(sum, f64x2.splat(f64(0))),
    ...set(blockEnd, add32(get(place), i32(BLOCK_BYTES))),
    ...when(hasAny, when(hasAll, addPairs(false), addPairs(true))),
    ...set(place, get(blockEnd)),
    ...store(get(to), 0, get(sum)),
    ...set(to, add32(get(to), i32(VECTOR_BYTES))),
  ];
  return {
    name: "weigh",
    parameters: WEIGHING_PARAMETERS,
    locals: WEIGHING_LOCALS,
    body: [
      ...constants(),
      ...set(place, i32(OFFSET.row)),
      ...set(extremes, get(from)),
      // The sums begin where the extremes end.
      ...set(end, get(to)),
      ...repeat(extremes, end, EXTREMES_BYTES, block),
      ...store(i32(0), OFFSET.moment, get(moment)),
    ],
  };
};

/** Writes the weights of one block. */
const weighBlock = (): WasmFunction => {
  const { blockEnd, from, place, to, weight } = local;
  return {
    name: "weighBlock",
    parameters: WEIGHING_PARAMETERS,
    locals: WEIGHING_LOCALS,
    body: [
      ...constants(),
      ...set(place, get(from)),
      ...set(blockEnd, add32(get(place), i32(BLOCK_BYTES))),
      ...repeat(place, blockEnd, 8, [
        ...weighPair(true),
        ...store(get(to), 0, get(weight)),
        ...set(to, add32(get(to), i32(VECTOR_BYTES))),
      ]),
    ],
  };
};

const module = new WebAssembly.Module(moduleOf([findExtremes(), weigh(), weighBlock()], 1));

/** Bits of e^(i STEP) / SCALE, less the bits that the shifted step index adds to them. */
const table = new BigInt64Array(Float64Array.from({ length: STEPS }, (_, i) => Math.exp(i * STEP) / SCALE).buffer).map(
  (bits, i) => bits - (BigInt(i) << BigInt(52 - STEP_BITS)),
);

/** Weights are e^((logit - largest) rate STEP), and 0 for logits below `limit`, which is finite. */
type Weigh = (from: number, to: number, largest: number, rate: number, limit: number) => void;

export interface Kernel {
  readonly memory: ArrayBuffer;
  /** Takes the end of the row, where it writes the extremes. */
  readonly findExtremes: (end: number) => void;
  /** Reads the row and the extremes, which begin at `from`, and writes sums from `to`. */
  readonly weigh: Weigh;
  /** Reads the logits of one block from `from`, and writes their weights to `to`. */
  readonly weighBlock: Weigh;
}

/** Steps of the exponential in one nat. */
export const STEPS_PER_NAT = 1 / STEP;

/** Makes a kernel whose memory has room for so many blocks. */
export const openKernel = (blocks: number): Kernel => {
  const { exports } = new WebAssembly.Instance(module);
  const memory = exports.memory as WebAssembly.Memory;
  memory.grow(Math.ceil(endsOf(blocks).sums / PAGE));
  new BigInt64Array(memory.buffer, OFFSET.table, STEPS).set(table);
  const { findExtremes, weigh, weighBlock } = exports as unknown as Omit<Kernel, "memory">;
  return { memory: memory.buffer, findExtremes, weigh, weighBlock };
};
