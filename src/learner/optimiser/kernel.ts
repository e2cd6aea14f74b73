/**
 * The arithmetic of AdamW over a chunk of numbers, as WebAssembly with packed float32. Every operation rounds to float32, in the order of
 * the formula. Chunks are copied into the kernel's memory and stay in the processor's cache. Invariant: `examine` and `step` compute the
 * same bits; `examine` keeps none of them.
 */
import {
  add,
  type Code,
  div,
  every16,
  get,
  i32,
  largest,
  load,
  moduleOf,
  mul,
  set,
  splat,
  sqrt,
  store,
  sub,
} from "../../model/wasm/WasmCode.ts";

/** Numbers of a chunk; four arrays of them fit a core's second-level cache. */
export const CHUNK = 8192;

const BYTES = CHUNK * 4;
/** Byte offsets of the four arrays and the results in the kernel's memory. */
const OFFSET = { parameters: 0, gradient: BYTES, first: 2 * BYTES, second: 3 * BYTES, results: 4 * BYTES } as const;
const PAGE = 65_536;

/** The factors of one step, in the order of the functions' parameters. */
export interface Factors {
  /** Clips the gradient. */
  readonly scale: number;
  readonly beta1: number;
  readonly oneMinusBeta1: number;
  readonly beta2: number;
  readonly oneMinusBeta2: number;
  /** 1 / sqrt(1 - beta2^t) */
  readonly rootCorrection: number;
  readonly eps: number;
  /** lr / (1 - beta1^t) */
  readonly stepSize: number;
  /** 1 - lr decay */
  readonly keep: number;
}

/** Indices of a step's locals: byte count, nine factors, the factors as vectors, loop position, computed vectors, largest magnitudes. */
const BYTE_COUNT = 0;
const FACTORS = 9;
const FACTOR = 1 + FACTORS;
const PLACE = FACTOR + FACTORS;
const [GRADIENT, FIRST, SECOND, NEXT] = [PLACE + 1, PLACE + 2, PLACE + 3, PLACE + 4];
const LARGEST = NEXT + 1;

const factor = (index: number): Code => get(FACTOR + index);
const [SCALE, BETA1, REST1, BETA2, REST2, ROOT, EPS, STEP_SIZE, KEEP] = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(factor) as [
  Code,
  Code,
  Code,
  Code,
  Code,
  Code,
  Code,
  Code,
  Code,
];

/** AdamW (Loshchilov and Hutter 2019), with decay and the corrections of the moments folded into factors of the step. */
const update = (): Code => [
  ...set(GRADIENT, mul(load(get(PLACE), OFFSET.gradient), SCALE)),
  ...set(FIRST, add(mul(load(get(PLACE), OFFSET.first), BETA1), mul(get(GRADIENT), REST1))),
  ...set(SECOND, add(mul(load(get(PLACE), OFFSET.second), BETA2), mul(mul(get(GRADIENT), get(GRADIENT)), REST2))),
  ...set(
    NEXT,
    sub(
      mul(load(get(PLACE), OFFSET.parameters), KEEP),
      mul(div(get(FIRST), add(mul(sqrt(get(SECOND)), ROOT), EPS)), STEP_SIZE),
    ),
  ),
  ...[NEXT, FIRST, SECOND].flatMap((local, i) => set(LARGEST + i, largest(get(LARGEST + i), get(local)))),
];

const storeResults = (): Code => [
  ...store(get(PLACE), OFFSET.parameters, get(NEXT)),
  ...store(get(PLACE), OFFSET.first, get(FIRST)),
  ...store(get(PLACE), OFFSET.second, get(SECOND)),
];

const results = (locals: readonly number[]): Code =>
  locals.flatMap((local, i) => store(i32(0), OFFSET.results + 16 * i, get(local)));

const stepping = (name: string, write: boolean) => ({
  name,
  parameters: ["i32", ...Array.from({ length: FACTORS }, () => "f32" as const)] as const,
  locals: [
    ...Array.from({ length: FACTORS }, () => "v128" as const),
    "i32" as const,
    ...Array.from({ length: 7 }, () => "v128" as const),
  ],
  body: [
    ...Array.from({ length: FACTORS }, (_, i) => set(FACTOR + i, splat(get(1 + i)))).flat(),
    ...every16(PLACE, BYTE_COUNT, [...update(), ...(write ? storeResults() : [])]),
    ...results([LARGEST, LARGEST + 1, LARGEST + 2]),
  ],
});

/** Sums squares of the gradient's chunk into four partial sums. */
const squares = {
  name: "squares",
  parameters: ["i32"] as const,
  locals: ["i32", "v128", "v128"] as const,
  body: [
    ...every16(1, 0, [...set(2, load(get(1), OFFSET.gradient)), ...set(3, add(get(3), mul(get(2), get(2))))]),
    ...results([3]),
  ],
};

const { exports } = new WebAssembly.Instance(
  new WebAssembly.Module(
    moduleOf([squares, stepping("examine", false), stepping("step", true)], Math.ceil(OFFSET.results / PAGE) + 1),
  ),
);
const memory = (exports.memory as WebAssembly.Memory).buffer;
const calls = exports as unknown as Readonly<Record<"examine" | "step" | "squares", (...given: number[]) => void>>;

const array = (offset: number): Float32Array<ArrayBuffer> => new Float32Array(memory, offset, CHUNK);
const chunkArrays = {
  parameters: array(OFFSET.parameters),
  gradient: array(OFFSET.gradient),
  first: array(OFFSET.first),
  second: array(OFFSET.second),
};
const resultArray = new Float32Array(memory, OFFSET.results, 12);

/** Copies up to `CHUNK` numbers in, and repeats the last one until the last vector is whole. */
const copyPadded = (into: Float32Array, from: Float32Array): void => {
  into.set(from);
  for (let i = from.length; i % 4 !== 0; i++) into[i] = from[from.length - 1]!;
};

const paddedBytes = (length: number): number => Math.ceil(length / 4) * 16;

/** Returns the sum of squares of up to `CHUNK` numbers, each square rounded to float32. It is not finite if one of them is not. */
export const sumOfSquares = (gradient: Float32Array): number => {
  chunkArrays.gradient.set(gradient);
  chunkArrays.gradient.fill(0, gradient.length, paddedBytes(gradient.length) / 4);
  calls.squares(paddedBytes(gradient.length));
  return resultArray[0]! + resultArray[1]! + resultArray[2]! + resultArray[3]!;
};

/** Arrays that a step reads and writes, of one length of at most `CHUNK`. */
export interface Chunk {
  readonly parameters: Float32Array;
  readonly gradient: Float32Array;
  readonly first: Float32Array;
  readonly second: Float32Array;
}

/** Largest magnitudes among the new numbers; NaN if one is NaN. */
export interface Largest {
  readonly parameter: number;
  readonly first: number;
  readonly second: number;
}

/** Math.max returns NaN if any argument is NaN. */
const largestOf = (from: number): number =>
  Math.max(resultArray[from]!, resultArray[from + 1]!, resultArray[from + 2]!, resultArray[from + 3]!);

const run = (call: "examine" | "step", chunk: Chunk, factors: Factors): Largest => {
  copyPadded(chunkArrays.parameters, chunk.parameters);
  copyPadded(chunkArrays.gradient, chunk.gradient);
  copyPadded(chunkArrays.first, chunk.first);
  copyPadded(chunkArrays.second, chunk.second);
  const { beta1, beta2, eps, keep, oneMinusBeta1, oneMinusBeta2, rootCorrection, scale, stepSize } = factors;
  calls[call](
    paddedBytes(chunk.parameters.length),
    scale,
    beta1,
    oneMinusBeta1,
    beta2,
    oneMinusBeta2,
    rootCorrection,
    eps,
    stepSize,
    keep,
  );
  return { parameter: largestOf(0), first: largestOf(4), second: largestOf(8) };
};

/** Returns the largest magnitudes that `step` would make. Changes nothing. */
export const examine = (chunk: Chunk, factors: Factors): Largest => run("examine", chunk, factors);

/** Takes one step of the chunk in place: its parameters and both moments. */
export const step = (chunk: Chunk, factors: Factors): Largest => {
  const largest = run("step", chunk, factors);
  const { first, parameters, second } = chunk;
  parameters.set(chunkArrays.parameters.subarray(0, parameters.length));
  first.set(chunkArrays.first.subarray(0, first.length));
  second.set(chunkArrays.second.subarray(0, second.length));
  return largest;
};
